#include "meshwright/topology/place.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>

#include "meshwright/hardware/catalog.hpp"
#include "meshwright/topology/fabric.hpp"
#include "meshwright/topology/tiers.hpp"
#include "topology/clusters.hpp"

namespace meshwright::topology {
namespace {

using namespace testing_clusters;

double gbps(BytesPerSecond b) { return b.value() / 1e9; }

TEST(PlaceGroup, TensorParallelStaysOnNvlink) {
  const GroupPlace place = place_group(dgx_h100(2048), 8, 1);
  ASSERT_EQ(place.levels.size(), 1U);
  EXPECT_EQ(place.levels[0].kind, LevelKind::scale_up);
  EXPECT_EQ(place.levels[0].ranks, 8);
  EXPECT_DOUBLE_EQ(gbps(place.levels[0].bandwidth), 450);
  EXPECT_TRUE(place.levels[0].reduces);
}

TEST(PlaceGroup, OneRankNeedsNothing) { EXPECT_TRUE(place_group(dgx_h100(4), 1, 8).levels.empty()); }

TEST(PlaceGroup, DataParallelGetsOneNicARank) {
  // 16 nodes = 128 NICs exceed one 64-port switch; a rail leaf takes 32 nodes, so all 16 meet at the leaf.
  const GroupPlace place = place_group(dgx_h100(16), 16, 8);
  ASSERT_EQ(place.levels.size(), 1U);
  EXPECT_EQ(place.levels[0].kind, LevelKind::scale_out);
  EXPECT_DOUBLE_EQ(gbps(place.levels[0].bandwidth), 50);
}

TEST(PlaceGroup, LargeGroupsCrossTheSpine) {
  const GroupPlace place = place_group(dgx_h100(2048), 128, 8);
  ASSERT_EQ(place.levels.size(), 2U);
  EXPECT_EQ(place.levels[0].ranks, 32);
  EXPECT_EQ(place.levels[1].ranks, 4);
  EXPECT_LT(place.levels[0].latency, place.levels[1].latency);
}

// Two ranks 64 apart lie within 72 accelerators, but 144 of them are no two blocks of 128 in racks of 72.
TEST(PlaceGroup, IsOverTheNetworkWhereNotAllGroupsFitIntoDomains) {
  EXPECT_TRUE(place_group(nvl72(36), 2, 64).over_network());
  EXPECT_FALSE(place_group(nvl72(36), 8, 1).over_network());
  EXPECT_TRUE(place_group(dgx_h100(2), 16, 1).over_network());
}

// Sockets of a host and dimensions of a torus are levels, and none of them is a network.
TEST(PlaceGroup, SeveralLevelsAreNotYetANetwork) {
  const GroupPlace host = place_group(pcie_box(1), 8, 1), torus = place_group(tpu_v4(64), 64, 1);
  EXPECT_GT(host.levels.size(), 1U);
  EXPECT_FALSE(host.over_network());
  for (const Level& level : host.levels) EXPECT_TRUE(level.host) << level.link;
  EXPECT_GT(torus.levels.size(), 1U);
  EXPECT_FALSE(torus.over_network());
  EXPECT_FALSE(torus.levels[0].host);
  EXPECT_FALSE(place_group(pcie_box(2), 2, 8).levels[0].host);
}

TEST(PlaceGroup, NetworksReduceWhereTheirSwitchesCan) {
  Cluster c = dgx_h100(2);
  const auto reduces = [&](std::string_view box) {
    c.fabric_switch = builtin_catalog().switch_named(box);
    return place_group(c, 16, 1).levels.back().reduces;
  };
  EXPECT_TRUE(place_group(c, 16, 1).levels.back().reduces);  // no switch is named
  EXPECT_TRUE(reduces("quantum2"));
  EXPECT_FALSE(reduces("sx6036"));
}

TEST(PlaceGroup, UnevenGroupsAreCutIntoBlocksThatFit) {
  const GroupPlace place = place_group(dgx_h100(12), 12, 1);  // 8 + 4, 4 + 8, 12 = blocks of 4
  ASSERT_EQ(place.levels.size(), 2U);
  EXPECT_EQ(place.levels[0].ranks, 4);
  EXPECT_EQ(place.levels[1].ranks, 3);
  EXPECT_EQ(place_group(dgx_h100(3), 6, 4).levels[0].ranks, 2);
}

// A group alone: as few parts as hold it, as equal as they come. The smallest part's ways out are what counts.
TEST(PlaceGroup, UnevenGroupsCountTheirSmallestPart) {
  const auto placed = [](const Cluster& c, int size) { return place_group(c, size, 1).levels; };
  const Cluster two = dgx_h100(2);
  const std::vector<Level> of_14 = placed(two, 14), of_13 = placed(two, 13), of_9 = placed(two, 9);
  ASSERT_EQ(of_14.size(), 2U);
  EXPECT_EQ(of_14[0].ranks, 7);
  EXPECT_EQ(of_14[1].ranks, 2);
  EXPECT_DOUBLE_EQ(gbps(of_14[1].bandwidth), 50);
  ASSERT_EQ(of_13.size(), 2U);  // 7 + 6
  EXPECT_EQ(of_13[0].ranks, 7);
  EXPECT_DOUBLE_EQ(7 * gbps(of_13[1].bandwidth), 6 * 50);
  EXPECT_EQ(of_9[0].ranks, 5);  // 5 + 4
  EXPECT_DOUBLE_EQ(5 * gbps(of_9[1].bandwidth), 4 * 50);
}

TEST(PlaceGroup, GroupsThatFitASocketStayThere) {
  const Cluster box = pcie_box(1);
  for (const int size : {2, 3, 4}) {
    const GroupPlace place = place_group(box, size, 1);
    ASSERT_EQ(place.levels.size(), 1U) << size;
    EXPECT_NEAR(gbps(place.levels[0].bandwidth), 31.5, 0.1) << size;
  }
  // The link between sockets is shared by those that send: two to four of each.
  for (const int size : {5, 6, 7, 8}) {
    const GroupPlace place = place_group(box, size, 1);
    ASSERT_EQ(place.levels.size(), 2U) << size;
    EXPECT_EQ(place.levels[1].ranks, 2) << size;
    EXPECT_NEAR(gbps(place.levels[1].bandwidth) * place.levels[0].ranks, 22, 0.01) << size;
  }
}

// One crossing of a link is a figure of the link, or of the host's sockets.
TEST(PlaceGroup, LatenciesAreThoseOfTheLinks) {
  const Catalog& catalog = builtin_catalog();
  EXPECT_EQ(place_group(dgx_h100(1), 8, 1).levels[0].latency, 2 * catalog.link("nvlink4").latency);
  EXPECT_EQ(place_group(tpu_v4(64), 64, 1).levels[0].latency, catalog.link("ici-v4").latency);
  const GroupPlace host = place_group(pcie_box(1), 8, 1);
  EXPECT_EQ(host.levels[0].latency, 2 * catalog.link("pcie-gen4").latency);
  EXPECT_EQ(host.levels[1].latency, host.levels[0].latency + pcie_box(1).host.socket_latency);
}

TEST(PlaceGroup, ProductOfLevelsIsTheGroupOrItsLargestParts) {
  for (const Cluster& c : {dgx_h100(64), dgx_a100(560), nvl72(144), pcie_box(16), tpu_v4(1024), dgx_h100(1)})
    for (int size = 1; size <= c.accelerators(); size = size < 16 ? size + 1 : size * 2)
      for (int stride = 1; static_cast<long long>(size) * stride <= c.accelerators(); stride *= 2) {
        const GroupPlace place = place_group(c, size, stride);
        EXPECT_GE(place.size(), size) << c.name << " size " << size << " stride " << stride;
        EXPECT_LE(3 * place.size(), 4 * size) << c.name << " size " << size << " stride " << stride;
        for (const Level& level : place.levels) {
          EXPECT_GT(level.ranks, 1);
          EXPECT_GT(level.bandwidth.value(), 0) << c.name << " " << level.link;
          EXPECT_GT(level.latency.value(), 0);
        }
      }
}

TEST(PlaceGroup, NvlinkDomainSpansNodes) {
  const GroupPlace place = place_group(nvl72(36), 72, 1);
  ASSERT_EQ(place.levels.size(), 1U);
  EXPECT_EQ(place.levels[0].kind, LevelKind::scale_up);
  const GroupPlace two = place_group(nvl72(36), 144, 1);
  ASSERT_EQ(two.levels.size(), 2U);
  EXPECT_EQ(two.levels[0].ranks, 72);
  EXPECT_EQ(two.levels[1].ranks, 2);
  const GroupPlace uneven = place_group(nvl72(36), 16, 1);  // 72 = 4.5 x 16
  EXPECT_EQ(uneven.levels[0].ranks, 8);
}

TEST(PlaceGroup, RanksShareNicsAndSockets) {
  const GroupPlace place = place_group(pcie_box(2), 16, 1);
  ASSERT_EQ(place.levels.size(), 3U);
  EXPECT_NEAR(gbps(place.levels[0].bandwidth), 31.5, 0.1);
  EXPECT_NEAR(gbps(place.levels[1].bandwidth), 22.0 / 4, 0.01);  // four ranks share the socket link
  EXPECT_NEAR(gbps(place.levels[2].bandwidth), 50.0 / 8, 0.01);  // eight ranks share two NICs
}

TEST(PlaceGroup, OversubscriptionAppliesAboveItsTier) {
  Cluster c = dgx_h100(2048);
  c.network.oversubscription = {1, 7};
  const GroupPlace place = place_group(c, 2048, 8);
  ASSERT_EQ(place.levels.size(), 3U);
  EXPECT_NEAR(gbps(place.levels[0].bandwidth) / gbps(place.levels[2].bandwidth), 7, 0.3);
  EXPECT_NE(place.levels[2].link.find("7:1"), std::string::npos);
}

TEST(PlaceGroup, FullMeshUsesOneLinkAPeer) {
  Cluster c = dgx_h100(1);
  c.node.scale_up = ScaleUpKind::full_mesh;
  c.node.scale_up_bandwidth = 448_GBps;
  EXPECT_NEAR(gbps(place_group(c, 2, 1).levels[0].bandwidth), 64, 1e-9);
  EXPECT_NEAR(gbps(place_group(c, 8, 1).levels[0].bandwidth), 448, 1e-9);
}

TEST(PlaceGroup, TorusHasARingADimension) {
  const GroupPlace place = place_group(tpu_v4(1024), 4096, 1);
  ASSERT_EQ(place.levels.size(), 3U);
  for (const Level& level : place.levels) {
    EXPECT_EQ(level.ranks, 16);
    EXPECT_EQ(level.rings, 2);
    EXPECT_DOUBLE_EQ(gbps(level.bandwidth), 100);
  }
  EXPECT_EQ(place_group(tpu_v4(1024), 4, 1).levels[0].rings, 1);  // a segment has no wrap-around
  EXPECT_EQ(torus_shape(512, 3), (std::vector<int>{8, 8, 8}));
  EXPECT_EQ(torus_shape(128, 3), (std::vector<int>{4, 4, 8}));
}

TEST(PlanTiers, FewestThatFit) {
  EXPECT_EQ(plan_tiers(dgx_h100(8)).tiers.size(), 1U);
  EXPECT_EQ(plan_tiers(dgx_h100(256)).tiers.size(), 2U);  // 2,048 NICs = 64^2/2
  EXPECT_EQ(plan_tiers(dgx_h100(257)).tiers.size(), 3U);
  EXPECT_NE(plan_tiers(dgx_h100(257)).reason.find("2048"), std::string::npos);
  Cluster planes = dgx_h100(2048);
  planes.network.topology = "multi-plane";
  planes.network.planes = 8;
  EXPECT_EQ(plan_tiers(planes).tiers.size(), 2U);  // each plane sees one NIC of each node: 2,048 endpoints
}

/// Ranks of a group that share a scale-up domain.
int inside(const Cluster& cluster, int size, int stride) {
  int ranks = 1;
  for (const Level& level : place_group(cluster, size, stride).levels)
    if (level.kind == LevelKind::scale_up) ranks *= level.ranks;
  return ranks;
}

TEST(Place, GroupsLieInsideDomainsWhereTheyAllFindRoom) {
  const Catalog& catalog = builtin_catalog();
  const Cluster four_racks = make_cluster(catalog, "gb200-nvl72", 72, 256);
  EXPECT_EQ(inside(four_racks, 32, 1), 32) << "2 x 32 in each of four racks";
  EXPECT_EQ(inside(four_racks, 64, 1), 64);
  EXPECT_EQ(inside(four_racks, 256, 1), 64) << "4 x 64, not 3 x 72 + 40";
  EXPECT_EQ(inside(make_cluster(catalog, "gb200-nvl72", 72), 32, 1), 8) << "nine groups, room for eight";
  EXPECT_EQ(inside(make_cluster(catalog, "gb200-nvl72", 0, 288), 32, 1), 32) << "as many racks as it takes";
  EXPECT_EQ(inside(make_cluster(catalog, "gb200-nvl72", 72), 36, 1), 36);
  EXPECT_EQ(inside(make_cluster(catalog, "dgx-h100", 3), 3, 1), 1) << "24 ranks fill three nodes: 3 does not divide 8";
}

// A slice of TPU v5e is a mesh, however square; the graph and the levels close the same edges.
TEST(PlaceGroup, SlicesOfPodsAreMeshes) {
  for (const auto& [name, chips, closed] : {std::tuple{"tpu-v5e-pod", 16, 0},
                                            {"tpu-v5e-pod", 64, 0},
                                            {"tpu-v5e-pod", 128, 1},
                                            {"tpu-v5e-pod", 256, 2},
                                            {"tpu-v4-pod", 16, 0},
                                            {"tpu-v4-pod", 128, 3}}) {
    const Cluster cluster = complete({.of = name, .accelerators = chips}, builtin_catalog());
    const Fabric fabric = build_fabric(cluster);
    EXPECT_EQ(std::ranges::count(fabric.torus.wraps, true), closed) << name << " " << chips;
    int rings = 0;
    for (const Level& level : place_group(cluster, chips, 1).levels) rings += level.rings == 2 ? 1 : 0;
    EXPECT_EQ(rings, closed) << name << " " << chips;
  }
}

}  // namespace
}  // namespace meshwright::topology
