// Closed forms of goodput against the event simulation, and Young's, Daly's and the exact interval against its optimum.
#include "meshwright/capacity/simulate.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace meshwright::tests {
namespace {
using namespace capacity;
using namespace literals;

Seconds hours(double h) { return Seconds::base(h * 3600); }
Seconds minutes(double m) { return Seconds::base(m * 60); }
Hertz every(Seconds mtbf) { return Hertz::base(1 / mtbf.value()); }

Process one_level(Seconds mtbf, Seconds down, Seconds interval, Seconds blocking, Seconds lag = {}) {
  return {.failures = {{.name = "failure", .rate = every(mtbf), .down = down}},
          .levels = {{.name = "store", .interval = interval, .blocking = blocking, .lag = lag}}};
}

void expect_simulated(const Process& process, double tolerance) {
  const Hertz rate = process.rate();
  const SimulatedRun run = simulate(process, Seconds::base(4000 / rate.value()), 8, 1);
  ASSERT_LT(run.goodput.half_width, 0.01) << "too few failures to mean anything";
  const WallShares shares = wall_shares(process);
  EXPECT_NEAR(shares.useful, run.goodput.mean, tolerance * run.goodput.mean + run.goodput.half_width);
  EXPECT_NEAR(shares.useful + shares.checkpoint + shares.lost + shares.down, 1, 1e-12);
}

TEST(Goodput, OneLevelIsExact) {
  for (const double mtbf : {0.25, 1.0, 3.0, 50.0}) {
    for (const double interval : {5.0, 30.0, 120.0}) {
      SCOPED_TRACE(testing::Message() << mtbf << " h, " << interval << " min");
      expect_simulated(one_level(hours(mtbf), minutes(6), minutes(interval), 40_s), 0.001);
    }
  }
}

TEST(Goodput, AsynchronousWritingLosesItsLag) {
  expect_simulated(one_level(hours(1), minutes(5), minutes(10), 2_s, minutes(4)), 0.001);
  expect_simulated(one_level(hours(1), minutes(5), minutes(10), 2_s, minutes(9)), 0.001);
}

TEST(Goodput, ClassesWithDifferentDowntime) {
  Process process = one_level(hours(2), minutes(3), minutes(20), 10_s);
  process.failures.push_back({.name = "slow", .rate = every(hours(6)), .down = hours(1)});
  expect_simulated(process, 0.001);
}

TEST(Goodput, TwoLevelsWithinOnePercentWhileLossesAreBelowAHalf) {
  for (const double mtbf : {1.0, 4.0}) {
    const Process process{.failures = {{"host", every(hours(mtbf)), minutes(5), 0},
                                       {"store only", every(hours(5 * mtbf)), minutes(10), 1}},
                          .levels = {{"peer", minutes(3), 1_s, 5_s}, {"store", minutes(60), 20_s, minutes(2)}}};
    ASSERT_GT(wall_shares(process).useful, 0.5);
    expect_simulated(process, 0.01);
  }
}

TEST(Goodput, NoFailuresLeaveTheCheckpointsOnly) {
  const WallShares shares = wall_shares({.levels = {{.interval = 95_s, .blocking = 5_s}}});
  EXPECT_DOUBLE_EQ(shares.useful, 0.95);
  EXPECT_DOUBLE_EQ(shares.checkpoint, 0.05);
}

// Daly 2006, equation 20, with one class and no lag.
TEST(Goodput, IsDalysCompleteModel) {
  const double M = 3600, t = 600, b = 30, d = 240;
  const double wall_per_interval = M * std::exp(d / M) * std::expm1((t + b) / M);
  const Process process = one_level(Seconds::base(M), Seconds::base(d), Seconds::base(t), Seconds::base(b));
  EXPECT_NEAR(wall_shares(process).useful, t / wall_per_interval, 1e-12);
}

struct Regime {
  double mtbf_h, blocking_s;
};

double best_simulated(const Regime& r) {
  double best = 0;
  for (double factor = 0.5; factor <= 2.01; factor *= std::sqrt(std::sqrt(2))) {
    const Seconds interval = young_interval(Seconds::base(r.blocking_s), hours(r.mtbf_h)) * factor;
    const Process process = one_level(hours(r.mtbf_h), minutes(5), interval, Seconds::base(r.blocking_s));
    best = std::max(best, simulate(process, hours(10000 * r.mtbf_h), 4, 7).goodput.mean);
  }
  return best;
}

// From 8 nodes to 100,000 accelerators; the mean time between failures stays above four times the blocking.
TEST(Interval, YoungDalyAndExactReachTheSimulatedOptimum) {
  for (const Regime& r : {Regime{500, 120}, Regime{3.1, 30}, Regime{0.38, 30}, Regime{0.38, 300}}) {
    SCOPED_TRACE(testing::Message() << r.mtbf_h << " h, " << r.blocking_s << " s");
    const double optimum = best_simulated(r);
    const Seconds blocking = Seconds::base(r.blocking_s), mtbf = hours(r.mtbf_h);
    for (const Seconds interval :
         {young_interval(blocking, mtbf), daly_interval(blocking, mtbf), best_interval(blocking, {}, mtbf, {})}) {
      const double reached = wall_shares(one_level(mtbf, minutes(5), interval, blocking)).useful;
      EXPECT_GE(reached, 0.98 * optimum) << interval.value() << " s";
    }
  }
}

TEST(Interval, ExactOneIsTheMaximumOfTheClosedForm) {
  for (const Regime& r : {Regime{500, 120}, Regime{3.1, 30}, Regime{0.1, 300}, Regime{1, 0.01}}) {
    const Seconds best = best_interval(Seconds::base(r.blocking_s), {}, hours(r.mtbf_h), {});
    const auto useful = [&](Seconds interval) {
      return wall_shares(one_level(hours(r.mtbf_h), minutes(5), interval, Seconds::base(r.blocking_s))).useful;
    };
    EXPECT_GE(useful(best), useful(best * 1.01));
    EXPECT_GE(useful(best), useful(best * 0.99));
  }
}

TEST(Interval, WaitsForTheLastCheckpointToBeWritten) {
  EXPECT_EQ(best_interval(1_s, minutes(10), hours(1), {}), minutes(10));
  EXPECT_EQ(best_interval({}, {}, hours(1), 20_s), 20_s);
}

TEST(Simulation, IsTheSameForTheSameSeed) {
  const Process process = one_level(hours(3), minutes(5), minutes(30), 20_s);
  EXPECT_EQ(simulate(process, hours(300), 3, 5).wall.mean, simulate(process, hours(300), 3, 5).wall.mean);
  EXPECT_NE(simulate(process, hours(300), 3, 5).wall.mean, simulate(process, hours(300), 3, 6).wall.mean);
}

}  // namespace
}  // namespace meshwright::tests
