// Scenarios: what they vary, and where a fault is found; planning and the questions on small ones.
#include "meshwright/capacity/scenario.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "meshwright/capacity/questions.hpp"
#include "meshwright/core/error.hpp"

namespace meshwright::tests {
namespace {
using namespace everything;
using json = nlohmann::json;
using testing::HasSubstr;
using testing::StartsWith;

json scenario(const json::array_t& candidates, const json::array_t& questions = {}) {
  json out = {{"workloads",
               {{{"name", "8B"},
                 {"model", "llama-3.1-8b"},
                 {"seq_len", 4096},
                 {"global_batch", 512},
                 {"tokens", "100B"},
                 {"fix", {"tp=1", "pp=1", "cp=1", "recompute=none"}}}}},
              {"uncertainty", {{"draws", 8}}},
              {"candidates", candidates}};
  if (!questions.empty()) out["questions"] = questions;
  return out;
}

Scenario read(const json& object) { return read_scenario(Reader::text(object.dump(), "s.json")); }

std::string place_of(const json& object) {
  try {
    const Scenario s = read(object);
    Planner planner(s, builtin_catalog());
    for (std::uint64_t i = 0; i < s.point_count(); ++i) planner.plan(i);
    answer_questions(s, builtin_catalog());
  } catch (const Error& e) {
    return e.where();
  }
  return "accepted";
}

json candidate(json members) {
  json out = {{"name", "c"}, {"cluster", "dgx-h100"}};
  out.update(members);
  return out;
}

TEST(Scenario, FaultsAreFoundWhereTheyStand) {
  EXPECT_EQ(place_of(scenario({candidate({{"nodes", "two"}})})), "s.json:/candidates/0/nodes");
  EXPECT_EQ(place_of(scenario({candidate({{"cluster", "dgx-h1000"}})})), "s.json:/candidates/0/cluster");
  EXPECT_EQ(place_of(scenario({candidate({{"efficiency", 7}})})), "s.json:/candidates/0/efficiency");
  EXPECT_EQ(place_of(scenario({candidate({{"network", {{"efficiency", 7}}}})})),
            "s.json:/candidates/0/network/efficiency");
  EXPECT_EQ(place_of(scenario({candidate({{"nics", -1}})})), "s.json:/candidates/0/nics");
  EXPECT_EQ(place_of(scenario({candidate({{"prices", {{"pue", 0.1}}}})})), "s.json:/candidates/0/prices/pue");
  EXPECT_EQ(place_of(scenario({candidate({{"vary", {{"nodes", {1, "x"}}}}})})), "s.json:/candidates/0/vary/nodes");
  EXPECT_EQ(place_of(scenario({candidate({{"nodes", 1}})}, {{{"name", "q"}, {"ask", "size"}, {"deadline", "soon"}}})),
            "s.json:/questions/0/deadline");
  json bad_model = scenario({candidate({{"nodes", 1}})});
  bad_model["workloads"][0]["model"] = "lama";
  EXPECT_EQ(place_of(bad_model), "s.json:/workloads/0/model");
}

TEST(Scenario, VariesTheProductOfItsMembers) {
  const Scenario s = read(scenario({candidate({{"vary", {{"nodes", {1, 2}}, {"nics", {4, 8}}}}})}));
  EXPECT_EQ(s.candidate_count(), 4U);
  EXPECT_EQ(s.candidate(3).name, "c nics=8 nodes=2");
  EXPECT_EQ(s.find_candidate("c nics=4 nodes=2"), std::optional<std::uint64_t>(1));
}

// Fewer nodes than the answer don't keep the deadline: time is no monotone function of the nodes, so each is asked.
TEST(Questions, SizeIsTheFewestThatKeepTheDeadline) {
  const Scenario s = read(scenario({candidate({{"nodes", 1}})},
                                   {{{"name", "q"}, {"ask", "size"}, {"deadline", "8 days"}, {"most_nodes", 16}}}));
  const json answer = json::parse(answer_questions(s, builtin_catalog()).front().object);
  const int nodes = answer.at("nodes").get<int>();
  EXPECT_LE(answer.at("days").get<double>(), 8);
  Planner planner(s, builtin_catalog());
  for (int n = 1; n < nodes; ++n) {
    if (n > 7 && n % 2 == 1) continue;  // not a count that is tried
    const PlannedPoint p = planner.plan(s.candidate(0, "nodes", std::to_string(n)), s.workloads[0]);
    if (p.run) {
      EXPECT_GT(estimate(p).wall.value() / 86400, 8) << n;
    }
  }
}

TEST(Questions, LeastDaysAreAtThePeak) {
  const Scenario s = read(scenario({candidate({{"nodes", 2}})}));
  Planner planner(s, builtin_catalog());
  const double least = planner.least_days(s.candidate(0), s.workloads[0]);
  // 6 x 8.03e9 FLOPs a token and attention, 16 x 989 TFLOP/s.
  EXPECT_NEAR(least, 1e11 * 6 * 8.03e9 / (16 * 989.4e12) / 86400, 0.15 * least);
  EXPECT_LT(least, estimate(planner.plan(0)).wall.value() / 86400);
}

TEST(Questions, NvlinkSharpIsNeverWorthLessThanNothing) {
  const Scenario s = read(scenario({candidate({{"nodes", 2}})}, {{{"name", "q"}, {"ask", "in_switch"}}}));
  const json a = json::parse(answer_questions(s, builtin_catalog()).front().object);
  EXPECT_GE(a.at("step_without_nvls_s").get<double>(), a.at("step_s").get<double>() * (1 - 1e-9));
  EXPECT_LE(a.at("step_with_sharp_s").get<double>(), a.at("step_s").get<double>() * 1.001);
  EXPECT_GE(a.at("sharp_gain").get<double>(), -1e-9);
}

TEST(Candidates, CongestionNamesTheRouting) {
  const Scenario s = read(scenario({candidate({{"nodes", 2}, {"fabric", "roce"}, {"congestion", "uec"}})}));
  EXPECT_THAT(s.candidate(0).cluster, HasSubstr("\"routing\":\"spray\""));
  EXPECT_THAT(place_of(scenario({candidate({{"congestion", "uec"}, {"routing", "ecmp"}})})),
              StartsWith("s.json:/candidates/0/congestion"));
}

// Two candidates that are the same never win from one another.
TEST(Questions, EqualCandidatesDontChangePlaces) {
  const Scenario s =
      read(scenario({candidate({{"nodes", 2}}), candidate({{"name", "d"}, {"nodes", 2}})},
                    {{{"name", "q"}, {"ask", "break_even"}, {"between", {"c", "d"}}, {"vary", "prices.energy"}},
                     {{"name", "r"},
                      {"ask", "break_even"},
                      {"between", {"c", "d"}},
                      {"vary", "price_premium"},
                      {"range", {-0.5, 2}}}}));
  const WhatIf w = run_whatif(s, builtin_catalog());
  for (const Flip& flip : w.best.front().flips) EXPECT_THAT(flip.what, StartsWith("price_premium")) << flip.at_text;
  const std::vector<Answer> answers = answer_questions(s, builtin_catalog(), w.plans);
  EXPECT_THAT(answers[0].lines.front(), HasSubstr("are equal for every"));
  EXPECT_NEAR(json::parse(answers[1].object).at("at").get<double>(), 0, 1e-6);
}

// A plan is kept under what it depends on: other prices don't plan anew, other networks do.
TEST(Planner, PlansAreSharedBetweenPrices) {
  const Scenario s =
      read(scenario({candidate({{"nodes", 2}}), candidate({{"name", "d"}, {"nodes", 2}, {"price_premium", 1}}),
                     candidate({{"name", "e"}, {"nodes", 2}, {"nic_bandwidth", "100 Gb/s"}})}));
  Planner planner(s, builtin_catalog());
  const PlannedPoint a = planner.plan(0), b = planner.plan(1), c = planner.plan(2);
  EXPECT_EQ(a.layout, b.layout);
  EXPECT_LT(estimate(a).cost.value, estimate(b).cost.value);
  EXPECT_LT(a.run->step.step, c.run->step.step);
}

}  // namespace
}  // namespace meshwright::tests
