// What follows from a cluster's network before anyone lays it out as tiers or as a graph.
#include "meshwright/hardware/network.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "meshwright/core/error.hpp"
#include "meshwright/hardware/torus.hpp"

namespace meshwright::hardware {
namespace {

const CatalogData& catalog_of(const Cluster& cluster) {
  return cluster.catalog ? *cluster.catalog : *builtin_catalog().data();
}

/// Topologies whose copies take whole NICs: NIC i is in plane i.
bool takes_whole_nics(std::string_view topology) { return topology == "multi-plane" || topology == "rail-only"; }

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

std::vector<std::string> topologies_of(bool torus) {
  std::vector<std::string> some;
  for (const std::string& name : topologies())
    if (name.starts_with("torus") == torus) some.push_back(name);
  return some;
}

/// A slice that the topology states has every chip of the cluster, or of one pod where there are several.
void check_slice(const Cluster& cluster, const std::string& where) {
  const std::string& topology = cluster.network.topology;
  const auto slice = stated_slice(topology);
  const long long chips = std::min(cluster.accelerators(), std::max(1, cluster.node.scale_up_domain));
  if (!slice)
    throw Error(where + "/topology", fmt::format("found '{}', expected edges such as '{} 4x4{}'", topology,
                                                 torus_kind(topology), topology.starts_with("torus-3d") ? "x8" : ""));
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
  if (!torus && topology.starts_with("torus")) {
    throw Error(
        where + "/topology",
        fmt::format("found '{}', but {} in {} reach other nodes through NICs and switches; expected one of {}",
                    topology, cluster.accelerator.name, cluster.node.name, fmt::join(topologies_of(false), ", ")));
  }
}

void check_planes(const Cluster& cluster, const std::string& where) {
  const Network& n = cluster.network;
  if (n.topology == "dual-plane" && n.planes == 1)
    throw Error(where + "/planes", "found 1, but 'dual-plane' has 2; expected 2 or more, or another topology");
  if (n.planes <= 1) return;
  const bool whole = takes_whole_nics(n.topology);
  if (is_torus_network(cluster))
    throw Error(where + "/planes", fmt::format("found {}, but a torus has one; expected 1", n.planes));
  if (n.topology == "rail-only" && n.planes != cluster.node.nics)
    throw Error(where + "/planes", fmt::format("found {}, but 'rail-only' has one a NIC; expected {}", n.planes,
                                               std::max(1, cluster.node.nics)));
  if (whole && cluster.node.nics > 0 && n.planes > cluster.node.nics)
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
    if (n.topology == "single-switch" || t > 1 || (n.tiers > 0 && t + 2 > static_cast<std::size_t>(n.tiers)))
      throw Error(at,
                  fmt::format("found {:g}:1, but {} {} no uplinks at tier {} (0 is the leaf); expected fewer entries "
                              "or more 'tiers'",
                              ratio, n.tiers > 0 ? fmt::format("{} tiers", n.tiers) : "'" + n.topology + "'",
                              n.tiers > 1 ? "have" : "has", t));
  }
}

}  // namespace

const std::vector<std::string>& topologies() {
  static const std::vector<std::string> names = {"single-switch", "fat-tree",    "rail-optimised", "rail-only",
                                                 "dual-plane",    "multi-plane", "dragonfly+",     "dragonfly",
                                                 "torus-2d",      "torus-3d"};
  return names;
}

namespace {

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

}  // namespace

const std::vector<std::string>& topology_aliases() {
  static const std::vector<std::string> texts = [] {
    std::vector<std::string> out;
    for (const TopologyAlias& alias : aliases) out.emplace_back(alias.text);
    return out;
  }();
  return texts;
}

std::string topology_named(std::string_view text) {
  const auto alias = std::ranges::find(aliases, text, &TopologyAlias::text);
  return std::string(alias == std::end(aliases) ? text : alias->name);
}

bool is_torus(ScaleUpKind kind) { return kind == ScaleUpKind::torus_2d || kind == ScaleUpKind::torus_3d; }

std::string torus_of(ScaleUpKind kind) {
  if (!is_torus(kind)) return "";
  return kind == ScaleUpKind::torus_2d ? "torus-2d" : "torus-3d";
}

bool is_torus_network(const Cluster& cluster) { return cluster.node.nics == 0 && is_torus(cluster.node.scale_up); }

int planes_of(const Cluster& cluster) {
  const Network& n = cluster.network;
  const int nics = std::max(1, cluster.node.nics);
  if (n.topology == "rail-only") return nics;
  if (n.topology == "multi-plane") return n.planes > 0 ? std::min(n.planes, nics) : nics;
  if (n.topology == "dual-plane") return std::max(2, n.planes);
  return std::max(1, n.planes);
}

int ports_a_nic(const Cluster& cluster) { return takes_whole_nics(cluster.network.topology) ? 1 : planes_of(cluster); }

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

BytesPerSecond slot_bandwidth(const Cluster& cluster, int lanes) { return slot_of(cluster).lane_bandwidth * lanes; }

Limited nic_rate(const Cluster& cluster) {
  const BytesPerSecond line = cluster.node.nic_bandwidth;
  if (!has_slot(cluster)) return {line, ""};
  const Limited slot = nic_slot(cluster);
  return slot.rate < line ? slot : Limited{line, ""};
}

Limited without_nics(const Cluster& cluster) {
  constexpr double host_ethernet = 12.5e9;  // 100 Gb/s
  const double stated = cluster.network.dcn_bandwidth, dcn = stated > 0 ? stated : cluster.node.dcn_bandwidth.value();
  const double rate = dcn > 0 ? dcn : host_ethernet;
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
  const Switch usual = catalog.usual_switch(cluster.fabric, nic), split = split_to(usual, port);
  if (ports_a_nic(cluster) > 1 && split.port_bandwidth > port * 1.001)
    return catalog.usual_switch(cluster.fabric, port);
  return split;
}

}  // namespace meshwright::hardware
