#include "meshwright/search/alternatives.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "meshwright/search/why_not.hpp"
#include "search/jobs.hpp"

namespace meshwright::search {
namespace {

const Alternative* of(const std::vector<Alternative>& all, std::string_view what, int to) {
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const Alternative& a) { return a.what == what && a.to == to; });
  return found == all.end() ? nullptr : &*found;
}

// A reference cluster has the nodes that it has: nothing larger is tried, and nothing is thrown.
TEST(Alternatives, AClusterThatCannotGrowIsNoError) {
  const Job job = test_job("llama-3.1-405b", "selene", 0, 1 << 24, 1);
  ASSERT_TRUE(search(job).best.empty());
  EXPECT_NO_THROW(nearest_that_run(job, {}));
}

// Asked beside an answer without a layout, what runs is told alone.
TEST(WhyNot, WithoutAnAnswerToCompareWith) {
  const Job job = test_job("llama-3.2-1b", "dgx-h100", 1, 4096, 24);
  Filter wanted;
  fix(wanted, "micro_batch=3", "test");
  const WhyNot answer = why_not(job, wanted, {}, SearchResult{}, "test");
  ASSERT_TRUE(answer.prediction);
  EXPECT_NE(answer.words.find("micro_batch = 3 runs as"), std::string::npos) << answer.words;
}

// A stack that has data parallelism only runs a batch that the accelerators divide.
TEST(Alternatives, NearestBatchesWhereNothingDivides) {
  const Job job = test_job("llama-3.2-1b", "dgx-h100", 2, 4096, 30, "llm-foundry");
  ASSERT_TRUE(search(job).best.empty());
  const std::vector<Alternative> found = nearest_that_run(job, {});
  ASSERT_NE(of(found, "global_batch", 16), nullptr);
  ASSERT_NE(of(found, "global_batch", 32), nullptr);
  EXPECT_TRUE(of(found, "global_batch", 32)->words.starts_with("global batch 32 instead of 30: "));
  for (const Alternative& a : found) {
    Job there =
        a.what == "global_batch" ? with_global_batch(job, a.to) : with_accelerators(with_more_nodes(job, 64), a.to);
    EXPECT_FALSE(violation(there, a.prediction.layout)) << a.words;
    EXPECT_EQ(search(there, {.top = 1}).best.front().prediction.step_time, a.prediction.step_time);
  }
}

TEST(Alternatives, MoreAcceleratorsWhereMemoryIsShort) {
  const Job job = test_job("llama-3.1-405b", "dgx-h100", 1, 8192, 64);
  ASSERT_TRUE(search(job).best.empty());
  const std::vector<Alternative> found = nearest_that_run(job, {});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found.front().what, "accelerators");
  EXPECT_GT(found.front().to, 8);
  // Nothing nearer runs.
  for (const int count : accelerator_counts(with_more_nodes(job, 64))) {
    if (count >= found.front().to) break;
    EXPECT_TRUE(search(with_accelerators(with_more_nodes(job, 64), count)).best.empty()) << count;
  }
}

// 576 accelerators are eight domains of 72, but nine times 64: a batch of 4,096 leaves no good use for the nine.
TEST(Alternatives, FewerAcceleratorsWhereTheRestIsInTheWay) {
  const Job job = test_job("deepseek-v3", "gb200-nvl72", 144, 4096, 4096);
  const SearchResult result = search(job, {.top = 1});
  ASSERT_FALSE(result.best.empty());
  const Prediction& best = result.best.front().prediction;
  const std::vector<Alternative> found = fewer_accelerators(job, {}, best);
  const Alternative* fewer = of(found, "accelerators", 512);
  ASSERT_NE(fewer, nullptr);
  EXPECT_LT(fewer->prediction.step_time, best.step_time);
}

TEST(Alternatives, AWholePowerOfTwoIsNotCut) {
  const Job job = test_job("llama-3.1-8b", "dgx-h100", 4, 8192, 64);
  EXPECT_TRUE(fewer_accelerators(job, {}, search(job).best.front().prediction).empty());
}

TEST(Alternatives, WhatIsSaidAboutFewerIsTrue) {
  for (const int nodes : {3, 5, 6}) {
    const Job job = test_job("llama-3.1-8b", "dgx-h100", nodes, 8192, 64);
    const SearchResult result = search(job);
    if (result.best.empty()) continue;
    const Prediction& best = result.best.front().prediction;
    for (const Alternative& a : fewer_accelerators(job, {}, best)) {
      EXPECT_LT(a.to, job.accelerators);
      const double mine = job.accelerators * best.step_time.value(), theirs = a.to * a.prediction.step_time.value();
      EXPECT_TRUE(a.prediction.step_time <= best.step_time || theirs < 0.95 * mine) << a.words;
    }
  }
}

}  // namespace
}  // namespace meshwright::search
