#include "meshwright/topology/place.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "meshwright/hardware/network.hpp"
#include "meshwright/hardware/torus.hpp"
#include "meshwright/topology/tiers.hpp"
#include "topology/unit.hpp"

namespace meshwright::topology {
namespace {

using namespace literals;

/// One nested unit of the machine, innermost first; a group has a level in each unit that holds several of its blocks.
struct Enclosure {
  LevelKind kind = LevelKind::scale_up;
  long long reach = 1;      // accelerators in one such unit
  bool strict = true;       // blocks must never straddle two units (a straddling block would leave NVLink)
  long long count = 0;      // such units that the job may take; 0 = as many as it likes
  Level level;              // ranks to be filled in
  BytesPerSecond shared{};  // what leaves a unit below this one, whoever of it sends; zero = each rank has a way out
  bool torus = false;
  int edge = 1;  // torus: length of this dimension
  bool wraps = false;
};

/// Share of an accelerator's scale-up links that a group of `members`, `step` apart, can use.
double usable_links(const Node& node, int members, long long step) {
  const int domain = std::max(1, node.scale_up_domain);
  if (node.scale_up == ScaleUpKind::full_mesh && domain > 1) {
    // One link to each peer: a smaller group leaves the others idle.
    return std::min(1.0, static_cast<double>(members - 1) / (domain - 1));
  }
  if (node.scale_up == ScaleUpKind::cube_mesh && domain == 8) {
    // DGX-1V: six links; neighbours 0-1 share one, diagonal quads (0-4) two, a quad uses four of them.
    if (members >= 8) return 1;
    if (members == 4) return step == 1 ? 4.0 / 6 : 2.0 / 6;
    return step == 4 ? 2.0 / 6 : 1.0 / 6;
  }
  return 1;
}

void add_torus(const Cluster& cluster, std::vector<Enclosure>& units) {
  const Node& node = cluster.node;
  const int dimensions = node.scale_up == ScaleUpKind::torus_3d ? 3 : 2;
  const int chips = std::min(cluster.accelerators(), std::max(1, node.scale_up_domain));
  const auto stated = hardware::stated_slice(cluster.network.topology);
  const std::vector<int> shape = stated && stated->chips() == chips ? stated->edge : torus_shape(chips, dimensions);
  const BytesPerSecond link = node.scale_up_bandwidth / (2.0 * dimensions);
  const Seconds hop = scale_up_latency(cluster);
  const std::vector<bool> closed = hardware::closed_edges(shape, cluster.pod_edge);
  long long reach = 1;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    reach *= shape[d];
    units.push_back(
        {.reach = reach,
         .level = {.latency = hop,
                   .bandwidth = link,
                   .link = fmt::format(
                       "{} {} ring of {}",
                       cluster.accelerator.scale_up_link.empty() ? "torus" : cluster.accelerator.scale_up_link,
                       std::string(1, static_cast<char>('x' + d)), shape[d])},
         .torus = true,
         .edge = shape[d],
         .wraps = closed[d]});
  }
}

void add_pcie(const Cluster& cluster, std::vector<Enclosure>& units) {
  const Node& node = cluster.node;
  BytesPerSecond slot = node.scale_up == ScaleUpKind::pcie ? node.scale_up_bandwidth : BytesPerSecond{};
  if (slot.value() <= 0) slot = slot_bandwidth(cluster);
  const std::string name = node.pcie.empty() ? "pcie" : node.pcie;
  const bool staged = !cluster.accelerator.peer_to_peer;  // into the host's memory and out again: half of the slot
  const int sockets = node.sockets > 1 && node.accelerators % node.sockets == 0 ? node.sockets : 1;
  const Seconds through = 2 * slot_latency(cluster);  // up to the switch or bridge that joins the slots, and down
  if (staged) {                                       // all devices of a host share its memory, whatever their socket
    units.push_back(
        {.reach = node.accelerators,
         .count = cluster.nodes,
         .level = {.latency = through, .bandwidth = slot / 2, .host = true, .link = name + " through the host"}});
    return;
  }
  const int a_socket = node.accelerators / sockets;
  units.push_back({.reach = a_socket,
                   .count = static_cast<long long>(cluster.nodes) * sockets,
                   .level = {.latency = through, .bandwidth = slot, .host = true, .link = name}});
  if (sockets > 1)
    units.push_back({.reach = node.accelerators,
                     .count = cluster.nodes,
                     .level = {.latency = through + cluster.host.socket_latency,
                               .bandwidth = slot,
                               .host = true,
                               .link = "socket link"},
                     .shared = socket_link(cluster)});
}

/// Scale-up domains that a job may take: those of its nodes, or of the racks that its nodes may be spread over.
long long domains_of(const Cluster& cluster) {
  const Node& node = cluster.node;
  if (node.scale_up_domain > node.accelerators) return cluster.scale_up_domains;
  return static_cast<long long>(cluster.nodes) * (node.accelerators / std::max(1, node.scale_up_domain));
}

void add_scale_up(const Cluster& cluster, std::vector<Enclosure>& units) {
  const Node& node = cluster.node;
  const bool linked =
      node.scale_up != ScaleUpKind::none && node.scale_up != ScaleUpKind::pcie && node.scale_up_domain > 1;
  if (linked)
    units.push_back({.reach = node.scale_up_domain,
                     .count = domains_of(cluster),
                     .level = {.latency = (node.scale_up == ScaleUpKind::switched ? 2 : 1) * scale_up_latency(cluster),
                               .bandwidth = node.scale_up_bandwidth,
                               .reduces = node.scale_up_reduces,
                               .link = cluster.accelerator.scale_up_link.empty() ? "scale-up"
                                                                                 : cluster.accelerator.scale_up_link}});
  if (node.accelerators > (linked ? node.scale_up_domain : 1)) add_pcie(cluster, units);
}

void add_scale_out(const Cluster& cluster, std::vector<Enclosure>& units) {
  const TierPlan plan = plan_tiers(cluster);
  const std::string fabric = cluster.node.fabric.empty() ? "network" : cluster.node.fabric;
  const Switch& box = cluster.fabric_switch;
  const bool sharp = cluster.fabric.reduces_from.value() > 0 &&
                     cluster.node.nic_bandwidth >= cluster.fabric.reduces_from && (box.name.empty() || box.reduces);
  for (const Tier& tier : plan.tiers) {
    const std::string ratio =
        tier.oversubscription > 1.001 ? fmt::format(" ({:.3g}:1)", tier.oversubscription) : std::string();
    const std::string name = fmt::format("{} {}{}", fabric, tier.name, ratio);
    units.push_back({.kind = LevelKind::scale_out,
                     .reach = tier.reach,
                     .strict = false,
                     .level = {.kind = LevelKind::scale_out,
                               .latency = cluster.fabric.hop * tier.hops,
                               .bandwidth = tier.per_rank,
                               .flow = tier.flow,
                               .reduces = sharp,
                               .rings = std::max(1, cluster.node.nics / std::max(1, cluster.node.accelerators)),
                               .link = tier.limit.empty() ? name : fmt::format("{} ({})", tier.limit, name)}});
  }
}

/// True where `blocks` blocks of `span` accelerators find a place inside such units. A torus has no gaps.
bool all_fit(const Enclosure& unit, long long span, long long blocks) {
  if (unit.torus) return unit.reach % span == 0;
  const long long in_one = unit.reach / span;
  return in_one > 0 && (unit.count == 0 || in_one * unit.count >= blocks);
}

/// How a group is dealt to units: at most `ranks` in one, and at least `least`.
struct Cut {
  int ranks = 1, least = 1;
};

/// What is left to be dealt of all groups of an axis, `sets` lying beside one another: `size` parts of each, `step`
/// apart.
struct Axis {
  int size = 1;
  long long step = 1, sets = 1;
  long long accelerators() const { return sets * size * step; }
};

/// Alike blocks, as large as the largest divisor of the group's size of which all find room inside such units; a unit
/// need not be filled: 256 accelerators sit as 4 x 64 in domains of 72. Or as few parts as hold the group, as equal as
/// they come (7 + 6 of 13 in domains of eight), where all groups find room so and the smallest part is larger.
Cut cut_of(const Enclosure& unit, const Axis& axis) {
  const long long all = axis.accelerators();
  if (unit.reach >= all) return {axis.size, axis.size};
  int alike = 1;
  for (int m = 1; m <= axis.size; ++m) {
    if (axis.size % m != 0) continue;
    const long long span = m * axis.step;
    if (unit.strict ? all_fit(unit, span, (all + span - 1) / span) : span <= unit.reach) alike = m;
  }
  const long long in_one = unit.reach / axis.step;
  if (!unit.strict || unit.torus || in_one < 1) return {alike, alike};
  const int parts = static_cast<int>((axis.size + in_one - 1) / in_one);
  const int most = (axis.size + parts - 1) / parts, least = axis.size / parts;
  if (least <= alike || !all_fit(unit, most * axis.step, axis.sets * parts)) return {alike, alike};
  return {most, least};
}

/// Accelerators of one unit that send at once where blocks of `span`, `all` accelerators in sum, are spread over units.
long long sending(const Enclosure& unit, long long span, long long all) {
  const long long blocks = std::max(1LL, (all + span - 1) / span), in_one = std::max(1LL, unit.reach / span);
  return span * (unit.count > 0 ? std::min(in_one, (blocks + unit.count - 1) / unit.count) : in_one);
}

/// Both ring directions of a dimension that the group covers; one where it is a segment without wrap-around. Groups
/// interleaved along the dimension share its links.
void share_torus(const Enclosure& unit, int members, long long step, Level& level) {
  const long long below = unit.reach / unit.edge;
  const long long interleaved = std::max<long long>(1, step / std::max<long long>(1, below));
  level.rings = unit.wraps && members * interleaved == unit.edge ? 2 : 1;
  level.bandwidth = level.bandwidth * level.rings / static_cast<double>(interleaved);
}

}  // namespace

std::vector<int> torus_shape(int accelerators, int dimensions) {
  const int grain = dimensions == 3 && accelerators % hardware::cube_chips == 0 ? hardware::cube_edge : 1;
  std::vector<int> best{accelerators};
  double least = 1e300;
  const auto consider = [&](std::vector<int> edges) {
    std::sort(edges.begin(), edges.end());
    double surface = 0;
    for (const int e : edges) surface += e;
    if (surface < least - 1e-9) least = surface, best = std::move(edges);
  };
  for (int a = grain; a <= accelerators; a += grain) {
    if (accelerators % a != 0) continue;
    const int rest = accelerators / a;
    if (dimensions == 2) {
      consider({a, rest});
      continue;
    }
    for (int b = grain; b <= rest; b += grain)
      if (rest % b == 0 && (rest / b) % grain == 0) consider({a, b, rest / b});
  }
  return best;
}

GroupPlace place_group(const Cluster& cluster, int size, int stride) {
  GroupPlace place;
  if (size <= 1) return place;
  std::vector<Enclosure> units;
  if (is_torus(cluster.node.scale_up))
    add_torus(cluster, units);
  else
    add_scale_up(cluster, units);
  if (units.empty() || units.back().reach < cluster.accelerators()) add_scale_out(cluster, units);

  const long long set = static_cast<long long>(size) * std::max(1, stride);
  // Ranks that make no whole group don't send.
  Axis left{.size = size, .step = std::max(1, stride), .sets = std::max(1LL, cluster.accelerators() / set)};
  double smallest = 1;  // part of a group that a unit so far holds, over the largest
  for (std::size_t u = 0; u < units.size() && left.size > 1; ++u) {
    const bool last = u + 1 == units.size();
    const Cut cut = last ? Cut{left.size, left.size} : cut_of(units[u], left);
    if (cut.ranks > 1) {
      Level level = units[u].level;
      level.ranks = cut.ranks;
      level.bandwidth = level.bandwidth * smallest;
      level.flow = level.flow * smallest;
      if (units[u].torus)
        share_torus(units[u], cut.ranks, left.step, level);
      else if (u == 0 && level.kind == LevelKind::scale_up && units[u].reach == cluster.node.scale_up_domain)
        level.bandwidth = level.bandwidth * usable_links(cluster.node, cut.ranks, left.step);
      if (units[u].shared.value() > 0) {
        const Enclosure& below = units[u - 1];
        const auto ranks = static_cast<double>(sending(below, left.step, left.accelerators()));
        // One group of blocks that don't use the host themselves: its flow is alone on slots and sockets.
        const bool alone = set == cluster.accelerators() && std::max(1, stride) == 1;
        if (alone && std::ranges::none_of(place.levels, &Level::host))
          level.flow = std::min(level.bandwidth, units[u].shared);
        level.bandwidth = std::min(level.bandwidth, units[u].shared / ranks);
      }
      place.levels.push_back(std::move(level));
    }
    smallest *= static_cast<double>(cut.least) / cut.ranks;
    left.size = (left.size + cut.ranks - 1) / cut.ranks;
    left.step *= cut.ranks;
  }
  return place;
}

}  // namespace meshwright::topology
