#include "search/collector.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>

namespace meshwright::search {
namespace {

// A few degrees and few distinct times, so that ties and repeated degrees are common.
std::vector<Candidate> candidates() {
  std::mt19937 random(7);
  std::vector<Candidate> out;
  for (int i = 0; i < 500; ++i) {
    Layout layout{.tp = 1 << random() % 3, .pp = 1 << random() % 3, .micro_batch = 1 << random() % 4};
    layout.zero_stage = static_cast<int>(random() % 3);
    const double time = 1.0 + static_cast<double>(random() % 7);
    out.push_back(candidate(time, Seconds::base(time), Bytes::base(static_cast<double>(random() % 5)), layout));
  }
  return out;
}

std::vector<Layout> layouts(const Collector& collector) {
  std::vector<Layout> out;
  for (const Candidate& candidate : collector.best()) out.push_back(candidate.layout);
  return out;
}

TEST(Collector, DoesNotDependOnOrderOrOnHowTheWorkIsShared) {
  for (const bool variants : {false, true}) {
    std::vector<Candidate> all = candidates();
    Collector whole(6, variants);
    for (const Candidate& c : all) whole.offer(c);
    std::mt19937 random(11);
    for (int round = 0; round < 20; ++round) {
      std::shuffle(all.begin(), all.end(), random);
      Collector left(6, variants), right(6, variants);
      for (std::size_t i = 0; i < all.size(); ++i) (i % 3 == 0 ? left : right).offer(all[i]);
      left.merge(right);
      EXPECT_EQ(layouts(left), layouts(whole));
    }
  }
}

TEST(Collector, VariantsAreThePlainBest) {
  std::vector<Candidate> all = candidates();
  Collector collector(6, true);
  for (const Candidate& c : all) collector.offer(c);
  std::sort(all.begin(), all.end(), before);
  const auto best = collector.best();
  ASSERT_EQ(best.size(), 6u);
  for (std::size_t i = 0; i < best.size(); ++i) {
    EXPECT_EQ(best[i].time, all[i].time);
    EXPECT_EQ(best[i].memory, all[i].memory);
  }
}

TEST(Collector, WithoutVariantsEveryLayoutHasOtherDegrees) {
  Collector collector(20, false);
  for (const Candidate& c : candidates()) collector.offer(c);
  const auto best = collector.best();
  EXPECT_EQ(best.size(), 9u);  // three tp times three pp
  for (std::size_t i = 0; i < best.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      EXPECT_TRUE(best[i].layout.tp != best[j].layout.tp || best[i].layout.pp != best[j].layout.pp);
    }
  }
}

TEST(Collector, ThresholdIsTheWorstOfTheBest) {
  for (const bool variants : {false, true}) {
    Collector collector(6, variants);
    for (const Candidate& c : candidates()) {
      collector.offer(c);
      const auto best = collector.best();
      EXPECT_EQ(collector.threshold(), best.size() == 6 ? best.back().value : INFINITY);
    }
  }
}

TEST(Collector, EqualTimesGoToLessRecomputeAndThenToLessMemory) {
  const Seconds time = Seconds::base(0.1 + 0.2), same = Seconds::base(0.3);
  ASSERT_NE(time, same);
  const Candidate recomputed = candidate(0.3, same, Bytes::base(1), Layout{.recompute = Recompute::full});
  const Candidate kept = candidate(time.value(), time, Bytes::base(3), Layout{});
  const Candidate large = candidate(time.value(), time, Bytes::base(4), Layout{.micro_batch = 1});
  EXPECT_TRUE(before(kept, recomputed));
  EXPECT_FALSE(before(recomputed, kept));
  EXPECT_TRUE(before(kept, large));
}

TEST(Front, IsWhatNoneBeatsInAnyOrder) {
  std::vector<Candidate> all = candidates();
  std::mt19937 random(5);
  std::vector<std::vector<double>> first;
  for (int round = 0; round < 10; ++round) {
    std::shuffle(all.begin(), all.end(), random);
    Front left, right;
    for (std::size_t i = 0; i < all.size(); ++i) {
      (i % 2 == 0 ? left : right).offer(std::array{all[i].time.value(), all[i].memory.value()}, all[i]);
    }
    left.merge(right);
    std::vector<std::vector<double>> values;
    for (const Front::Point& point : left.points()) {
      values.push_back(point.values);
      for (const Candidate& c : all) {
        EXPECT_FALSE(c.time.value() < point.values[0] && c.memory.value() <= point.values[1]);
        EXPECT_FALSE(c.time.value() <= point.values[0] && c.memory.value() < point.values[1]);
      }
    }
    if (round == 0) first = values;
    EXPECT_EQ(values, first);
  }
}

}  // namespace
}  // namespace meshwright::search
