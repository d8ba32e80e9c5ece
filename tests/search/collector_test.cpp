#include "search/collector.hpp"

#include <gtest/gtest.h>

#include <algorithm>
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
    out.push_back({Seconds::base(1.0 + static_cast<double>(random() % 7)),
                   Bytes::base(static_cast<double>(random() % 5)), layout});
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
    const SearchOptions options{.top = 6, .variants = variants};
    std::vector<Candidate> all = candidates();
    Collector whole(options);
    for (const Candidate& c : all) whole.offer(c);
    std::mt19937 random(11);
    for (int round = 0; round < 20; ++round) {
      std::shuffle(all.begin(), all.end(), random);
      Collector left(options), right(options);
      for (std::size_t i = 0; i < all.size(); ++i) (i % 3 == 0 ? left : right).offer(all[i]);
      left.merge(right);
      EXPECT_EQ(layouts(left), layouts(whole));
    }
  }
}

TEST(Collector, VariantsAreThePlainBest) {
  std::vector<Candidate> all = candidates();
  Collector collector({.top = 6, .variants = true});
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
  Collector collector({.top = 20});
  for (const Candidate& c : candidates()) collector.offer(c);
  const auto best = collector.best();
  EXPECT_EQ(best.size(), 9u);  // three tp times three pp
  for (std::size_t i = 0; i < best.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      EXPECT_TRUE(best[i].layout.tp != best[j].layout.tp || best[i].layout.pp != best[j].layout.pp);
    }
  }
}

}  // namespace
}  // namespace meshwright::search
