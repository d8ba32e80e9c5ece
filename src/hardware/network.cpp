// What follows from a cluster's network before anyone lays it out as tiers or as a graph.
#include "meshwright/hardware/network.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "meshwright/core/error.hpp"
#include "meshwright/hardware/torus.hpp"

namespace meshwright::hardware {
namespace {

const CatalogData& catalog_of(const Cluster& cluster) {
  return cluster.catalog ? *cluster.catalog : *builtin_catalog().data();
}

constexpr std::array kinds = {
    TopologyKind{.name = "single-switch", .one_switch = true},
    TopologyKind{.name = "fat-tree"},
    TopologyKind{.name = "rail-optimised", .rails = true},
    TopologyKind{.name = "rail-only", .rails = true, .joined = false, .whole_nics = true, .free_planes = false},
    TopologyKind{.name = "dual-plane", .rails = true, .planes = 2},
    TopologyKind{.name = "multi-plane", .rails = true, .joined = false, .whole_nics = true},
    TopologyKind{.name = "dragonfly+", .direct_groups = true},
    TopologyKind{.name = "dragonfly", .direct_groups = true},
    TopologyKind{.name = "torus-2d", .free_planes = false, .wiring = ScaleUpKind::torus_2d, .dimensions = 2},
    TopologyKind{.name = "torus-3d", .free_planes = false, .wiring = ScaleUpKind::torus_3d, .dimensions = 3}};

struct TopologyAlias {
  std::string_view text, name;
};
constexpr TopologyAlias aliases[] = {{"leaf-spine", "fat-tree"},
                                     {"spine-leaf", "fat-tree"},
                                     {"clos", "fat-tree"},
                                     {"folded-clos", "fat-tree"},
                                     {"rail-optimized", "rail-optimised"},
                                     {"dragonfly-plus", "dragonfly+"},
                                     {"2d-torus", "torus-2d"},
                                     {"3d-torus", "torus-3d"}};

/// What rows are called by `text`, as options and messages list it.
template <class Rows, class Row>
std::vector<std::string> texts_of(const Rows& rows, std::string_view Row::*text) {
  std::vector<std::string> all;
  std::ranges::transform(rows, std::back_inserter(all), [text](const Row& row) { return std::string(row.*text); });
  return all;
}

/// The torus that accelerators of a wiring form; null for others.
const TopologyKind* torus_row(ScaleUpKind wiring) {
  const auto found = std::ranges::find_if(
      kinds, [&](const TopologyKind& kind) { return kind.dimensions > 0 && kind.wiring == wiring; });
  return found == kinds.end() ? nullptr : found;
}

const TopologyKind& kind_of(const Cluster& cluster) { return topology_kind(cluster.network.topology); }

/// The slot of a cluster's nodes.
const Link& slot_of(const Cluster& cluster) {
  if (!cluster.pcie_link.name.empty()) return cluster.pcie_link;
  const CatalogData& catalog = catalog_of(cluster);
  return cluster.node.pcie.empty() ? catalog.usual_link("pcie", "node") : catalog.link(cluster.node.pcie, "node/pcie");
}

/// A catalogued NIC without an interface of its own sits on the accelerator (Gaudi) or is not described.
bool has_slot(const Cluster& cluster) { return cluster.nic.name.empty() || !cluster.nic.pcie.empty(); }

/// The slower of a node's slot and a NIC's interface.
Limited nic_slot(const Cluster& cluster) {
  const Link& slot = slot_of(cluster);
  const int lanes = cluster.nic.name.empty() ? 16 : cluster.nic.pcie_lanes;
  const Link& own = cluster.nic.name.empty() ? slot : catalog_of(cluster).link(cluster.nic.pcie, "nic/pcie");
  const Link& slower = own.lane_bandwidth < slot.lane_bandwidth ? own : slot;
  return {slower.lane_bandwidth * lanes, fmt::format("{} x{}", slower.name, lanes)};
}

std::vector<std::string_view> of_switches() {
  std::vector<std::string_view> some;
  for (const TopologyKind& kind : kinds)
    if (kind.dimensions == 0) some.push_back(kind.name);
  return some;
}

/// A slice that the topology states has every chip of the cluster, or of one pod where there are several.
void check_slice(const Cluster& cluster, const std::string& where) {
  const std::string& topology = cluster.network.topology;
  const auto slice = stated_slice(topology);
  const long long chips = std::min(cluster.accelerators(), std::max(1, cluster.node.scale_up_domain));
  if (!slice)
    throw Error(where + "/topology", fmt::format("found '{}', expected edges such as '{} 4x4{}'", topology,
                                                 torus_kind(topology), kind_of(cluster).dimensions == 3 ? "x8" : ""));
  if (slice->chips() != chips)
    throw Error(where + "/topology",
                fmt::format("found '{}', which is {} chips, expected one of {}", topology, slice->chips(), chips));
  const std::vector<int>& e = slice->edge;
  const int least = *std::ranges::min_element(e), most = *std::ranges::max_element(e);
  const bool can = e.size() == 3 && most == 2 * least && least % 4 == 0 &&
                   std::ranges::all_of(e, [&](int edge) { return edge == least || edge == most; });
  if (slice->twisted && !can)
    throw Error(
        where + "/topology",
        fmt::format("found '{}', expected a twist only of k x k x 2k or k x 2k x 2k, k a multiple of 4", topology));
}

void check_kind(const Cluster& cluster, const std::string& where) {
  const std::string topology(torus_kind(cluster.network.topology));
  const auto& known = topologies();
  if (std::find(known.begin(), known.end(), topology) == known.end())
    throw Error(where + "/topology", fmt::format("unknown topology '{}'{}", topology, suggestion(topology, known)));
  const bool torus = is_torus_network(cluster);
  if (!cluster.fabric.switched && !torus && cluster.nodes > 1) {
    throw Error(where + "/fabric", fmt::format("'{}' joins accelerators that are wired as a torus, and {} are not; "
                                               "expected a fabric of NICs (infiniband, roce, ethernet, ...)",
                                               cluster.fabric.name, cluster.accelerator.name));
  }
  if (torus && topology != torus_of(cluster.node.scale_up)) {
    throw Error(where + "/topology",
                fmt::format("found '{}', but {} are wired to each other and have no NICs; expected '{}'", topology,
                            cluster.accelerator.name, torus_of(cluster.node.scale_up)));
  }
  if (topology != cluster.network.topology) check_slice(cluster, where);
  if (!torus && kind_of(cluster).dimensions > 0) {
    throw Error(where + "/topology",
                fmt::format("found '{}', but {} in {} reach other nodes through NICs and switches; expected one of {}",
                            topology, cluster.accelerator.name, cluster.node.name, fmt::join(of_switches(), ", ")));
  }
}

void check_planes(const Cluster& cluster, const std::string& where) {
  const Network& n = cluster.network;
  const TopologyKind& kind = kind_of(cluster);
  if (n.planes > 0 && n.planes < kind.planes)
    throw Error(where + "/planes", fmt::format("found {}, but '{}' has {}; expected {} or more, or another topology",
                                               n.planes, kind.name, kind.planes, kind.planes));
  if (n.planes <= 1) return;
  if (is_torus_network(cluster))
    throw Error(where + "/planes", fmt::format("found {}, but a torus has one; expected 1", n.planes));
  if (!kind.free_planes && n.planes != cluster.node.nics)
    throw Error(where + "/planes", fmt::format("found {}, but '{}' has one a NIC; expected {}", n.planes, kind.name,
                                               std::max(1, cluster.node.nics)));
  if (kind.whole_nics && cluster.node.nics > 0 && n.planes > cluster.node.nics)
    throw Error(
        where + "/planes",
        fmt::format("found {} planes of whole NICs, and a node has {}; expected at most {}, or 'rail-optimised' "
                    "or 'fat-tree', where each NIC has a port in every plane",
                    n.planes, cluster.node.nics, cluster.node.nics));
}

void check_oversubscription(const Cluster& cluster, const std::string& where) {
  const Network& n = cluster.network;
  for (std::size_t t = 0; t < n.oversubscription.size(); ++t) {
    const double ratio = n.oversubscription[t];
    if (ratio <= 1) continue;
    const std::string at = fmt::format("{}/oversubscription/{}", where, t);
    if (is_torus_network(cluster)) throw Error(at, fmt::format("found {}, but a torus has no uplinks", ratio));
    if (kind_of(cluster).one_switch || t > 1 || (n.tiers > 0 && t + 2 > static_cast<std::size_t>(n.tiers)))
      throw Error(at,
                  fmt::format("found {:g}:1, but {} {} no uplinks at tier {} (0 is the leaf); expected fewer entries "
                              "or more 'tiers'",
                              ratio, n.tiers > 0 ? fmt::format("{} tiers", n.tiers) : "'" + n.topology + "'",
                              n.tiers > 1 ? "have" : "has", t));
  }
}

}  // namespace

const std::vector<std::string>& routings() {
  static const std::vector<std::string> names = {"adaptive", "ecmp", "static", "spray"};
  return names;
}

RoutingKind routing_kind(std::string_view name, const std::string& where) {
  const auto at = std::ranges::find(routings(), name);
  if (at == routings().end())
    throw Error(where, "unknown routing '" + std::string(name) + "'" + suggestion(name, routings()));
  return static_cast<RoutingKind>(at - routings().begin());
}

const std::vector<std::string>& topologies() {
  static const std::vector<std::string> names = texts_of(kinds, &TopologyKind::name);
  return names;
}

const TopologyKind& topology_kind(std::string_view topology) {
  const auto found = std::ranges::find(kinds, torus_kind(topology), &TopologyKind::name);
  if (found == kinds.end())
    throw Error("network/topology",
                fmt::format("unknown topology '{}'{}", topology, suggestion(topology, topologies())));
  return *found;
}

const std::vector<std::string>& topology_aliases() {
  static const std::vector<std::string> texts = texts_of(aliases, &TopologyAlias::text);
  return texts;
}

std::string topology_named(std::string_view text) {
  const auto alias = std::ranges::find(aliases, text, &TopologyAlias::text);
  return std::string(alias == std::end(aliases) ? text : alias->name);
}

std::string torus_of(ScaleUpKind wiring) {
  const TopologyKind* torus = torus_row(wiring);
  return torus == nullptr ? "" : std::string(torus->name);
}

bool is_torus(ScaleUpKind wiring) { return torus_row(wiring) != nullptr; }

bool is_torus_network(const Cluster& cluster) { return cluster.node.nics == 0 && is_torus(cluster.node.scale_up); }

int planes_of(const Cluster& cluster) {
  const Network& n = cluster.network;
  const TopologyKind& kind = kind_of(cluster);
  const int nics = std::max(1, cluster.node.nics);
  if (!kind.whole_nics) return std::max(kind.planes, n.planes);
  return kind.free_planes && n.planes > 0 ? std::min(n.planes, nics) : nics;
}

int ports_a_nic(const Cluster& cluster) { return kind_of(cluster).whole_nics ? 1 : planes_of(cluster); }

void check_network(const Cluster& cluster, const std::string& where) {
  check_kind(cluster, where);
  check_planes(cluster, where);
  check_oversubscription(cluster, where);
}

BytesPerSecond pcie_bandwidth(const CatalogData& catalog, double giga_transfers, int lanes) {
  const auto link = std::ranges::find_if(catalog.links, [&](const Link& l) {
    return l.giga_transfers > 0 && std::abs(l.giga_transfers - giga_transfers) < 0.01 * l.giga_transfers;
  });
  return link == catalog.links.end() ? BytesPerSecond{} : link->lane_bandwidth * lanes;
}

Seconds slot_latency(const Cluster& cluster) { return slot_of(cluster).latency; }

Seconds scale_up_latency(const Cluster& cluster) {
  const std::string& name = cluster.accelerator.scale_up_link;
  const Seconds own = cluster.scale_up_link.latency;
  if (own.value() > 0) return own;
  const Seconds listed = name.empty() ? Seconds{} : catalog_of(cluster).link(name, "accelerator/scale_up_link").latency;
  return listed.value() > 0 ? listed : slot_latency(cluster);
}

BytesPerSecond slot_bandwidth(const Cluster& cluster, int lanes) { return slot_of(cluster).lane_bandwidth * lanes; }

BytesPerSecond host_line_rate(const Cluster& cluster) {
  const HostKind& host = cluster.host;
  const bool on_board = host.link > BytesPerSecond{} && cluster.accelerator.vendor == host.vendor;
  return on_board ? host.link : slot_bandwidth(cluster, cluster.accelerator.pcie_lanes);
}

Limited nic_rate(const Cluster& cluster) {
  const BytesPerSecond line = cluster.node.nic_bandwidth;
  if (!has_slot(cluster)) return {line, ""};
  const Limited slot = nic_slot(cluster);
  return slot.rate < line ? slot : Limited{line, ""};
}

Limited without_nics(const Cluster& cluster) {
  const double stated = cluster.network.dcn_bandwidth, dcn = stated > 0 ? stated : cluster.node.dcn_bandwidth.value();
  const double rate = dcn > 0 ? dcn : host_ethernet().value();
  return {BytesPerSecond::base(rate),
          fmt::format("{:.4g} Gb/s of {}", rate * 8e-9, dcn > 0 ? "the data-centre network" : "host Ethernet")};
}

Limited rank_rate(const Cluster& cluster) {
  const Node& node = cluster.node;
  const int ranks = std::max(1, node.accelerators);
  if (node.nics <= 0 || node.nic_bandwidth.value() <= 0) {
    return {without_nics(cluster).rate / ranks, ""};
  }
  const Limited nic = nic_rate(cluster);
  Limited rank{nic.rate * (static_cast<double>(node.nics) / ranks), nic.limit};
  const auto at_most = [&](BytesPerSecond rate, const std::string& what) {
    if (rate.value() > 0 && rate < rank.rate) rank = {rate, what};
  };
  const int lanes = std::max(1, cluster.accelerator.pcie_lanes);
  if (has_slot(cluster)) at_most(slot_bandwidth(cluster, lanes), fmt::format("{} x{}", slot_of(cluster).name, lanes));
  at_most(cluster.fabric.per_rank, cluster.fabric.name + " over the kernel, one core");
  return rank;
}

Switch network_switch(const Cluster& cluster, const CatalogData& catalog) {
  const BytesPerSecond nic = cluster.node.nic_bandwidth, port = nic / ports_a_nic(cluster);
  if (!cluster.network.switch_name.empty())
    return split_to(catalog.switch_named(cluster.network.switch_name, "network/switch"), port);
  // Planes split the ports of the switch that one would take anyway; one whose ports don't split gives way.
  Switch split = split_to(catalog.usual_switch(cluster.fabric, nic), port);
  if (ports_a_nic(cluster) > 1 && split.port_bandwidth > port * 1.001)
    return catalog.usual_switch(cluster.fabric, port);
  return split;
}

}  // namespace meshwright::hardware
