// Congestion profiles on fabrics against hand-solved cases and what was published.
#include "meshwright/capacity/congestion.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "meshwright/core/error.hpp"
#include "meshwright/hardware/catalog.hpp"

namespace meshwright::tests {
namespace {
using namespace everything;

const Fabric& fabric() {
  static const Fabric built = build_fabric(complete(
      read_cluster_spec(Reader::text(
          R"({"node": "dgx-h100", "nodes": 128, "network": {"topology": "fat-tree", "tiers": 2}})", "cluster")),
      builtin_catalog()));
  return built;
}

/// Every rank sends half the machine away: all flows cross the spines.
std::vector<Flow> across() { return shift_flows(1024, {"all", 1024, 1}, 512, Bytes::base(1)); }

CongestionShares shares(const char* profile, std::uint64_t seed = 1) {
  return congestion(fabric(), across(), congestion_profile(profile, "test"), seed);
}

TEST(Congestion, EvenSpreadingLosesOnlyItsControl) {
  for (const char* name : {"spectrum-x", "uec", "infiniband"}) {
    const CongestionShares s = shares(name);
    EXPECT_NEAR(s.slowest, congestion_profile(name, "test").control, 1e-9) << name;
    EXPECT_NEAR(s.mean, s.slowest, 1e-9) << name;
    EXPECT_EQ(s.victims, 0) << name;
  }
}

// RDMA over Ethernet at Meta scale (SIGCOMM 2024): the worst all-reduce reaches 0.2 of the roofline with one queue pair
// and 0.52 with 32.
TEST(Congestion, HashedFlowsCollide) {
  const CongestionShares one = shares("pfc"), many = shares("pfc-qp32");
  EXPECT_GE(one.slowest, 0.15);
  EXPECT_LE(one.slowest, 0.35);
  EXPECT_GE(many.slowest, 0.45);
  EXPECT_LE(many.slowest, 0.8);
}

TEST(Congestion, PausedPortsSlowFlowsThatDoNotCollide) {
  const CongestionShares paused = shares("pfc"), controlled = shares("dcqcn");
  EXPECT_GT(paused.victims, 0.02);
  EXPECT_EQ(controlled.victims, 0);
  EXPECT_LT(paused.mean, controlled.mean / 0.95);
  EXPECT_LE(paused.slowest, controlled.slowest / 0.95 + 1e-12);
}

// Three senders to one receiver, the third one also to a free receiver. Fair shares of the receiver's port are a third
// each, and the free flow gets the rest of its sender's port, 2/3. With pauses the port takes 1 / (1 + 1 + 1/2) of what
// is sent, and the third sender's port is paused as often: its flow elsewhere gets 1/2 x 0.4 = 0.2, which is 0.3 of
// 2/3.
TEST(Congestion, IncastHoldsBackItsNeighbours) {
  const Bytes b = Bytes::base(1);
  const std::vector<Flow> flows = {{0, 512, b}, {8, 512, b}, {16, 512, b}, {16, 768, b}};
  CongestionProfile profile = congestion_profile("infiniband", "test");
  const CongestionShares controlled = congestion(fabric(), flows, profile);
  EXPECT_NEAR(controlled.slowest, 1, 1e-9);
  profile.head_of_line = true;
  const CongestionShares paused = congestion(fabric(), flows, profile);
  EXPECT_NEAR(paused.slowest, 0.3, 0.01);
  EXPECT_NEAR(paused.mean, (1 + 1 + 0.6 + 0.3) / 4, 0.01);
  EXPECT_EQ(paused.victims, 0.5);
}

TEST(Congestion, IsTheSameForTheSameSeed) {
  EXPECT_EQ(shares("pfc", 3).mean, shares("pfc", 3).mean);
  EXPECT_NE(shares("pfc", 3).mean, shares("pfc", 4).mean);
}

TEST(Congestion, NoFlowsLoseNothing) {
  EXPECT_EQ(congestion(fabric(), {}, congestion_profile("pfc", "test")).slowest, 1);
}

TEST(Congestion, EveryProfileHasASource) {
  for (const CongestionProfile& p : congestion_profiles()) EXPECT_FALSE(p.sources.empty()) << p.name;
  EXPECT_THROW(congestion_profile("dcqnc", "x"), Error);
}

}  // namespace
}  // namespace meshwright::tests
