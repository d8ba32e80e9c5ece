// Failure rates of jobs against what operators published.
#include "meshwright/capacity/failures.hpp"
#include "core/refusal.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "meshwright/core/error.hpp"
#include "meshwright/hardware/catalog.hpp"

namespace meshwright::tests {
namespace {
using namespace everything;
using testing::HasSubstr;

Cluster h100(int nodes) { return make_cluster(builtin_catalog(), "dgx-h100", nodes); }

JobFailures failures(const FailureProfile& profile, int accelerators) {
  const Cluster cluster = h100(accelerators / 8);
  return job_failures(profile, unit_counts(cluster, build_fabric(cluster), accelerators), false);
}
JobFailures failures(std::string_view profile, int accelerators) {
  return failures(failure_profile(profile, "profile"), accelerators);
}
double hours(const JobFailures& job) { return job.mtbf().value() / 3600; }

// The Llama 3 Herd of Models, Table 5: 419 unexpected and 47 planned interruptions in 54 days on 16,384 H100.
TEST(Failures, Llama3) {
  const JobFailures job = failures("llama3-2024", 16384);
  EXPECT_NEAR(job.stops.value() * 54 * 86400, 419, 419 * 0.02);
  EXPECT_NEAR(job.planned.value() * 54 * 86400, 47, 0.1);
  EXPECT_NEAR(hours(job), 3.1, 0.1);
  EXPECT_NEAR(job.software / job.stops, 63.0 / 419, 0.01);
}

// Meta RSC, arXiv 2410.21680: projections from the node rate, and what its jobs saw (3.4 times as often).
TEST(Failures, MetaRscByJobSize) {
  EXPECT_NEAR(hours(failures("meta-rsc-1", 16384)), 1.8, 0.03);
  EXPECT_NEAR(hours(failures("meta-rsc-1", 131072)), 0.23, 0.01);
  EXPECT_NEAR(hours(failures("meta-rsc-1-jobs", 1024)), 7.9, 7.9 * 0.08);
  EXPECT_NEAR(hours(failures("meta-rsc-1-jobs", 8)) / 24, 47.7, 47.7 * 0.08);
}

// Published rates of 1,000 nodes and day lie within the spread that the default profile states.
TEST(Failures, OtherClustersLieWithinTheSpread) {
  const FailureProfile& profile = failure_profiles().front();
  const double central = failures(profile, 8192).stops.value() / 1024 * 86400 * 1000;
  EXPECT_NEAR(central, 3.79, 0.1);
  for (const double published : {2.34, 2.3, 3.8, 6.5, 5.0}) {
    EXPECT_GT(published, central * profile.spread.p10) << published;
    EXPECT_LT(published, central * profile.spread.p90) << published;
  }
}

TEST(Failures, ANodeRateIsTheRateOfTheJob) {
  const Reader stated = Reader::text(R"({"node_rate": "5 per 1000 node-days"})", "scenario.json");
  const FailureProfile profile = read_failure_profile(stated, failure_profiles().front());
  EXPECT_NEAR(failures(profile, 100000).mtbf().value() / 60, 23.04, 0.01);
  EXPECT_NEAR(read_node_rate(Reader::text(R"("5e-3 /d")", "x")) / profile.node_rate, 1, 1e-12);
}

TEST(Failures, GrowLinearlyWithTheJob) {
  EXPECT_NEAR(failures("llama3-2024", 16384).stops / failures("llama3-2024", 2048).stops, 8, 0.1);
}

// With a port in each of two planes a dead leaf or cable slows the job but does not stop it (Alibaba HPN, SIGCOMM
// 2024).
TEST(Failures, TwoPlanesSurviveLeavesAndCables) {
  const Cluster cluster = h100(1024);
  const UnitCounts counts = unit_counts(cluster, build_fabric(cluster), 8192);
  const FailureProfile& profile = failure_profiles().front();
  const JobFailures one = job_failures(profile, counts, false), two = job_failures(profile, counts, true);
  EXPECT_LT(two.stops, one.stops * 0.95);
  EXPECT_NEAR((two.stops + two.degraded) / (one.stops + one.degraded), 1, 1e-12);
}

TEST(Failures, CountsOfTheFabric) {
  const Cluster cluster = h100(128);
  const UnitCounts counts = unit_counts(cluster, build_fabric(cluster), 1024);
  EXPECT_EQ(counts[FailureUnit::nic], 1024);
  EXPECT_EQ(counts[FailureUnit::host_cable], 1024);
  EXPECT_GE(counts[FailureUnit::leaf_switch], 32);
  EXPECT_EQ(unit_counts(cluster, build_fabric(cluster), 512)[FailureUnit::leaf_switch],
            counts[FailureUnit::leaf_switch] / 2);
}

TEST(Failures, RefusesWhatIsNoRate) {
  const auto refusal = [](const char* json) {
    return meshwright::refusal([&] { read_failure_profile(Reader::text(json, "s.json"), {}); });
  };
  EXPECT_THAT(refusal(R"({"node_rate": "five per 1000 node-days"})"), HasSubstr("s.json:/node_rate"));
  EXPECT_THAT(refusal(R"({"node_rate": 5})"), HasSubstr("/node_rate"));
  EXPECT_THAT(refusal(R"({"nod_rate": "1 /d"})"), HasSubstr("node_rate"));
  EXPECT_THAT(refusal(R"({"components": [{"name": "x", "per": "acelerator", "rate": "1 /y"}]})"),
              HasSubstr("accelerator"));
  EXPECT_THAT(refusal(R"({"spread": [2, 3]})"), HasSubstr("/spread/0"));
  EXPECT_THROW(failure_profile("lama3-2024", "--failures"), Error);
}

TEST(Failures, EveryProfileHasASource) {
  for (const FailureProfile& profile : failure_profiles()) {
    EXPECT_FALSE(profile.sources.empty()) << profile.name;
    EXPECT_FALSE(profile.title.empty()) << profile.name;
    EXPECT_GT(profile.recovery.restart.value(), 0) << profile.name;
  }
}

}  // namespace
}  // namespace meshwright::tests
