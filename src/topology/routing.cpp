#include "meshwright/topology/routing.hpp"

#include <algorithm>
#include <array>

#include "meshwright/core/error.hpp"
#include "topology/clos.hpp"
#include "topology/torus.hpp"

namespace meshwright::topology {
namespace {

/// SplitMix64 (Steele, Lea, Flood 2014): a hash good enough to stand for a switch's.
std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

/// What stays the same along one flow.
struct Walk {
  const Fabric& fabric;
  const RouteOptions& options;
  Route& out;
  std::uint64_t flow;  ///< identity for hashing

  void use(std::uint32_t resource, double share) const { out.push_back({resource, share}); }
  void inside(const Route& route, std::size_t unit, double share) const {
    const auto base = static_cast<std::uint32_t>(unit * fabric.unit.links.size());
    for (const FlowShare& step : route) use(base + step.resource, step.share * share);
  }
};

std::uint32_t nic_link(const Fabric& f, int host, int nic, int port) {
  const Clos& c = f.clos;
  const int nics = f.unit.nics / f.unit.hosts;
  return c.nic_link + 2 * static_cast<std::uint32_t>((host * nics + nic) * ports(c) + port);
}

/// Up from one leaf and down to another through single links, as a hash or the destination chooses.
void append_single_path(const Walk& w, std::uint32_t from, std::uint32_t to, std::uint32_t target, double share) {
  const Clos& c = w.fabric.clos;
  const auto up_ports = static_cast<std::uint32_t>(c.leaf_up), spines = static_cast<std::uint32_t>(c.spines_per_pod);
  const bool hashed = w.options.routing == RoutingKind::ecmp;
  const int ways = hashed ? std::max(1, w.options.flows_a_pair) : 1;
  const auto pod = [&](std::uint32_t leaf) {
    return leaf % static_cast<std::uint32_t>(c.leaves) / static_cast<std::uint32_t>(c.leaves_per_pod);
  };
  const std::uint32_t copy = from / static_cast<std::uint32_t>(c.leaves);
  for (int q = 0; q < ways; ++q) {
    const double part = share / ways;
    std::uint64_t h = hashed ? mix(w.options.seed ^ mix(w.flow * 64 + static_cast<std::uint64_t>(q))) : target;
    const auto draw = [&](std::uint32_t choices) {
      const auto drawn = static_cast<std::uint32_t>(h % choices);
      h = hashed ? mix(h) : h / choices;
      return drawn;
    };
    const std::uint32_t up = draw(up_ports), spine = up % spines;
    w.use(c.leaf_link + 2 * (from * up_ports + up), part);
    if (pod(from) != pod(to)) {
      const auto spine_up = static_cast<std::uint32_t>(c.spine_up),
                 cores = static_cast<std::uint32_t>(c.cores_per_group);
      const auto at = [&](std::uint32_t p) { return (copy * static_cast<std::uint32_t>(c.pods) + p) * spines + spine; };
      const std::uint32_t to_core = draw(spine_up), core = to_core % cores;
      w.use(c.spine_link + 2 * (at(pod(from)) * spine_up + to_core), part);
      w.use(c.spine_link + 2 * (at(pod(to)) * spine_up + core + cores * draw(spine_up / cores)) + 1, part);
    }
    w.use(c.leaf_link + 2 * (to * up_ports + spine + spines * draw(up_ports / spines)) + 1, part);
  }
}

void append_groups(const Walk& w, std::uint32_t copy, std::uint32_t from, std::uint32_t to, double share) {
  const Clos& c = w.fabric.clos;
  const auto pods = static_cast<std::uint32_t>(c.pods);
  if (!c.direct_groups || !w.options.minimal) {
    // Valiant: as much again passes through each group on its way elsewhere.
    const double passes = c.direct_groups ? 2 : 1;
    w.use(c.pod_bundle + 2 * (copy * pods + from), passes * share);
    w.use(c.pod_bundle + 2 * (copy * pods + to) + 1, passes * share);
    return;
  }
  const std::uint32_t low = std::min(from, to), high = std::max(from, to);
  const std::uint32_t pair = low * (2 * pods - low - 1) / 2 + (high - low - 1);
  w.use(c.pair_bundle + 2 * (copy * pods * (pods - 1) / 2 + pair) + (from < to ? 0 : 1), share);
}

/// Between two NIC ports of one fabric copy.
void append_network(const Walk& w, int host_a, int nic_a, int host_b, int nic_b, int port, double share) {
  const Clos& c = w.fabric.clos;
  const LeafPort a = leaf_of(c, host_a, nic_a, port), b = leaf_of(c, host_b, nic_b, port);
  w.use(nic_link(w.fabric, host_a, nic_a, port), share);
  w.use(nic_link(w.fabric, host_b, nic_b, port) + 1, share);
  if (a.leaf == b.leaf) return;
  const bool even = w.options.routing == RoutingKind::adaptive || w.options.routing == RoutingKind::spray;
  if (!even && !c.direct_groups) return append_single_path(w, a.leaf, b.leaf, b.index, share);
  w.use(c.leaf_bundle + 2 * a.leaf, share);
  w.use(c.leaf_bundle + 2 * b.leaf + 1, share);
  const auto leaves = static_cast<std::uint32_t>(c.leaves), a_pod = static_cast<std::uint32_t>(c.leaves_per_pod);
  const std::uint32_t pod_a = a.leaf % leaves / a_pod, pod_b = b.leaf % leaves / a_pod;
  if (pod_a != pod_b) append_groups(w, a.leaf / leaves, pod_a, pod_b, share);
}

bool alive(const Fabric& f, int host_a, int nic_a, int host_b, int nic_b, int port) {
  const Clos& c = f.clos;
  if (f.links[nic_link(f, host_a, nic_a, port)].capacity <= 0 ||
      f.links[nic_link(f, host_b, nic_b, port) + 1].capacity <= 0)
    return false;
  const std::uint32_t a = leaf_of(c, host_a, nic_a, port).leaf, b = leaf_of(c, host_b, nic_b, port).leaf;
  return a == b || c.leaf_up == 0 ||
         (f.capacity(c.leaf_bundle + 2 * a) > 0 && f.capacity(c.leaf_bundle + 2 * b + 1) > 0);
}

/// A NIC of either end, and the port that joins them.
struct Pairing {
  int nic_a, nic_b, port;  // NICs counted in the host
};

/// Fills `pairs` with the live ways between two accelerators' own NICs; with all NICs of both hosts where none lives.
void pair_nics(const Fabric& f, int host_a, int host_b, std::span<const int> near_a, std::span<const int> near_b,
               const RouteOptions& options, std::vector<Pairing>& pairs) {
  const Clos& c = f.clos;
  const int a_host = f.unit.nics / f.unit.hosts;
  const auto add = [&](int nic_a, int nic_b) {
    for (int port = 0; port < ports(c); ++port)
      if (alive(f, host_a, nic_a, host_b, nic_b, port)) pairs.push_back({nic_a, nic_b, port});
  };
  const bool change = c.rails && f.unit.switched && (options.relay || !c.joins_rails);
  for (std::size_t i = 0; i < std::max(near_a.size(), near_b.size()); ++i) {
    const int nic_b = near_b[i % near_b.size()] % a_host;
    const int nic_a = change || !c.joins_rails ? nic_b : near_a[i % near_a.size()] % a_host;
    add(nic_a, nic_b);
  }
  if (!pairs.empty()) return;
  for (int nic = 0; nic < a_host; ++nic) add(nic, nic);
}

void append_between_units(const Walk& w, int source, int target) {
  const Fabric& f = w.fabric;
  const Unit& unit = f.unit;
  const int n = unit.accelerators, a_host = unit.nics / std::max(1, unit.hosts);
  if (a_host == 0) return;
  const int local_a = source % n, local_b = target % n, host_a = f.host_of(source), host_b = f.host_of(target);
  thread_local std::vector<Pairing> pairs;
  pairs.clear();
  pair_nics(f, host_a, host_b, unit.nics_of[static_cast<std::size_t>(local_a)],
            unit.nics_of[static_cast<std::size_t>(local_b)], w.options, pairs);
  if (pairs.empty()) {  // no way left: a dead link stands for it
    const int nic = unit.nics_of[static_cast<std::size_t>(local_a)].front() % a_host;
    pairs.push_back({nic, nic, 0});
  }
  const double share = 1.0 / static_cast<double>(pairs.size());
  for (const Pairing& pair : pairs) {
    const int unit_nic_a = host_a % unit.hosts * a_host + pair.nic_a,
              unit_nic_b = host_b % unit.hosts * a_host + pair.nic_b;
    w.inside(unit.to_nic[static_cast<std::size_t>(local_a) * unit.nics + unit_nic_a],
             static_cast<std::size_t>(source / n), share);
    append_network(w, host_a, pair.nic_a, host_b, pair.nic_b, pair.port, share);
    w.inside(unit.from_nic[static_cast<std::size_t>(unit_nic_b) * n + local_b], static_cast<std::size_t>(target / n),
             share);
  }
}

}  // namespace

RouteOptions routes_of(const Cluster& cluster) {
  return {.routing = routing_kind(cluster.network.routing, "network/routing"),
          .flows_a_pair = cluster.fabric.hashed_flows};
}

void append_route(const Fabric& fabric, int source, int target, const RouteOptions& options, Route& out) {
  if (source == target) return;
  if (fabric.is_torus()) return append_torus_route(fabric, source, target, out);
  const int n = fabric.unit.accelerators;
  const Walk walk{fabric, options, out,
                  static_cast<std::uint64_t>(source) * static_cast<std::uint64_t>(fabric.accelerators) +
                      static_cast<std::uint64_t>(target)};
  if (source / n == target / n) {
    walk.inside(fabric.unit.to_accelerator[static_cast<std::size_t>(source % n) * n + target % n],
                static_cast<std::size_t>(source / n), 1);
  } else {
    append_between_units(walk, source, target);
  }
}

double expected_ecmp_efficiency(int uplinks, int queue_pairs, int trials, std::uint64_t seed) {
  if (uplinks <= 1) return 1;
  double sum = 0;
  std::vector<int> load(static_cast<std::size_t>(uplinks));
  for (int t = 0; t < trials; ++t) {
    std::fill(load.begin(), load.end(), 0);
    for (int flow = 0; flow < uplinks * queue_pairs; ++flow)
      ++load[mix(seed ^ mix(static_cast<std::uint64_t>(t) * 1000003ULL + static_cast<std::uint64_t>(flow))) %
             load.size()];
    sum += static_cast<double>(queue_pairs) / *std::max_element(load.begin(), load.end());
  }
  return sum / trials;
}

}  // namespace meshwright::topology
