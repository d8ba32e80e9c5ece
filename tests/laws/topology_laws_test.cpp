// Laws (f) and (g), conservation of capacity, and agreement of the closed form of a group's place with the graph.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "meshwright/collectives/flow.hpp"
#include "meshwright/cost/fair_share.hpp"
#include "meshwright/hardware/catalog.hpp"
#include "meshwright/topology/place.hpp"

namespace meshwright::tests {
namespace {

using namespace literals;

Cluster machine(const char* topology, int nodes, std::vector<double> oversubscription = {}) {
  Cluster c;
  c.name = topology;
  c.nodes = nodes;
  c.accelerator.scale_up_link = "nvlink4";
  c.node.scale_up_bandwidth = 450_GBps;
  c.node.nic_bandwidth = 50_GBps;
  c.node.fabric = "infiniband";
  c.fabric = builtin_catalog().fabric("infiniband");
  c.node.pcie = "pcie-gen5";
  c.network.topology = topology;
  c.network.planes = c.network.topology == "dual-plane" ? 2 : c.network.topology == "multi-plane" ? 8 : 1;
  c.network.oversubscription = std::move(oversubscription);
  c.network.reach = {64, 256};
  c.network.tiers = 3;
  return c;
}

const std::vector<const char*>& topologies() {
  static const std::vector<const char*> all = {"fat-tree",   "rail-optimised", "rail-only",
                                               "dual-plane", "multi-plane",    "dragonfly+"};
  return all;
}

/// Axes and shifts that stress different tiers.
std::vector<std::vector<Flow>> patterns(int ranks) {
  const Axis tp{"tp", 8, 1}, dp{"dp", ranks / 8, 8}, cp{"cp", 4, 2}, all{"all", ranks, 1};
  std::vector<std::vector<Flow>> out = {ring_flows(ranks, tp, 64_MiB), ring_flows(ranks, dp, 64_MiB),
                                        ring_flows(ranks, cp, 64_MiB), shift_flows(ranks, all, ranks / 2, 64_MiB),
                                        shift_flows(ranks, all, ranks / 3 + 1, 64_MiB)};
  std::mt19937 random(3);
  std::vector<Flow> mixed;
  for (int i = 0; i < 3 * ranks; ++i) {
    const int a = static_cast<int>(random() % static_cast<unsigned>(ranks)),
              b = static_cast<int>(random() % static_cast<unsigned>(ranks));
    if (a != b) mixed.push_back({a, b, 32_MiB});
  }
  out.push_back(mixed);
  return out;
}

// (f) More bandwidth or less oversubscription is never slower.
TEST(LawF, MoreBandwidthIsNeverSlower) {
  for (const char* topology : topologies()) {
    const Fabric a = build_fabric(machine(topology, 32));
    Fabric b = a;  // the same wiring at twice the speed above the NICs
    for (std::size_t l = a.clos.nic_link; l < b.links.size(); ++l) b.links[l].capacity *= 2;
    refresh_bundles(b);
    for (const auto& flows : patterns(a.accelerators))
      EXPECT_LE(flow_time(b, flows).value(), flow_time(a, flows).value() * (1 + 1e-9)) << topology;
  }
}

TEST(LawF, LessOversubscriptionIsNeverSlower) {
  for (const char* topology : topologies()) {
    double before[8] = {};
    for (const double ratio : {8.0, 4.0, 2.0, 1.0}) {
      const Fabric f = build_fabric(machine(topology, 32, {ratio, ratio}));
      std::size_t i = 0;
      for (const auto& flows : patterns(f.accelerators)) {
        const double time = flow_time(f, flows).value();
        if (before[i] > 0) {
          EXPECT_LE(time, before[i] * (1 + 1e-9)) << topology << " ratio " << ratio << " pattern " << i;
        }
        before[i++] = time;
      }
    }
  }
}

TEST(LawF, PlacesAreNeverSlowerWithLessOversubscription) {
  for (const char* topology : topologies())
    for (const int size : {2, 16, 128, 512}) {
      double before = 0;
      for (const double ratio : {8.0, 3.0, 1.0}) {
        double least = 1e300;
        for (const Level& level : place_group(machine(topology, 512, {ratio, ratio}), size, 8).levels)
          least = std::min(least, level.bandwidth.value());
        EXPECT_GE(least, before * (1 - 1e-9)) << topology;
        before = least;
      }
    }
}

// (g) Equal flows finish at the busiest link's load.
TEST(LawG, EqualFlowsFinishAtTheBusiestLinksLoad) {
  for (const char* topology : topologies()) {
    const Fabric f = build_fabric(machine(topology, 32, {1, 3}));
    if (f.clos.direct_groups) continue;  // the better of two routings
    for (const RoutingKind routing : {RoutingKind::adaptive, RoutingKind::fixed, RoutingKind::ecmp})
      for (const auto& flows : patterns(f.accelerators)) {
        const RouteOptions options{.routing = routing, .flows_a_pair = 2};
        EXPECT_NEAR(flow_time(f, flows, options) / busiest_load(f, flows, options).time, 1, 1e-6) << topology;
      }
  }
}

TEST(Conservation, NoLinkCarriesMoreThanItsCapacity) {
  for (const char* topology : topologies()) {
    const Fabric f = build_fabric(machine(topology, 32, {2}));
    for (const auto& flows : patterns(f.accelerators)) {
      const FlowProblem p = flow_problem(f, flows, {.routing = RoutingKind::ecmp});
      std::vector<ResourceUse> uses;
      for (const FlowShare& use : p.uses) uses.push_back({use.resource, use.share});
      const std::vector<double> rate =
          fair_share({.capacity = p.capacity, .first = p.first, .uses = uses, .weight = {}, .bound = {}});
      std::vector<double> load(p.capacity.size(), 0);
      for (std::size_t i = 0; i < rate.size(); ++i)
        for (std::uint32_t u = p.first[i]; u < p.first[i + 1]; ++u) load[uses[u].resource] += uses[u].share * rate[i];
      for (std::size_t r = 0; r < load.size(); ++r)
        EXPECT_LE(load[r], p.capacity[r] * (1 + 1e-9)) << describe_resource(f, static_cast<std::uint32_t>(r));
    }
  }
}

// Bundles are a short way to write a spray over all uplinks: hashing every flow very finely gives the same loads.
TEST(Conservation, BundlesAreTheLimitOfManyHashedFlows) {
  const Fabric f = build_fabric(machine("fat-tree", 32));
  const std::vector<Flow> flows = shift_flows(f.accelerators, {"all", f.accelerators, 1}, f.accelerators / 2, 64_MiB);
  const double spray = busiest_load(f, flows, {.routing = RoutingKind::spray}).time.value() *
                       builtin_catalog().fabric("infiniband").tier_efficiency;
  const double hashed = busiest_load(f, flows, {.routing = RoutingKind::ecmp, .flows_a_pair = 4096}).time.value();
  EXPECT_NEAR(hashed / spray, 1, 0.06);
  EXPECT_GT(busiest_load(f, flows, {.routing = RoutingKind::ecmp, .flows_a_pair = 1}).time.value(), 1.5 * spray);
}

// The place of a group, in closed form, and a ring of all groups of its axis, on the graph: same rate.
TEST(Places, FlatRingEqualsTheGraph) {
  for (const char* topology : {"fat-tree", "rail-optimised", "multi-plane"})
    for (const auto& over : {std::vector<double>{1, 1}, {1, 4}}) {
      const Cluster cluster = machine(topology, 64, over);
      const Fabric f = build_fabric(cluster);
      for (const Axis& axis : {Axis{"", 8, 1}, Axis{"", 8, 8}, Axis{"", 2, 8}, Axis{"", 2, 256}}) {
        const GroupPlace place = place_group(cluster, axis.size, axis.stride);
        double rate = 1e300;
        int block = 1;
        for (const Level& level : place.levels) {
          rate = std::min(rate, level.bandwidth.value() * block);
          block *= level.ranks;
        }
        const double graph = (64_MiB).value() / flow_time(f, ring_flows(f.accelerators, axis, 64_MiB)).value();
        EXPECT_NEAR(graph / rate, 1, 0.05) << topology << " size " << axis.size << " stride " << axis.stride;
      }
    }
}

}  // namespace
}  // namespace meshwright::tests
