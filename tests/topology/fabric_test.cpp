#include "meshwright/topology/fabric.hpp"

#include <gtest/gtest.h>

#include <map>

#include "meshwright/core/error.hpp"
#include "meshwright/topology/flows.hpp"
#include "topology/clusters.hpp"
#include "topology/graph.hpp"
#include "topology/unit.hpp"

namespace meshwright::topology {
namespace {

using namespace testing_clusters;

int count(const Fabric& f, NodeKind kind) { return static_cast<int>(std::count(f.kinds.begin(), f.kinds.end(), kind)); }

/// Net flow out of every node must be +1 at the source, -1 at the target, 0 elsewhere; bundles are spread over their
/// links.
void expect_a_way(const Fabric& f, int a, int b, const RouteOptions& options) {
  Route route;
  append_route(f, a, b, options, route);
  std::map<std::uint32_t, double> net;
  bool bundled = false;
  for (const FlowShare& step : route) {
    if (step.resource >= f.links.size()) {
      bundled = true;
      continue;
    }
    net[f.links[step.resource].from] += step.share;
    net[f.links[step.resource].to] -= step.share;
  }
  if (bundled) {  // up one leaf's uplinks, down another's: only the two leaves may be unbalanced
    for (auto& [node, balance] : net)
      if (f.kinds[node] == NodeKind::leaf) balance = 0;
  }
  EXPECT_NEAR(net[f.node_of(a)], 1, 1e-9) << f.name << " " << a << "->" << b;
  EXPECT_NEAR(net[f.node_of(b)], -1, 1e-9) << f.name << " " << a << "->" << b;
  for (const auto& [node, balance] : net)
    if (node != f.node_of(a) && node != f.node_of(b)) {
      EXPECT_NEAR(balance, 0, 1e-9) << describe_node(f, node);
    }
}

std::vector<Cluster> small_clusters() {
  std::vector<Cluster> all = {dgx_h100(1), dgx_h100(16), dgx_h100(40), dgx_a100(300),
                              nvl72(36),   pcie_box(12), tpu_v4(32)};
  for (const char* topology :
       {"single-switch", "fat-tree", "rail-optimised", "rail-only", "dual-plane", "multi-plane", "dragonfly+"}) {
    Cluster c = dgx_h100(80);
    c.network.topology = topology;
    c.network.planes = c.network.topology == "multi-plane" ? 8 : c.network.topology == "dual-plane" ? 2 : 1;
    c.name = topology;
    all.push_back(c);
    c.network.tiers = 3;
    c.network.reach = {64, 128};
    all.push_back(c);
  }
  return all;
}

// NCCL, graph/topo.h: Skylake 10, Ice Lake 22, Sapphire Rapids 40 GB/s, AMD 16.
TEST(Unit, SocketsOfIntelAreAsFastAsTheirGeneration) {
  const auto between = [](const char* pcie, const char* cpu) {
    ClusterSpec spec{.of = "dgx-h100", .nodes = 1};
    spec.node.pcie = pcie, spec.node.cpu = cpu;
    return socket_link(complete(spec, builtin_catalog())).value();
  };
  EXPECT_EQ(between("pcie-gen3", "intel"), 10e9);
  EXPECT_EQ(between("pcie-gen4", "intel"), 22e9);
  EXPECT_EQ(between("pcie-gen5", "intel"), 40e9);
  EXPECT_EQ(between("pcie-gen5", "amd"), 16e9);
}

TEST(Fabric, RoutesLeadFromSourceToTarget) {
  for (const Cluster& c : small_clusters()) {
    const Fabric f = build_fabric(c);
    for (int a = 0; a < f.accelerators; a += 1 + f.accelerators / 13)
      for (int b = 0; b < f.accelerators; b += 1 + f.accelerators / 17)
        if (a != b)
          for (const RoutingKind routing : {RoutingKind::fixed, RoutingKind::ecmp, RoutingKind::adaptive}) {
            if (routing != RoutingKind::adaptive && f.clos.direct_groups) continue;
            expect_a_way(f, a, b, {.routing = routing, .flows_a_pair = 3});
          }
  }
}

TEST(Fabric, EveryPortIsWiredOnce) {
  for (const Cluster& c : small_clusters()) {
    const Fabric f = build_fabric(c);
    if (f.clos.leaf_up == 0) continue;
    std::map<std::uint32_t, int> ports;
    for (std::size_t l = 0; l < f.links.size(); l += 2)
      for (const std::uint32_t end : {f.links[l].from, f.links[l].to}) ++ports[end];
    for (const auto& [node, used] : ports)
      if (f.kinds[node] == NodeKind::leaf || f.kinds[node] == NodeKind::spine) {
        EXPECT_LE(used, std::max(f.plan.radix, f.clos.leaf_down + f.clos.leaf_up))
            << f.name << " " << describe_node(f, node);
      }
  }
}

// NVIDIA DGX SuperPOD H100 reference architecture (RA-11333-001 V11), table 4: 1 to 4 scalable units of 32 nodes take
// 8, 16, 24, 32 leaves and 4, 8, 16, 16 spines; 64 units 512 leaves, 512 spines, 256 cores.
TEST(Fabric, SuperPodSwitchCounts) {
  const std::map<int, std::array<int, 3>> published = {
      {1, {8, 4, 0}}, {2, {16, 8, 0}}, {3, {24, 16, 0}}, {4, {32, 16, 0}}, {64, {512, 512, 256}}};
  for (const auto& [units, switches] : published) {
    Cluster c = dgx_h100(32 * units);
    const Fabric f = build_fabric(c);
    EXPECT_EQ(count(f, NodeKind::leaf), switches[0]) << units;
    EXPECT_EQ(count(f, NodeKind::spine), switches[1]) << units;
    EXPECT_EQ(count(f, NodeKind::core), switches[2]) << units;
  }
}

// DeepSeek-V3 ISCA 2025 (arXiv 2505.09343), table 3: eight planes of two tiers reach 16,384 GPUs with 768 switches.
TEST(Fabric, MultiPlaneSwitchCount) {
  Cluster c = dgx_h100(2048);
  c.network.topology = "multi-plane";
  c.network.planes = 8;
  const Fabric f = build_fabric(c);
  EXPECT_EQ(count(f, NodeKind::leaf) + count(f, NodeKind::spine), 768);
  EXPECT_EQ(count(f, NodeKind::core), 0);
}

TEST(Fabric, UnknownTopologyIsOneClearLine) {
  Cluster c = dgx_h100(4);
  c.network.topology = "fat-tre";
  try {
    build_fabric(c);
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("did you mean 'fat-tree'"), std::string::npos) << e.what();
  }
}

TEST(Fabric, ToriOfNicsAndNicsOfToriAreRefused) {
  Cluster nics = dgx_h100(4), torus = tpu_v4(16);
  nics.network.topology = "torus-3d", torus.network.topology = "fat-tree";
  for (const auto& [cluster, expected] : {std::pair(nics, "rail-optimised"), std::pair(torus, "torus-3d")}) {
    try {
      build_fabric(cluster);
      ADD_FAILURE() << cluster.name;
    } catch (const Error& e) {
      EXPECT_NE(std::string(e.what()).find("topology"), std::string::npos) << e.what();
      EXPECT_NE(std::string(e.what()).find(expected), std::string::npos) << e.what();
    }
  }
}

TEST(Fabric, CubeMeshHasSixLinksAGpu) {
  Cluster c = dgx_h100(1);
  c.node.scale_up = ScaleUpKind::cube_mesh;
  c.node.scale_up_bandwidth = 150_GBps;
  const Fabric f = build_fabric(c);
  std::vector<double> out(8, 0);
  for (const FabricLink& link : f.links)
    if (f.kinds[link.from] == NodeKind::accelerator && f.kinds[link.to] == NodeKind::accelerator)
      out[link.from] += link.capacity;
  for (const double bandwidth : out) EXPECT_NEAR(bandwidth, 150e9, 1);
}

TEST(Torus, WrapsAndTwists) {
  const Fabric plain = build_torus({4, 4, 8}, 50_GBps), twisted = build_torus({4, 4, 8}, 50_GBps, true, true);
  for (const Fabric& f : {plain, twisted}) {
    EXPECT_EQ(f.links.size(), 128U * 6);
    std::vector<int> degree(128, 0);
    for (const FabricLink& link : f.links) ++degree[link.from];
    for (const int d : degree) EXPECT_EQ(d, 6);
    for (int a = 0; a < 128; a += 5)
      for (int b = 0; b < 128; b += 7)
        if (a != b) expect_a_way(f, a, b, {});
  }
}

}  // namespace
}  // namespace meshwright::topology
