// Laws (f) and (g), conservation of capacity, and agreement of the closed form of a group's place with the graph.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "meshwright/collectives/estimate.hpp"
#include "meshwright/collectives/flow.hpp"
#include "meshwright/cost/fair_share.hpp"
#include "meshwright/hardware/network.hpp"
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

/// Seconds of collectives over the whole cluster, over its nodes and over half of them.
std::vector<double> collective_times(const Cluster& c) {
  std::vector<double> seconds;
  const int all = c.accelerators(), a = c.node.accelerators;
  for (const auto& [size, stride] : {std::pair(all, 1), {all / a, a}, {all / 2, 1}, {std::max(1, all / a / 2), a}}) {
    const GroupPlace place = place_group(c, size, stride);
    for (const Collective kind : {Collective::all_reduce, Collective::all_gather, Collective::all_to_all})
      for (const Bytes bytes : {1_MiB, 1_GiB})
        seconds.push_back(estimate(kind, bytes, place, platform_of(c)).time.value());
  }
  return seconds;
}

void expect_none_slower(const Cluster& more, const Cluster& less, const std::string& what) {
  const std::vector<double> a = collective_times(more), b = collective_times(less);
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_LE(a[i], b[i] * (1 + 1e-9)) << what << ", collective " << i;
}

// More of any network resource is never slower, whatever routes the traffic and whatever the sizes divide into.
TEST(LawF, MoreOfTheNetworkIsNeverSlowerForACollective) {
  const Catalog& catalog = builtin_catalog();
  for (const std::string topology : {"fat-tree", "rail-optimised", "multi-plane", "dragonfly+"})
    for (const std::string routing : {"ecmp", "static", "adaptive"})
      for (const int nodes : {4, 24, 50, 100, 128, 384}) {
        const auto make = [&](double ratio) {
          return complete({.node = {.name = "dgx-h100", .fabric = "roce"},
                           .nodes = nodes,
                           .network = {.topology = topology, .routing = routing, .oversubscription = {{ratio}}}},
                          catalog);
        };
        const std::string what = topology + " " + routing + " " + std::to_string(nodes);
        Cluster less = make(8);
        for (const double ratio : {4.0, 3.0, 2.0, 1.1, 1.0}) {
          const Cluster more = make(ratio);
          expect_none_slower(more, less, what + " " + std::to_string(ratio));
          less = more;
        }
        // Faster ports are fewer: the same wiring, twice as fast.
        const auto nics = [&](double times) {
          return with(less, [&](ClusterSpec& s) {
            s.node.nic_bandwidth = less.node.nic_bandwidth * times;
            s.network.reach = {256, 2048}, s.network.tiers = 3;
          });
        };
        expect_none_slower(nics(1), nics(0.5), what + " NICs");
        expect_none_slower(nics(2), nics(1), what + " NICs behind their slots");
        expect_none_slower(with(less, [&](ClusterSpec& s) { s.network.routing = "spray"; }), less, what + " spray");
      }
}

// More flows hashed on fewer uplinks: the fullest carries more; as played with hashes.
TEST(Ecmp, FullestUplinkGrowsWithFlowsAndFallsWithUplinks) {
  for (const double flows : {1.0, 8.0, 64.0, 512.0, 2048.0}) {
    double last = 1e300;
    for (double uplinks = 1; uplinks <= 128; uplinks += 1) {
      const double load = fullest_uplink(flows, uplinks);
      EXPECT_LE(load, last * (1 + 1e-9)) << flows << " on " << uplinks;
      EXPECT_GE(load, flows / uplinks * (1 - 1e-12));
      EXPECT_LE(load, fullest_uplink(flows * 1.5, uplinks));
      last = load;
    }
  }
  for (const int uplinks : {8, 32, 64})
    for (const int flows : {1, 4, 16})
      EXPECT_NEAR(flows / fullest_uplink(uplinks * flows, uplinks) / expected_ecmp_efficiency(uplinks, flows), 1, 0.06)
          << flows << " a NIC on " << uplinks;
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
