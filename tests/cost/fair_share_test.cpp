#include "meshwright/cost/fair_share.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace meshwright::cost {
namespace {

struct Case {
  std::vector<double> capacity;
  std::vector<std::vector<ResourceUse>> flows;
  std::vector<double> weight, bound;

  std::vector<double> solve() const {
    std::vector<std::uint32_t> first{0};
    std::vector<ResourceUse> uses;
    for (const auto& flow : flows) {
      uses.insert(uses.end(), flow.begin(), flow.end());
      first.push_back(static_cast<std::uint32_t>(uses.size()));
    }
    return fair_share({.capacity = capacity, .first = first, .uses = uses, .weight = weight, .bound = bound});
  }
};

TEST(FairShare, NoFlows) { EXPECT_TRUE((Case{{1, 2}, {}, {}, {}}.solve().empty())); }

// r1 <= 5                                                  =>  r1 = 5
TEST(FairShare, OneFlowTakesItsNarrowestLink) {
  EXPECT_EQ((Case{{9, 5}, {{{0}, {1}}}, {}, {}}.solve()), std::vector<double>{5});
}

// r1 + r2 <= 1,  r1 + r3 <= 2 (the line network)            =>  r1 = r2 = 1/2, r3 = 3/2
TEST(FairShare, LongFlowAgainstShortOnes) {
  EXPECT_EQ((Case{{1, 2}, {{{0}, {1}}, {{0}}, {{1}}}, {}, {}}.solve()), (std::vector<double>{0.5, 0.5, 1.5}));
}

// r1 + r2 <= 12, weights 1 and 2: r = w * level            =>  4, 8
TEST(FairShare, Weights) { EXPECT_EQ((Case{{12}, {{{0}}, {{0}}}, {1, 2}, {}}.solve()), (std::vector<double>{4, 8})); }

// r1 + r2 <= 10, r1 <= 2                                   =>  2, 8
TEST(FairShare, BoundsLeaveTheRestToOthers) {
  const double none = std::numeric_limits<double>::infinity();
  EXPECT_EQ((Case{{10}, {{{0}}, {{0}}}, {}, {2, none}}.solve()), (std::vector<double>{2, 8}));
}

// r1/4 + r2 <= 5: a sprayed flow loads each of four links with a quarter of its rate  =>  level 4
TEST(FairShare, SprayedFlowsUseAShare) {
  EXPECT_EQ((Case{{5}, {{{0, 0.25}}, {{0, 1}}}, {}, {}}.solve()), (std::vector<double>{4, 4}));
}

// 0 <= r1 <= 0 (a failed link)                             =>  0; a flow that uses nothing is unbounded
TEST(FairShare, DeadLinksAndEmptyFlows) {
  const std::vector<double> rate = Case{{0, 3}, {{{0}, {1}}, {{1}}, {}}, {}, {}}.solve();
  EXPECT_EQ(rate[0], 0);
  EXPECT_EQ(rate[1], 3);
  EXPECT_TRUE(std::isinf(rate[2]));
}

// Definition (Bertsekas, Gallager 6.5.2): feasible, and each flow has a full resource where nobody is at a higher
// level.
TEST(FairShare, RandomProblemsSatisfyTheDefinition) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    Case c;
    const std::size_t resources = 1 + random() % 12, flows = 1 + random() % 30;
    for (std::size_t r = 0; r < resources; ++r) c.capacity.push_back(1 + static_cast<double>(random() % 100));
    for (std::size_t f = 0; f < flows; ++f) {
      std::vector<ResourceUse> uses;
      for (std::uint32_t r = 0; r < resources; ++r)
        if (random() % 3 == 0) uses.push_back({r, 0.25 * static_cast<double>(1 + random() % 4)});
      if (uses.empty()) uses.push_back({0, 1});
      c.flows.push_back(uses);
      c.weight.push_back(0.5 * static_cast<double>(1 + random() % 4));
    }
    const std::vector<double> rate = c.solve();
    std::vector<double> load(resources, 0), top(resources, 0);
    for (std::size_t f = 0; f < flows; ++f)
      for (const ResourceUse& use : c.flows[f]) {
        load[use.resource] += use.share * rate[f];
        top[use.resource] = std::max(top[use.resource], rate[f] / c.weight[f]);
      }
    for (std::size_t r = 0; r < resources; ++r) EXPECT_LE(load[r], c.capacity[r] * (1 + 1e-9));
    for (std::size_t f = 0; f < flows; ++f) {
      bool has_bottleneck = false;
      for (const ResourceUse& use : c.flows[f])
        has_bottleneck |= load[use.resource] >= c.capacity[use.resource] * (1 - 1e-9) &&
                          rate[f] / c.weight[f] >= top[use.resource] * (1 - 1e-9);
      EXPECT_TRUE(has_bottleneck) << "flow " << f << " of round " << round;
    }
  }
}

}  // namespace
}  // namespace meshwright::cost
