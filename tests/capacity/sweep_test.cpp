// Sweeps on several threads: the answer of one thread; what is thrown or asked for ends them soon.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <nlohmann/json.hpp>

#include "meshwright/capacity/whatif.hpp"
#include "meshwright/core/error.hpp"

namespace meshwright::tests {
namespace {
using namespace everything;
using json = nlohmann::json;

/// A point for each of `nodes` numbers of nodes, with few layouts each.
Scenario scenario_of(int nodes, const char* fix = "tp=8,pp=1,cp=1,recompute=none") {
  std::vector<int> counts;
  for (int n = 1; n <= nodes; ++n) counts.push_back(n);
  const json object = {{"workloads",
                        {{{"name", "8B"},
                          {"model", "llama-3.1-8b"},
                          {"seq_len", 4096},
                          {"global_batch", 64},
                          {"tokens", "1B"},
                          {"fix", fix}}}},
                       {"uncertainty", {{"draws", 8}}},
                       {"candidates", {{{"name", "c"}, {"cluster", "dgx-h100"}, {"vary", {{"nodes", counts}}}}}}};
  return read_scenario(Reader::text(object.dump(), "s.json"));
}

std::vector<std::string> lines(const Scenario& scenario, const WhatIfOptions& options) {
  std::vector<std::string> out;
  for (const Result& r : run_whatif(scenario, builtin_catalog(), options).results) out.push_back(to_json(r, scenario));
  return out;
}

TEST(Sweep, IsTheSameOnAnyNumberOfThreads) {
  const Scenario scenario = scenario_of(12);
  const std::vector<std::string> one = lines(scenario, {.threads = 1, .store = {}, .progress = {}});
  ASSERT_EQ(one.size(), 12U);
  for (const int threads : {2, 5})
    EXPECT_EQ(lines(scenario, {.threads = threads, .store = {}, .progress = {}}), one) << threads;
}

// Points that wait are not planned for a caller that is gone.
TEST(Sweep, WhatTheCallerThrowsEndsIt) {
  const Scenario scenario = scenario_of(200);
  std::atomic<std::uint64_t> seen = 0;
  const WhatIfOptions options{.threads = 2, .store = {}, .progress = [&](std::uint64_t done, std::uint64_t) -> bool {
                                seen = done;
                                throw std::runtime_error("from the caller");
                              }};
  const auto start = std::chrono::steady_clock::now();
  EXPECT_THROW(run_whatif(scenario, builtin_catalog(), options), std::runtime_error);
  const auto thrown = std::chrono::steady_clock::now() - start;
  run_whatif(scenario, builtin_catalog(), {.threads = 2, .store = {}, .progress = {}});
  EXPECT_LT(thrown, (std::chrono::steady_clock::now() - start - thrown) / 2) << "after " << seen << " of 200 points";
}

TEST(Sweep, WhatAPointThrowsEndsIt) {
  const Scenario scenario = scenario_of(4, "tp=8,nosuchaxis=1");
  EXPECT_THROW(run_whatif(scenario, builtin_catalog(), {.threads = 3, .store = {}, .progress = {}}), Error);
}

TEST(Sweep, EndsOnRequestWithWhatThereIs) {
  const Scenario scenario = scenario_of(200);
  const WhatIf some =
      run_whatif(scenario, builtin_catalog(),
                 {.threads = 2, .store = {}, .progress = [](std::uint64_t done, std::uint64_t) { return done == 0; }});
  EXPECT_TRUE(some.interrupted);
  EXPECT_FALSE(some.results.empty());
  EXPECT_LT(some.results.size(), 200U);
}

}  // namespace
}  // namespace meshwright::tests
