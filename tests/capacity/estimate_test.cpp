// A run's days, goodput, money and energy: sums, limits and directions.
#include "meshwright/capacity/estimate.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "meshwright/core/error.hpp"

namespace meshwright::tests {
namespace {
using namespace everything;

/// A run of 30 days without losses on `nodes` of a cluster.
RunCase case_of(const char* cluster, int nodes, const char* network = nullptr) {
  RunCase run;
  Cluster c = make_cluster(builtin_catalog(), cluster, nodes);
  if (network != nullptr) {
    const std::string text = std::string(R"({"node": ")") + cluster + R"(", "nodes": )" + std::to_string(nodes) +
                             R"(, "network": )" + network + "}";
    c = complete(read_cluster_spec(Reader::text(text, "cluster")), builtin_catalog());
  }
  run.site = make_site(builtin_catalog(), c, c.accelerators());
  run.time = {.tokens = 1e12, .steps = 259200, .training = Seconds::base(259200 * 10.0)};
  run.step = {.step = Seconds::base(10), .compute = 0.8, .scale_out = 0.1};
  run.model_flops = 1e24;
  run.state = Bytes::base(1e12);
  return run;
}

TEST(Estimate, TermsSumToTheirTotals) {
  const RunEstimate e = estimate_run(case_of("dgx-h100", 512), {});
  EXPECT_NEAR(total(e.time) / e.wall.value(), 1, 1e-12);
  EXPECT_NEAR(total(e.cost) / e.cost.value, 1, 1e-12);
  EXPECT_NEAR(total(e.capex) / e.capex.value, 1, 1e-12);
  EXPECT_GT(e.wall, Seconds::base(2592000));
  EXPECT_NEAR(e.gpu_hours, 4096 * e.wall.value() / 3600, 1);
  EXPECT_NEAR(e.usd_per_trillion_tokens, e.cost.value, 1);
  EXPECT_NEAR(e.usd_per_pflops_day, e.cost.value / (1e24 / 8.64e19), 1e-6);
}

TEST(Estimate, WithoutFailuresOnlyCheckpointsAndStragglersAreLost) {
  RunAssumptions none;
  none.inputs.set("failures.rate_factor", 0);
  for (const char* name : {"stragglers.spread", "stragglers.slow_share", "stragglers.jitter"}) none.inputs.set(name, 0);
  none.failures.planned = {};
  const RunEstimate e = estimate_run(case_of("dgx-h100", 512), none);
  EXPECT_EQ(e.interruptions, 0);
  EXPECT_GT(e.goodput, 0.9999);
  EXPECT_NEAR(e.wall.value(), 2592000, 300);
}

struct Direction {
  const char* input;
  double value;
};

TEST(Estimate, WorseInputsAreNeverBetter) {
  const RunCase run = case_of("dgx-h100", 1024);
  const RunEstimate usual = estimate_run(run, {});
  for (const Direction& d : {Direction{"failures.rate_factor", 3},
                             {"failures.recovery_factor", 3},
                             {"checkpoint.store_write", 1e8},
                             {"checkpoint.store_read", 1e8},
                             {"stragglers.spread", 0.05},
                             {"step.time", 1.2}}) {
    RunAssumptions worse;
    worse.inputs.set(d.input, d.value);
    const RunEstimate e = estimate_run(run, worse);
    EXPECT_GT(e.wall, usual.wall) << d.input;
    EXPECT_GT(e.cost.value, usual.cost.value) << d.input;
  }
}

TEST(Estimate, MoreAcceleratorsLoseMore) {
  double last = 1;
  for (const int nodes : {16, 128, 1024, 4096, 12500}) {
    const double goodput = estimate_run(case_of("dgx-h100", nodes), {}).goodput;
    EXPECT_LT(goodput, last) << nodes;
    last = goodput;
  }
  EXPECT_LT(last, 0.75);  // 100,000 GPUs lose a quarter or more
}

// Copies in a peer's memory pay where failures are frequent and the store is slow; waiting for it never does.
TEST(Estimate, PeerCopiesHelpLargeJobs) {
  RunCase run = case_of("dgx-h100", 4096);
  run.state = Bytes::base(2e13);
  RunAssumptions usual;
  usual.inputs.set("checkpoint.store_write", 1e8);
  RunAssumptions peer = usual, wait = usual;
  peer.checkpoint.mode = CheckpointMode::peer;
  wait.checkpoint.mode = CheckpointMode::synchronous;
  const double asynchronous = estimate_run(run, usual).goodput;
  EXPECT_GT(estimate_run(run, peer).goodput, asynchronous);
  EXPECT_LT(estimate_run(run, wait).goodput, asynchronous);
  EXPECT_GT(estimate_run(run, peer).checkpoint_interval, estimate_run(run, peer).peer_interval);
}

TEST(Estimate, FewerSparesWait) {
  const RunCase run = case_of("dgx-h100", 2048);
  RunAssumptions few;
  few.inputs.set("failures.spares", 1.0 / 2048);
  const RunEstimate usual = estimate_run(run, {}), short_of = estimate_run(run, few);
  EXPECT_EQ(short_of.spares, 1);
  EXPECT_GT(usual.spares, 8);
  EXPECT_LT(find(usual.time, "waiting for hosts")->value, 0.01 * usual.wall.value());
  EXPECT_GT(find(short_of.time, "waiting for hosts")->value, 0.05 * short_of.wall.value());
}

// Two planes lose half the network while a leaf is out; one plane stops the job.
TEST(Estimate, TwoPlanesSlowDownInsteadOfStopping) {
  const RunCase one = case_of("dgx-h100", 1024);
  const RunCase two = case_of("dgx-h100", 1024, R"({"topology": "dual-plane", "planes": 2})");
  ASSERT_TRUE(two.site.survives_leaf);
  const RunEstimate a = estimate_run(one, {}), b = estimate_run(two, {});
  EXPECT_LT(b.interruptions, a.interruptions);
  EXPECT_GT(find(b.time, "degraded network")->value, find(a.time, "degraded network")->value);
  EXPECT_LT(find(b.time, "degraded network")->value, 0.05 * b.wall.value());
}

// A leaf takes all hosts below it off the network: as many spares stand in for them, else they go around over their
// other NICs, else the job waits for the repair.
TEST(Estimate, ALeafTakesItsHosts) {
  const RunCase run = case_of("dgx-h100", 256);
  EXPECT_EQ(run.site.hosts_below_leaf, 32);
  EXPECT_FALSE(run.site.leaf_cuts_off);
  EXPECT_EQ(leaf_outage(run.site, 31), Outage::around);
  EXPECT_EQ(leaf_outage(run.site, 32), Outage::replaced);
  RunCase alone = run;
  alone.site.leaf_cuts_off = true;
  EXPECT_EQ(leaf_outage(alone.site, 31), Outage::waits);
  RunAssumptions few;
  few.spare_hosts = 8;
  const RunEstimate around = estimate_run(run, few), waits = estimate_run(alone, few);
  EXPECT_GT(find(waits.time, "waiting for hosts")->value, find(around.time, "waiting for hosts")->value);
  EXPECT_GT(find(around.time, "degraded network")->value, find(waits.time, "degraded network")->value);
  EXPECT_EQ(leaf_outage(case_of("dgx-h100", 256, R"({"topology": "dual-plane", "planes": 2})").site, 0),
            Outage::passed_over);
}

TEST(Estimate, EvictedHostsCostTheirWayBack) {
  const RunCase run = case_of("dgx-h100", 128);
  RunAssumptions spot;
  spot.inputs.set("failures.evictions", 0.01);
  const RunEstimate usual = estimate_run(run, {}), evicted = estimate_run(run, spot);
  // 1.28 a day, each with a requeue of 10 and a restart of 5 minutes and the loading: 1.3 % of the time and more.
  const double share = find(evicted.time, "evictions")->value / evicted.wall.value();
  EXPECT_GT(share, 1.28 * 15 * 60 / 86400 * 0.95);
  EXPECT_LT(share, 1.28 * 20 * 60 / 86400);
  EXPECT_GT(evicted.wall, usual.wall);
}

// A restart in place finds its own disk again; a host that is replaced does not.
TEST(Estimate, LocalDisksHelpAgainstSoftwareOnly) {
  RunCase run = case_of("dgx-h100", 4096);
  run.state = Bytes::base(2e13);
  RunAssumptions usual;
  usual.inputs.set("checkpoint.store_write", 1e7);
  RunAssumptions disk = usual, peer = usual;
  disk.checkpoint.mode = CheckpointMode::local;
  peer.checkpoint.mode = CheckpointMode::peer;
  EXPECT_GT(estimate_run(run, disk).goodput, estimate_run(run, usual).goodput);
  EXPECT_LT(estimate_run(run, disk).goodput, estimate_run(run, peer).goodput);
}

TEST(Estimate, IntervalsAreWholeSteps) {
  const RunEstimate e = estimate_run(case_of("dgx-h100", 1024), {});
  const double step = e.time.parts.front().value / static_cast<double>(e.steps);
  const double factor = 1 + 0.8 * (e.stragglers.mean - 1);
  const double steps = e.checkpoint_interval.value() / (step * factor);
  EXPECT_NEAR(steps, std::round(steps), 1e-6);
}

TEST(Estimate, ALayoutThatCannotRunAPhaseIsNamed) {
  const Reader text = Reader::text(R"({"model": "llama-3-8b", "cluster": "dgx-h100", "nodes": 4, "seq_len": 8192,
    "global_batch": 256, "layout": {"tp": 1, "pp": 1, "dp": 32, "micro_batch": 1, "zero_stage": 1, "recompute": "full"}})",
                                   "job");
  const parallel::Job job = parallel::read_job(text, builtin_catalog());
  const parallel::Prediction p = parallel::predict(job, *job.layout);
  const auto run = [&](int seq_len, int batch) {
    return make_run(builtin_catalog(), job, p, {.phases = {{"a", 1e9, 8192, 256}, {"b", 1e9, seq_len, batch}}}, {},
                    "run");
  };
  EXPECT_EQ(run(4096, 512).time.segments.size(), 2U);
  EXPECT_THROW(run(8192, 100), Error);    // not a multiple of dp
  EXPECT_THROW(run(1048576, 32), Error);  // does not fit
}

}  // namespace
}  // namespace meshwright::tests
