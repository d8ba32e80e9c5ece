#include "meshwright/search/search.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <climits>
#include <cmath>
#include <new>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "meshwright/parallel/constraints.hpp"
#include "meshwright/parallel/json.hpp"
#include "meshwright/search/json.hpp"
#include "parallel/block_cost.hpp"
#include "parallel/communication.hpp"
#include "search/bound.hpp"
#include "search/collector.hpp"
#include "search/enumeration.hpp"
#include "search/jobs.hpp"

namespace meshwright::search {
namespace {

constexpr int max_micro_batch = 2;

/// The best `top` of the list by the order of Collector: all variants, or the best of each set of degrees.
std::vector<Candidate> best_of(const Enumeration& all, std::size_t top, bool variants) {
  std::vector<Candidate> sorted;
  for (const Enumerated& e : all.layouts) {
    sorted.push_back(candidate(e.time.value(), e.time, e.memory.reserved, e.layout));
  }
  std::sort(sorted.begin(), sorted.end(), before);
  std::set<std::array<int, 6>> seen;
  std::vector<Candidate> out;
  for (const Candidate& c : sorted) {
    const Layout& l = c.layout;
    if (variants || seen.insert({l.tp, l.cp, l.pp, l.dp, l.ep, l.etp}).second) out.push_back(c);
    if (out.size() == top) break;
  }
  return out;
}

std::string settled(SearchResult result) {
  result.search_time = {};
  return to_json(result);
}

SearchOptions options(int top, bool variants = false) {
  return {.top = top, .variants = variants, .threads = 1, .space = {.max_micro_batch = max_micro_batch}};
}

TEST(Search, AgreesWithEnumeration) {
  for (const Job& job : small_jobs()) {
    const Enumeration all(job, max_micro_batch);
    ASSERT_GT(all.layouts.size(), 10u) << job.model.name << " " << job.framework.name;
    for (const auto& [top, variants] : {std::pair{5, false}, {40, false}, {5, true}, {60, true}}) {
      const SearchResult result = search(job, options(top, variants));
      const std::vector<Candidate> expected = best_of(all, static_cast<std::size_t>(top), variants);
      ASSERT_EQ(result.best.size(), expected.size()) << job.model.name << " " << job.framework.name;
      for (std::size_t i = 0; i < expected.size(); ++i) {
        EXPECT_EQ(result.best[i].prediction.layout, complete(job, expected[i].layout))
            << job.model.name << " " << job.framework.name << " top " << top << ", " << i << ": "
            << to_json(result.best[i].prediction.layout) << " instead of " << to_json(expected[i].layout) << " of "
            << expected[i].time.value() << " s, " << result.best[i].prediction.step_time.value();
      }
      EXPECT_EQ(result.considered, all.considered) << job.model.name << " " << job.framework.name;
    }
  }
}

TEST(Search, SomeLayersAgainAgreeWithEnumeration) {
  for (const Job& job : small_jobs()) {
    const Enumeration all(job, max_micro_batch, true);
    SearchOptions some = options(40, true);
    some.space.some_layers = true;
    const SearchResult result = search(job, some);
    const std::vector<Candidate> expected = best_of(all, 40, true);
    ASSERT_EQ(result.best.size(), expected.size()) << job.model.name << " " << job.framework.name;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      EXPECT_EQ(result.best[i].prediction.layout, complete(job, expected[i].layout))
          << job.model.name << " " << job.framework.name << ", " << i;
    }
    EXPECT_EQ(result.considered, all.considered) << job.model.name << " " << job.framework.name;
  }
}

// What the host holds differs from recompute to recompute: nothing may be passed over before that is chosen.
TEST(Search, HostMemoryAgreesWithEnumeration) {
  for (const Job& job : small_jobs()) {
    const Job moved = with(
        job, [](JobSpec& spec) { spec.recipe = Reader::text(R"({"offload": {"activations": true}})", "recipe.json"); });
    std::vector<Bytes> held;
    for (const Enumerated& e : Enumeration(moved, max_micro_batch).layouts) held.push_back(e.memory.host);
    std::ranges::sort(held);
    ASSERT_LT(held.front(), held.back()) << job.model.name << " " << job.framework.name;
    const Job limited = with(moved, [&](JobSpec& spec) { spec.cluster.node.host_memory = held[held.size() / 4]; });
    const Enumeration all(limited, max_micro_batch);
    ASSERT_LT(all.layouts.size(), held.size());
    const std::vector<Candidate> expected = best_of(all, 60, true);
    const SearchResult result = search(limited, options(60, true));
    ASSERT_EQ(result.best.size(), expected.size()) << job.model.name << " " << job.framework.name;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      EXPECT_EQ(result.best[i].prediction.layout, complete(limited, expected[i].layout))
          << job.model.name << " " << job.framework.name << ", " << i;
    }
    EXPECT_EQ(result.considered, all.considered);
    EXPECT_TRUE(std::ranges::any_of(result.refused, [](const auto& r) { return r.first == "host memory"; }));
  }
}

TEST(Search, WithoutABoundEveryLayoutThatRunsIsEvaluated) {
  for (const Job& job : small_jobs()) {
    SearchOptions all = options(100000, true);
    all.objective = objective("memory", "test");
    const SearchResult result = search(job, all);
    const Enumeration enumeration(job, max_micro_batch);
    EXPECT_EQ(result.evaluated, enumeration.layouts.size()) << job.model.name;
    EXPECT_EQ(result.best.size(), enumeration.layouts.size());
    EXPECT_EQ(result.passed_over, 0u);
  }
}

TEST(Search, BoundsAreBelowEveryTime) {
  for (const Job& job : small_jobs()) {
    const Enumeration all(job, max_micro_batch, true);
    Tables tables(job);
    Communication communication(job.cluster, job.collectives);
    const auto sections = model_sections(job.model);
    for (const Enumerated& e : all.layouts) {
      Layout beside = e.layout;
      beside.tp_comm_overlap = beside.tp > 1 && job.framework.rules.can_overlap_tp;
      beside.ep_comm_overlap = beside.ep > 1 && job.framework.rules.can_overlap_ep;
      const Entries entries = tables.entries(e.layout);
      const Seconds of_stages =
          least_step(passes(*entries.shard), *entries.stages, e.layout, job.global_batch, tables.constants());
      EXPECT_LE(of_stages, e.time) << describe_layout(e.layout);
      EXPECT_GT(of_stages.value(), 0);
      const auto of_shard = [&](Seconds pass) {
        return least_step_of_shard(pass, e.layout, job.global_batch, job.accelerators);
      };
      const Passes most = passes(tables.shard(beside));
      const Recompute mode = e.layout.recompute_layers > 0 ? Recompute::none : e.layout.recompute;
      EXPECT_LE(of_shard(least_pass(most, sections, mode)), e.time) << describe_layout(e.layout);
      // Of any cut of the experts.
      Layout cut = e.layout;
      cut.ep = 1, cut.etp = 1, cut.tp_comm_overlap = beside.tp_comm_overlap;
      Seconds kernels;
      const BlockContext context{job, cut, communication};
      for (const ModelSection& section : sections) kernels += section.count * least_section(context, section);
      EXPECT_LE(of_shard(kernels), e.time) << describe_layout(e.layout);
      EXPECT_GT(kernels.value(), 0);
    }
  }
}

TEST(Search, EveryAnswerEqualsItsPredictionBitForBit) {
  const Job job = test_job("mixtral-8x7b", "dgx-h100", 4, 4096, 256);
  const SearchResult result = search(job, {.top = 50});
  ASSERT_GT(result.best.size(), 5u);
  for (const Ranked& ranked : result.best) {
    const Prediction again = predict(job, ranked.prediction.layout);
    EXPECT_EQ(again.step_time, ranked.prediction.step_time);
    EXPECT_EQ(to_json(again), to_json(ranked.prediction));
    EXPECT_FALSE(violation(job, ranked.prediction.layout));
  }
}

TEST(Search, DoesNotDependOnTheNumberOfThreads) {
  for (const Job& job :
       {test_job("llama-3.1-70b", "dgx-h100", 8, 8192, 128), test_job("mixtral-8x7b", "dgx-h100", 4, 4096, 256)}) {
    const std::string one = settled(search(job, {.top = 20, .threads = 1}));
    for (const int threads : {2, 3, 7}) EXPECT_EQ(settled(search(job, {.top = 20, .threads = threads})), one);
  }
}

TEST(Search, CountsEveryLayoutOnce) {
  const SearchResult result = search(test_job("llama-3.1-8b", "dgx-h100", 2, 8192, 64));
  std::uint64_t refused = 0;
  for (const auto& [rule, count] : result.refused) refused += count;
  EXPECT_EQ(result.considered, result.evaluated + result.passed_over + refused);
  EXPECT_GT(result.evaluated, 0u);
  EXPECT_GT(result.passed_over, 0u);
}

TEST(Search, NothingFitsIsAnAnswer) {
  const SearchResult result = search(test_job("llama-3.1-405b", "dgx-h100", 1, 8192, 16));
  EXPECT_TRUE(result.best.empty());
  EXPECT_FALSE(result.refused.empty());
  EXPECT_EQ(nlohmann::json::parse(to_json(result))["best"], nullptr);
}

TEST(Search, RunnersUpSayWhatTheyLose) {
  const SearchResult result = search(test_job("llama-3.1-70b", "dgx-h100", 8, 8192, 128), {.top = 3});
  ASSERT_EQ(result.best.size(), 3u);
  EXPECT_EQ(result.best[0].why, "");
  EXPECT_TRUE(result.best[0].against_best.empty());
  for (std::size_t i = 1; i < 3; ++i) {
    EXPECT_EQ(result.best[i].why.front(), '+');
    Seconds sum;
    for (const Difference& term : result.best[i].against_best) sum += term.change;
    const Seconds lost = result.best[i].prediction.step_time - result.best[0].prediction.step_time;
    EXPECT_NEAR(sum.value(), lost.value(), 1e-9 * result.best[0].prediction.step_time.value());
  }
}

// A host that launches slower than the GPU computes hides recompute: the step takes as long with it as without.
TEST(Search, NothingIsRecomputedWhereItGainsNothing) {
  const Job job = with_figures(test_job("llama-3.2-1b", "dgx-h100", 1, 2048, 32),
                               [](Figures& figures) { figures.framework.host.per_layer = Seconds::base(1); });
  const Enumeration all(job, max_micro_batch);
  Seconds fastest = all.layouts.front().time;
  bool recomputing_is_as_fast = false;
  for (const Enumerated& e : all.layouts) fastest = std::min(fastest, e.time);
  for (const Enumerated& e : all.layouts) {
    recomputing_is_as_fast |= e.layout.recompute == Recompute::full && e.time <= fastest * (1 + 1e-12);
  }
  ASSERT_TRUE(recomputing_is_as_fast) << "the job does not show a tie";
  const SearchResult result = search(job, options(5));
  for (const Ranked& ranked : result.best) EXPECT_EQ(ranked.prediction.layout.recompute, Recompute::none);
}

TEST(Search, ObjectivesOrderTheAnswer) {
  const Job job = test_job("llama-3.1-8b", "dgx-h100", 2, 8192, 64);
  const Enumeration all(job, max_micro_batch);
  Bytes least = all.layouts.front().memory.reserved;
  for (const Enumerated& e : all.layouts) least = std::min(least, e.memory.reserved);
  SearchOptions by_memory = options(3);
  by_memory.objective = objective("memory", "test");
  const SearchResult result = search(job, by_memory);
  EXPECT_EQ(result.best.front().prediction.memory.reserved, least);
  EXPECT_EQ(result.best.front().value, least.value());
  EXPECT_EQ(result.objective, "memory");

  // One function is an objective: the smallest pipeline, then whatever comes first.
  SearchOptions own = options(1);
  own.objective = {.name = "deepest", .value = [](const Outcome& o) { return 1.0 / o.layout.pp; }};
  const int deepest = search(job, own).best.front().prediction.layout.pp;
  for (const Enumerated& e : all.layouts) EXPECT_LE(e.layout.pp, deepest);
}

TEST(Search, FrontHoldsWhatNothingBeats) {
  for (const Job& job :
       {test_job("llama-3.1-8b", "dgx-h100", 2, 8192, 64), test_job("mixtral-8x7b", "dgx-h100", 2, 4096, 64)}) {
    SearchOptions both = options(3);
    both.pareto = {objective("time", "test"), objective("memory", "test")};
    const SearchResult result = search(job, both);
    const Enumeration all(job, max_micro_batch);
    std::set<std::pair<double, double>> expected;
    for (const Enumerated& e : all.layouts)
      expected.insert({rounded(e.time.value()), rounded(e.memory.reserved.value())});
    // Sorted by time: a point is on the front where it needs less memory than all before it.
    std::vector<std::pair<double, double>> front;
    for (const auto& point : expected) {
      if (front.empty() || point.second < front.back().second) front.push_back(point);
    }
    ASSERT_EQ(result.pareto.size(), front.size());
    for (std::size_t i = 0; i < front.size(); ++i) {
      EXPECT_EQ(result.pareto[i].values, (std::vector{front[i].first, front[i].second}));
    }
    EXPECT_EQ(settled(search(job, both)), settled(result));
    EXPECT_EQ(result.best.front().prediction.step_time, result.pareto.front().prediction.step_time);
  }
}

TEST(Search, LimitsAndConstraintsHold) {
  const Job job = test_job("llama-3.1-8b", "dgx-h100", 2, 8192, 64);
  SearchOptions limited = options(5);
  limited.max_memory = Bytes::base(40e9);
  limited.constraints = {{"no pipeline", [](const Outcome& o) { return o.layout.pp == 1; }}};
  const SearchResult result = search(job, limited);
  ASSERT_FALSE(result.best.empty());
  for (const Ranked& ranked : result.best) {
    EXPECT_LE(ranked.prediction.memory.reserved, limited.max_memory);
    EXPECT_EQ(ranked.prediction.layout.pp, 1);
  }
  EXPECT_EQ(result.stated, (std::vector<std::string>{"memory <= 40.0 GB", "no pipeline"}));
  const auto counted = [&](std::string_view name) {
    return std::any_of(result.refused.begin(), result.refused.end(), [&](const auto& r) { return r.first == name; });
  };
  EXPECT_TRUE(counted("memory limit"));
}

TEST(Search, TensorGroupsStayInsideTheDomainOnRequest) {
  const Job job = test_job("llama-3.1-70b", "dgx-h100", 8, 8192, 64);
  SearchOptions inside = options(1000);
  inside.space.tp_in_domain = true;
  inside.space.filter.fix(Axis::tp, 16, "test");
  EXPECT_TRUE(search(job, inside).best.empty());
  inside.space.tp_in_domain = false;
  EXPECT_FALSE(search(job, inside).best.empty());
}

TEST(Search, ChoosesAmongAcceleratorCounts) {
  const Job job = test_job("llama-3.1-8b", "dgx-h100", 2, 8192, 64);
  SearchOptions counts = options(40);
  counts.accelerators = {4, 8, 16};
  const SearchResult fastest = search(job, counts);
  EXPECT_EQ(fastest.best.front().prediction.layout.accelerators(), 16);
  counts.objective = objective("gpus", "test");
  const SearchResult fewest = search(job, counts);
  EXPECT_EQ(fewest.best.front().prediction.layout.accelerators(), 4);
  EXPECT_EQ(fewest.best.front().value, 4);
  counts.objective = objective("gpu-time", "test");
  const SearchResult cheapest = search(job, counts);
  for (const int count : counts.accelerators) {
    const SearchResult alone = search(with_accelerators(job, count), options(1));
    EXPECT_GE(count * alone.best.front().prediction.step_time.value() * (1 + 1e-9), cheapest.best.front().value);
  }
  counts.accelerators = {17};
  EXPECT_THROW(search(job, counts), Error);
}

TEST(Search, WhatAThreadThrowsIsThrownByTheSearch) {
  const Job job = test_job("llama-3.1-8b", "dgx-h100", 2, 8192, 64);
  SearchOptions bad = options(5);
  bad.threads = 4;
  bad.objective = {.name = "bad", .value = [](const Outcome&) -> double { throw std::bad_alloc(); }};
  EXPECT_THROW(search(job, bad), std::bad_alloc);
}

// As threads of a host program do: searches over one job, while others make jobs of it and of a model that changes.
TEST(Search, ManyAtOnce) {
  const Job job = test_job("mixtral-8x7b", "dgx-h100", 2, 4096, 64);
  const std::string expected = settled(search(job, options(5)));
  std::atomic<int> equal = 0, made = 0;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 3; ++i) {
      threads.emplace_back([&] {
        SearchOptions two = options(5);
        two.threads = 2;
        for (int k = 0; k < 2; ++k) equal += settled(search(job, two)) == expected;
      });
    }
    threads.emplace_back([&] {
      Transformer model = load_model("llama-3.2-1b");
      for (int layers = 1; layers <= 8; ++layers) {
        model.layers = layers;
        const Job other = with(job, [&](JobSpec& spec) { spec.shape = model; });
        made += !search(other, options(1)).best.empty();
      }
    });
  }
  EXPECT_EQ(equal, 6);
  EXPECT_EQ(made, 8);
}

// A folded schedule has two chunks a stage: more than the layers, embedding and head that there are to deal.
TEST(Search, PipelinesLongerThanTheModelAreLeftOut) {
  for (const int layers : {1, 2, 8}) {
    JobSpec spec{.shape = load_model("llama-3.2-1b"), .seq_len = 4096, .global_batch = 64, .framework = "torchtitan"};
    spec.shape->layers = layers;
    spec.cluster = {.of = "dgx-h100", .nodes = 1};
    const SearchResult found = search(make_job(spec, builtin_catalog()), options(3));
    ASSERT_FALSE(found.best.empty());
    for (const Ranked& ranked : found.best) EXPECT_LE(ranked.prediction.layout.pp, layers);
  }
}

TEST(Search, ValuesWithoutAnOrderAreRefused) {
  SearchOptions bad = options(5);
  bad.objective = {.name = "bad", .value = [](const Outcome&) { return std::nan(""); }};
  EXPECT_THROW(search(test_job("llama-3.2-1b", "dgx-h100", 1, 4096, 32), bad), Error);
}

TEST(Search, EndsOnRequestWithTheBestSoFar) {
  const Job job = test_job("llama-3.1-405b", "dgx-h100", 2048, 8192, 2048);
  SearchOptions slow = {.top = 5, .threads = 2};
  std::atomic<bool> asked = false;
  slow.objective = objective("memory", "test");
  slow.constraints = {{"slow", [&](const Outcome&) {
                         if (!asked) std::this_thread::sleep_for(std::chrono::milliseconds(1));
                         return true;
                       }}};
  slow.progress = [&](const Progress& progress) {
    EXPECT_LE(progress.done, progress.total);
    asked = progress.done > 0;
    return !asked;
  };
  const SearchResult result = search(job, slow);
  EXPECT_TRUE(result.interrupted);
  EXPECT_TRUE(nlohmann::json::parse(to_json(result))["interrupted"].get<bool>());
  EXPECT_FALSE(result.best.empty());
  EXPECT_LT(result.considered, search(job, {.top = 5}).considered);

  asked = false;
  slow.progress = [](const Progress&) -> bool { throw std::runtime_error("from the caller"); };
  EXPECT_THROW(search(job, slow), std::runtime_error);
}

TEST(Search, TheLargestMicroBatchEnds) {
  const Job job = test_job("llama-3.2-1b", "dgx-h100", 1, 4096, 1 << 24);
  SearchOptions large = {.top = 1, .space = {.max_micro_batch = largest_degree}};
  EXPECT_FALSE(search(job, large).best.empty());
  large.space.max_micro_batch = INT_MAX;
  EXPECT_THROW(search(job, large), Error);
}

TEST(Search, MemoryIsASizeOrAShareOfTheDevice) {
  const Job job = test_job("llama-3.2-1b", "dgx-h100", 1, 4096, 32);
  EXPECT_EQ(memory_limit("64 GB", job, "x"), Bytes::base(64e9));
  EXPECT_DOUBLE_EQ(memory_limit("50%", job, "x").value(), 0.5 * job.cluster.accelerator.memory_capacity.value());
  for (const char* bad : {"0 GB", "0%", "101%", "-1GB", "64", "%", "nan%"})
    EXPECT_THROW(memory_limit(bad, job, "x"), Error) << bad;
}

TEST(Search, RefusesOptionsThatMeanNothing) {
  const Job job = test_job("llama-3.2-1b", "dgx-h100", 1, 4096, 32);
  EXPECT_THROW(search(job, {.top = 0}), Error);
  EXPECT_THROW(search(job, {.space = {.max_micro_batch = 0}}), Error);
  EXPECT_THROW(search(job, {.objective = {}}), Error);
  EXPECT_THROW(search(job, {.pareto = {objective("time", "test")}}), Error);
  EXPECT_THROW(search(job, {.pareto = {objective("time", "test"), objective("time", "test")}}), Error);
  EXPECT_THROW(search(job, {.pareto = {objective("time", "test"), objective("regret", "test")}}), Error);
}

}  // namespace
}  // namespace meshwright::search
