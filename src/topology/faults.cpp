#include <algorithm>
#include <array>
#include <limits>

#include "meshwright/topology/analysis.hpp"
#include "meshwright/topology/flows.hpp"
#include "topology/clos.hpp"
#include "topology/graph.hpp"

namespace meshwright::topology {
namespace {

void fail_node(Fabric& f, std::uint32_t node) {
  for (FabricLink& link : f.links)
    if (link.from == node || link.to == node) link.capacity = 0;
}

void fail_cable(Fabric& f, std::uint32_t link) {
  f.links[link].capacity = 0;
  f.links[link ^ 1U].capacity = 0;
}

bool has_network(const Fabric& f) { return f.clos.leaves > 0; }

/// First node that fails, or nothing where the fabric has none of the kind.
int first_node(const Fabric& f, FaultKind fault) {
  const Clos& c = f.clos;
  switch (fault) {
    case FaultKind::nic:
      return has_network(f) && f.unit.nics > 0 ? static_cast<int>(f.nic_node(0, 0)) : -1;
    case FaultKind::leaf:
      return has_network(f) ? static_cast<int>(c.leaf_node) : -1;
    case FaultKind::spine:
      return c.spines() > 0 ? static_cast<int>(c.spine_node) : -1;
    case FaultKind::core:
      return c.cores() > 0 ? static_cast<int>(c.core_node) : -1;
    case FaultKind::nvswitch: {
      const auto at = std::find(f.unit.kinds.begin(), f.unit.kinds.end(), NodeKind::nvswitch);
      return at == f.unit.kinds.end() ? -1 : static_cast<int>(at - f.unit.kinds.begin());
    }
    default:
      return -1;
  }
}

bool present(const Fabric& f, FaultKind fault) {
  if (fault == FaultKind::nic_port) return has_network(f);
  if (fault == FaultKind::leaf_uplink) return f.clos.leaf_up > 0;
  if (fault == FaultKind::plane) return f.clos.fabrics > 1;
  // Folded planes stand for several switches: one of them failing cannot be told on this graph.
  if (fault == FaultKind::nvswitch) return std::count(f.unit.kinds.begin(), f.unit.kinds.end(), NodeKind::nvswitch) > 1;
  return first_node(f, fault) >= 0;
}

std::string what_failed(const Fabric& f, FaultKind fault) {
  if (fault == FaultKind::nic_port) return describe_resource(f, f.clos.nic_link);
  if (fault == FaultKind::leaf_uplink) return describe_resource(f, f.clos.leaf_link);
  if (fault == FaultKind::plane) return "plane 0 of " + std::to_string(f.clos.fabrics);
  return describe_node(f, static_cast<std::uint32_t>(first_node(f, fault)));
}

/// Switch failures lie inside the unit, whose routes are tabulated: traffic keeps to the planes that are left.
double nvswitch_cost(const Fabric& f) {
  const auto planes = static_cast<double>(std::count(f.unit.kinds.begin(), f.unit.kinds.end(), NodeKind::nvswitch));
  return planes / (planes - 1);
}

int cut_off(const Fabric& f) {
  const int reached = reachable(f);
  return f.accelerators - reached;
}

}  // namespace

std::string_view name(FaultKind kind) {
  constexpr std::array<std::string_view, 9> names = {
      "NIC port or its cable", "NIC",   "leaf switch", "leaf uplink", "spine switch",
      "core switch",           "plane", "NVSwitch",    "torus link"};
  return names[static_cast<std::size_t>(kind)];
}

Fabric with_fault(const Fabric& fabric, FaultKind fault) {
  Fabric f = fabric;
  if (!present(f, fault)) return f;
  const Clos& c = f.clos;
  if (fault == FaultKind::nic_port)
    fail_cable(f, c.nic_link);
  else if (fault == FaultKind::leaf_uplink)
    fail_cable(f, c.leaf_link);
  else if (fault == FaultKind::plane) {
    for (int leaf = 0; leaf < c.leaves; ++leaf) fail_node(f, c.leaf_node + static_cast<std::uint32_t>(leaf));
  } else {
    fail_node(f, static_cast<std::uint32_t>(first_node(f, fault)));
  }
  refresh_bundles(f);
  return f;
}

std::vector<FaultCost> fault_costs(const Fabric& fabric) {
  std::vector<FaultCost> costs;
  if (fabric.is_torus()) {
    costs.push_back({.fault = FaultKind::torus_link,
                     .what = describe_resource(fabric, 0),
                     .ring = fabric.torus.wraps[0] ? 2.0 : 1.0});
    if (!fabric.torus.wraps[0]) costs.back().cut_off = fabric.torus.edge.size() == 1 ? fabric.accelerators / 2 : 0;
    return costs;
  }
  const int ranks = fabric.accelerators, each = std::max(1, fabric.unit.accelerators / fabric.unit.hosts);
  const Axis nodes{"node", ranks / each, each};
  const std::vector<Flow> ring = ring_flows(ranks, nodes, Bytes::base(1e9));
  const std::vector<Flow> half = shift_flows(ranks, nodes, std::max(1, ranks / each / 2), Bytes::base(1e9));
  const Seconds healthy_ring = busiest_load(fabric, ring).time, healthy_half = busiest_load(fabric, half).time;
  for (int k = 0; k < 8; ++k) {
    const auto kind = static_cast<FaultKind>(k);
    if (!present(fabric, kind)) continue;
    FaultCost cost{.fault = kind, .what = what_failed(fabric, kind)};
    if (kind == FaultKind::nvswitch) {
      cost.ring = cost.half_shift = nvswitch_cost(fabric);
      cost.what += " (traffic inside the unit)";
    } else {
      const Fabric broken = with_fault(fabric, kind);
      cost.ring = ring.empty() ? 1 : std::max(1.0, busiest_load(broken, ring).time / healthy_ring);
      cost.half_shift = half.empty() ? 1 : std::max(1.0, busiest_load(broken, half).time / healthy_half);
      cost.cut_off = cut_off(broken);
    }
    costs.push_back(std::move(cost));
  }
  return costs;
}

int reachable(const Fabric& f) {
  const Adjacency out = adjacency(f.links, f.kinds.size());
  // From the accelerator that reaches most: the failed component may stand next to accelerator 0.
  int best = 0;
  for (const int rank : {0, f.accelerators / 2, f.accelerators - 1}) {
    const std::vector<int> hops = hops_from(f.links, out, f.node_of(rank));
    int count = 0;
    for (int other = 0; other < f.accelerators; ++other) count += hops[f.node_of(other)] >= 0 ? 1 : 0;
    best = std::max(best, count);
  }
  return best;
}

int diameter(const Fabric& f) {
  const Adjacency out = adjacency(f.links, f.kinds.size());
  std::vector<int> starts;
  if (f.kinds.size() <= 4096)
    for (int rank = 0; rank < f.accelerators; ++rank) starts.push_back(rank);
  else
    starts = {0, f.accelerators / 2, f.accelerators - 1};
  int most = 0;
  for (const int rank : starts) {
    const std::vector<int> hops = hops_from(f.links, out, f.node_of(rank));
    for (int other = 0; other < f.accelerators; ++other) most = std::max(most, hops[f.node_of(other)]);
  }
  return most;
}

}  // namespace meshwright::topology
