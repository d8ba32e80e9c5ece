// Order statistics of unequal ranks against drawing them.
#include "meshwright/capacity/stragglers.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "capacity/random.hpp"

namespace meshwright::tests {
namespace {
using namespace capacity;

struct Case {
  StragglerModel model;
  RankCounts ranks;
  int removed;
};

/// The slowest rank of one draw, without the `removed` slowest hosts.
double draw_slowest(const StragglerModel& m, const RankCounts& ranks, int removed, Random& random,
                    std::vector<double>& hosts) {
  for (double& host : hosts) {
    const double base = random.uniform() < m.slow_share ? m.slow_factor : 1;
    host = 0;
    for (int g = 0; g < ranks.per_host; ++g)
      host = std::max(host, base + m.spread * random.normal() + m.jitter * random.exponential());
  }
  std::nth_element(hosts.begin(), hosts.begin() + removed, hosts.end(), std::greater<>());
  return hosts[static_cast<std::size_t>(removed)];
}

/// Factors on the step by drawing every rank.
StragglerTimes straggler_monte_carlo(const StragglerModel& model, const RankCounts& ranks, int removed, int draws,
                                     std::uint64_t seed) {
  Random random(seed);
  std::vector<double> hosts(static_cast<std::size_t>(ranks.hosts + removed)), slowest;
  double sum = 0;
  for (int i = 0; i < std::max(2, draws); ++i) {
    slowest.push_back(draw_slowest(model, ranks, removed, random, hosts));
    sum += slowest.back();
  }
  std::ranges::sort(slowest);
  const auto at = [&](double p) { return slowest[static_cast<std::size_t>(p * static_cast<double>(slowest.size()))]; };
  return {sum / static_cast<double>(slowest.size()), at(0.5), at(0.99)};
}

TEST(Stragglers, OrderStatisticsWithinOnePercentOfMonteCarlo) {
  const Case cases[] = {
      {{.spread = 0.013}, {128, 8}, 0},
      {{.spread = 0.013, .slow_share = 0.005, .slow_factor = 1.1}, {128, 8}, 0},
      {{.spread = 0.013, .slow_share = 0.01, .slow_factor = 1.1, .jitter = 0.004}, {512, 8}, 0},
      {{.spread = 0.02, .slow_share = 0.01, .slow_factor = 1.2, .jitter = 0.01}, {256, 4}, 3},
      {{.jitter = 0.02}, {64, 8}, 1},
      {{.slow_share = 0.02, .slow_factor = 1.3}, {32, 8}, 0},
  };
  for (const Case& c : cases) {
    const StragglerTimes exact = straggler_times(c.model, c.ranks, c.removed);
    const StragglerTimes drawn = straggler_monte_carlo(c.model, c.ranks, c.removed, 1500, 11);
    SCOPED_TRACE(testing::Message() << c.model.spread << " " << c.model.slow_share << " " << c.model.jitter << " x "
                                    << c.ranks.hosts);
    EXPECT_NEAR(exact.mean / drawn.mean, 1, 0.01);
    EXPECT_NEAR(exact.p50 / drawn.p50, 1, 0.01);
    EXPECT_NEAR(exact.p99 / drawn.p99, 1, 0.01);
  }
}

// The largest of n standard normals: n = 2 has mean 1 / sqrt(pi), median at the root of 1/2 (closed forms).
TEST(Stragglers, TwoEqualRanksAreExact) {
  const StragglerTimes two = straggler_times({.spread = 0.01}, {2, 1});
  EXPECT_NEAR(two.mean, 1 + 0.01 / std::sqrt(M_PI), 1e-4);
  EXPECT_NEAR(two.p50, 1 + 0.01 * 0.54495, 1e-5);
}

// The largest of n exponentials has mean 1 + 1/2 + ... + 1/n.
TEST(Stragglers, JitterGrowsWithTheHarmonicNumber) {
  double harmonic = 0;
  for (int n = 1; n <= 1000; ++n) harmonic += 1.0 / n;
  EXPECT_NEAR((straggler_times({.jitter = 0.01}, {1000, 1}).mean - 1) / 0.01, harmonic, 0.02);
}

TEST(Stragglers, EqualRanksCostNothing) {
  const StragglerTimes times = straggler_times({}, {4096, 8});
  EXPECT_EQ(times.mean, 1);
  EXPECT_EQ(times.p99, 1);
}

TEST(Stragglers, MoreRanksAreNeverFaster) {
  const StragglerModel model{.spread = 0.013, .slow_share = 0.005, .slow_factor = 1.1, .jitter = 0.003};
  double last = 0;
  for (int hosts = 1; hosts <= 16384; hosts *= 4) {
    const double mean = straggler_times(model, {hosts, 8}).mean;
    EXPECT_GE(mean, last) << hosts;
    last = mean;
  }
}

// MegaScale (NSDI 2024, section 6.3): hosts that are 10 % slow, half a percent of them.
TEST(Stragglers, RemovingSlowHostsPays) {
  const StragglerModel model{.spread = 0.005, .slow_share = 0.005, .slow_factor = 1.1};
  const auto gain = [&](int removed) {
    return 1 - straggler_times(model, {1024, 8}, removed).mean / straggler_times(model, {1024, 8}).mean;
  };
  EXPECT_LT(gain(1), 0.01);  // the other slow hosts are still there
  EXPECT_GT(gain(14), 0.06);
}

}  // namespace
}  // namespace meshwright::tests
