// Objectives of the search agree with the estimate of a run.
#include "meshwright/capacity/objectives.hpp"

#include <gtest/gtest.h>

#include "meshwright/search/search.hpp"

namespace meshwright::tests {
namespace {
using namespace everything;

parallel::Job job_of(const char* model, const char* cluster, int nodes, int batch) {
  const std::string text = std::string(R"({"model": ")") + model + R"(", "cluster": ")" + cluster + R"(", "nodes": )" +
                           std::to_string(nodes) + R"(, "seq_len": 4096, "global_batch": )" + std::to_string(batch) +
                           "}";
  return parallel::read_job(Reader::text(text, "job"), builtin_catalog());
}

search::Objective named(const std::vector<search::Objective>& rows, std::string_view name) {
  for (const search::Objective& row : rows) {
    if (row.name == name) return row;
  }
  ADD_FAILURE() << name;
  return {};
}

TEST(Objectives, AgreeWithTheEstimateOfARun) {
  RunAssumptions assumptions;
  const parallel::Job job = job_of("llama-3.1-8b", "dgx-h100", 8, 512);
  const auto rows = run_objectives(builtin_catalog(), assumptions);
  for (const char* name : {"goodput", "cost", "energy"}) {
    search::SearchOptions options;
    options.objective = named(rows, name);
    options.top = 2;
    const search::SearchResult result = search::search(job, options);
    ASSERT_EQ(result.best.size(), 2U);
    for (const search::Ranked& ranked : result.best) {
      const double tokens = 1e6 * 4096.0 * 512;
      const RunCase run =
          make_run(builtin_catalog(), job, ranked.prediction, {.phases = {{"main", tokens, 4096, 512}}}, {}, "run");
      const RunEstimate e = estimate_run(run, assumptions);
      const double a_step = std::string_view(name) == "goodput" ? e.wall.value()
                            : std::string_view(name) == "cost"  ? e.cost.value
                                                                : e.energy.value();
      EXPECT_NEAR(ranked.value / (a_step / 1e6), 1, 0.004) << name;
    }
  }
}

// Stages 64 accelerators apart lie within 72, but 128 accelerators are no whole racks: only their sends are far.
TEST(Objectives, CommunicationIsFarWhereItsGroupsAre) {
  const parallel::Job job = job_of("llama-3.1-8b", "gb200-nvl72", 32, 512);
  const parallel::Prediction p = parallel::predict(job, {.tp = 8, .pp = 2, .dp = 8});
  ASSERT_GT(p.time.pipeline.value(), 0);
  EXPECT_NEAR(step_facts(job, p.layout, p.time, p.hidden).scale_out, p.time.pipeline / parallel::total(p.time), 1e-12);
}

TEST(Objectives, BoundsAreBelowTheValues) {
  RunAssumptions assumptions;
  const parallel::Job job = job_of("llama-3.1-8b", "dgx-h100", 8, 512);
  for (const search::Objective& objective : run_objectives(builtin_catalog(), assumptions)) {
    search::SearchOptions options{.top = 50};
    options.objective = objective;
    for (const search::Ranked& ranked : search::search(job, options).best)
      EXPECT_LE(objective.least(job, ranked.prediction.step_time), ranked.value * (1 + 1e-12)) << objective.name;
  }
}

}  // namespace
}  // namespace meshwright::tests
