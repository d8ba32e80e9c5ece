#include "meshwright/search/alternatives.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "meshwright/search/counts.hpp"
#include "meshwright/search/plan.hpp"
#include "meshwright/search/what_helps.hpp"
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

// The nearest batch that divides may leave most of the machine idle: the nearest that does not stands beside it.
TEST(Alternatives, AGoodBatchBesideTheNearest) {
  const Job job = test_job("llama-3.1-8b", "dgx-h100", 16, 4096, 129, "llm-foundry");
  ASSERT_TRUE(search(job).best.empty());
  const std::vector<Alternative> found = nearest_that_run(job, {});
  const auto rate = [](const Alternative& a) { return a.prediction.tokens_per_s_per_gpu; };
  for (const char* what : {"global_batch", "accelerators"}) {
    double best = 0;
    for (const Alternative& a : found) best = a.what == what ? std::max(best, rate(a)) : best;
    for (const bool larger : {false, true}) {
      std::vector<const Alternative*> side;
      for (const Alternative& a : found) {
        if (a.what == what && (a.to > a.from) == larger) side.push_back(&a);
      }
      ASSERT_LE(side.size(), 2u);
      if (side.size() < 2) continue;
      EXPECT_LT(std::abs(side[0]->to - side[0]->from), std::abs(side[1]->to - side[1]->from));
      EXPECT_LT(rate(*side[0]), 0.95 * best);
      EXPECT_GE(rate(*side[1]), 0.95 * best);
      EXPECT_NE(side[1]->words.find("as well as any"), std::string::npos);
    }
  }
}

// Beside an answer that may not fit, the best that does with nine chances in ten; beside one that fits, nothing.
TEST(Alternatives, ALayoutWithMemoryToSpare) {
  const Job job = test_job("llama-3.1-405b", "dgx-h100", 2048, 8192, 2048);
  const Prediction best = search(job).best.front().prediction;
  ASSERT_NE(best.fit, Fit::fits);
  const std::optional<Alternative> other = with_memory_to_spare(job, {}, best);
  ASSERT_TRUE(other);
  EXPECT_EQ(other->what, "memory");
  EXPECT_EQ(other->prediction.fit, Fit::fits);
  EXPECT_GE(other->prediction.step_time, best.step_time);
  EXPECT_TRUE(other->words.starts_with(fmt::format("{} % that it fits instead of {} %: ", other->to, other->from)));
  EXPECT_FALSE(with_memory_to_spare(job, {}, other->prediction));
  SearchOptions sure;
  sure.max_memory = other->prediction.memory.reserved;
  EXPECT_EQ(search(job, sure).best.front().prediction.layout, other->prediction.layout);
}

// It is of as many accelerators as the answer, whatever the objective, and none where nothing is sure to fit.
TEST(Alternatives, MemoryToSpareIsOfTheSameAccelerators) {
  const Job job = test_job("llama-3.1-70b", "dgx-h100", 8, 8192, 256);
  SearchOptions options;
  options.objective = objective("gpus", "test");
  const Plan found = plan(job, {.search = options});
  const Prediction& best = found.result.best.front().prediction;
  const auto spare = std::ranges::find(found.alternatives, "memory", &Alternative::what);
  ASSERT_NE(best.fit, Fit::fits);
  ASSERT_NE(spare, found.alternatives.end());
  EXPECT_EQ(spare->prediction.layout.accelerators(), best.layout.accelerators());
  const Job small = test_job("deepseek-v3", "gb200-nvl72", 18, 4096, 2048);
  const Prediction tight = search(small).best.front().prediction;
  ASSERT_NE(tight.fit, Fit::fits);
  EXPECT_FALSE(with_memory_to_spare(small, {}, tight));
}

// Ten percent more batch, and what a search of it finds beyond the layout at hand.
TEST(WhatHelps, SearchesTheLargerBatchAnew) {
  const Job job = test_job("deepseek-v3", "gb200-nvl72", 144, 4096, 4096);
  const Layout best = search(job, {.top = 1}).best.front().prediction.layout;
  const auto helps = what_helps(job, best);
  const auto same = std::ranges::find(helps, "batch", &Help::what);
  ASSERT_NE(same, helps.end());
  EXPECT_FALSE(same->layout);
  const std::optional<Help> anew = larger_batch_anew(job, best, {});
  const int batch = std::stoi(same->change.substr(same->change.find("batch ") + 6));
  const Prediction found = search(with_global_batch(job, batch), {.top = 1}).best.front().prediction;
  if (found.step_time > 0.995 * same->step_time) {
    EXPECT_FALSE(anew);
  } else {
    ASSERT_TRUE(anew);
    EXPECT_EQ(anew->step_time, found.step_time);
    EXPECT_EQ(*anew->layout, found.layout);
    EXPECT_GT(anew->gain, same->gain);
  }
}

// An objective of one's own may be called "time", and be of other units.
TEST(WhatHelps, KnowsStepTimesByMoreThanTheirName) {
  const Job job = test_job("llama-3.1-8b", "dgx-h100", 3, 8192, 20);
  const Layout best = search(job, {.top = 1}).best.front().prediction.layout;
  const std::optional<Help> usual = larger_batch_anew(job, best, {});
  ASSERT_TRUE(usual);
  SearchOptions options;
  options.objective = {.name = "time", .value = [](const Outcome& o) { return 1e6 * o.time.value(); }};
  const std::optional<Help> own = larger_batch_anew(job, best, options);
  ASSERT_TRUE(own);
  EXPECT_EQ(own->layout, usual->layout);
}

TEST(Alternatives, MoreAcceleratorsWhereMemoryIsShort) {
  const Job job = test_job("llama-3.1-405b", "dgx-h100", 1, 8192, 64);
  ASSERT_TRUE(search(job).best.empty());
  const std::vector<Alternative> found = nearest_that_run(job, {});
  ASSERT_GE(found.size(), 1u);
  ASSERT_LE(found.size(), 2u);  // the nearest, and one that uses its machine well
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
  EXPECT_NE(fewer->words.find(" a step instead of "), std::string::npos) << fewer->words;
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
