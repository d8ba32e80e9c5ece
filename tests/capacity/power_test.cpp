// Power, caps and what they cost.
#include "meshwright/capacity/power.hpp"

#include <gtest/gtest.h>

#include "meshwright/capacity/estimate.hpp"

namespace meshwright::tests {
namespace {
using namespace everything;

RunCase run_on(const char* cluster, int nodes) {
  RunCase run;
  const Cluster c = make_cluster(builtin_catalog(), cluster, nodes);
  run.site = make_site(builtin_catalog(), c, c.accelerators());
  run.time = {.tokens = 1e12, .steps = 100000, .training = Seconds::base(1e6)};
  run.step = {.step = Seconds::base(10), .compute = 0.8};
  run.state = Bytes::base(1e12);
  return run;
}

TEST(PowerCurve, RisesToOneAndStaysThere) {
  ASSERT_GE(power_curves().size(), 3U);
  for (const PowerCurve& curve : power_curves()) {
    double before = 0;
    for (double cap = 0.05; cap < 1.5; cap += 0.01) {
      EXPECT_GE(curve.rate(cap), before) << curve.name << " " << cap;
      before = curve.rate(cap);
    }
    EXPECT_EQ(before, 1) << curve.name;
    EXPECT_FALSE(curve.sources.empty());
    for (const std::string& name : curve.accelerators) builtin_catalog().accelerator(name, "test");
  }
}

// Zeus (NSDI 2023), summary_power_v100.csv and _a40.csv: BERT-base on SQuAD, median over the batches.
TEST(PowerCurve, IsWhatWasMeasured) {
  EXPECT_NEAR(measured_rate("V100-PCIe-32GB", 150 / 226.8), 0.804, 0.002);
  EXPECT_NEAR(measured_rate("V100-PCIe-32GB", 112.5 / 226.8), (0.499 + 0.653) / 2, 0.005);
  EXPECT_NEAR(measured_rate("A40", 200 / 266.7), 0.903, 0.002);
  // Others: between the fewest and the most that any of them loses.
  const double rate = measured_rate("H100-SXM5-80GB", 0.66);
  EXPECT_GT(rate, 0.76);
  EXPECT_LT(rate, 0.82);
}

TEST(Power, TermsSumToTheMeter) {
  const RunCase run = run_on("dgx-h100", 64);
  const Inputs inputs;
  const Term terms = power_terms(run.site, 0.8, 2, inputs);
  EXPECT_NEAR(total(terms), site_power(run.site, 0.8, 2, inputs).running.value() * inputs("prices.pue"), 1);
  EXPECT_NEAR(total(terms) / terms.value, 1, 1e-12);
}

TEST(Power, ACapSlowsTheStepAndLowersTheDraw) {
  RunCase run = run_on("dgx-h100", 64);
  const RunEstimate free = estimate_run(run, {});
  EXPECT_NEAR(free.step.value(), 10, 1e-12);
  run.site.power_cap = Watts::base(700);
  EXPECT_NEAR(estimate_run(run, {}).wall / free.wall, 1, 1e-3) << "a cap at the TDP cuts peaks alone";
  RunEstimate before = free;
  for (const double cap : {600.0, 500.0, 400.0, 300.0}) {
    run.site.power_cap = Watts::base(cap);
    const RunEstimate e = estimate_run(run, {});
    EXPECT_GT(e.step, before.step) << cap;
    EXPECT_GT(e.wall, before.wall) << cap;
    EXPECT_LT(e.power, before.power) << cap;
    EXPECT_LT(e.provisioned, before.provisioned) << cap;
    // Only compute slows: 0.8 of the step.
    const double rate = measured_rate("H100-SXM5-80GB", cap / 630);
    EXPECT_NEAR(e.step.value(), 10 * (0.2 + 0.8 / rate), 1e-9) << cap;
    before = e;
  }
}

TEST(Power, ASiteLimitCapsAcceleratorsToFit) {
  RunCase run = run_on("dgx-h100", 64);
  const RunAssumptions usual;
  const RunEstimate free = estimate_run(run, usual);
  run.site.power_limit = free.power * 2.0;
  EXPECT_EQ(capped_rate(run.site, free.spares, usual.inputs), 1) << "more than enough";
  run.site.power_limit = free.power * 0.8;
  run.step.compute = 1;
  const RunEstimate e = estimate_run(run, usual);
  EXPECT_NEAR(e.power.value(), run.site.power_limit.value(), 1e-6 * run.site.power_limit.value());
  EXPECT_GT(e.step.value(), 10);
  EXPECT_TRUE(is_fed(run.site, e.spares, usual.inputs));
  run.site.power_limit = free.power * 0.25;
  EXPECT_FALSE(is_fed(run.site, e.spares, usual.inputs)) << "hosts and network alone take it";
}

TEST(BlastRadius, ComesFromTheTopology) {
  const auto rows = [](const RunCase& run, int spares) { return blast_radius(run, {}, spares); };
  const RunCase boxes = run_on("dgx-h100", 256);
  const auto of_boxes = rows(boxes, 4);
  ASSERT_EQ(of_boxes.size(), 3U);
  EXPECT_EQ(of_boxes[0].hosts, 1);
  EXPECT_EQ(of_boxes[1].hosts, boxes.site.hosts_below_leaf);
  EXPECT_EQ(of_boxes[2].unit, "rack");
  EXPECT_EQ(of_boxes[2].hosts, 4) << "four DGX H100 of 10.2 kW a rack";
  EXPECT_EQ(of_boxes[2].outage, Outage::replaced);
  EXPECT_EQ(rows(boxes, 3)[2].outage, Outage::waits);
  // A rack-scale domain is one rack of 18 hosts.
  const RunCase racks = run_on("gb200-nvl72", 72);
  const auto of_racks = rows(racks, 2);
  EXPECT_EQ(of_racks.back().hosts, 18);
  EXPECT_GT(of_racks.back().rate.value(), 0);
  EXPECT_EQ(of_racks.back().outage, Outage::waits);
}

TEST(BlastRadius, ARackThatNoSparesReplaceIsWaitedFor) {
  const RunCase run = run_on("dgx-h100", 256);
  RunAssumptions a;
  Component rack;
  rack.name = "rack";
  rack.per = FailureUnit::rack;
  rack.rate = Hertz::base(1e-6);
  rack.repair = Seconds::base(36000);
  a.failures.components = {rack};
  a.spare_hosts = 4;
  const RunEstimate replaced = estimate_run(run, a);
  a.spare_hosts = 3;
  const RunEstimate waits = estimate_run(run, a);
  EXPECT_GT(replaced.interruptions, 1);
  const double waited = find(waits.time, "waiting for hosts")->value;
  // 64 racks, each a wait of ten hours, as often as they fail.
  EXPECT_NEAR(waited / (waits.interruptions * 36000), 1, 0.02);
  EXPECT_GT(waits.wall, replaced.wall);
}

}  // namespace
}  // namespace meshwright::tests
