#include "topology/unit.hpp"

#include <algorithm>
#include <array>

#include "meshwright/hardware/network.hpp"
#include "topology/graph.hpp"

namespace meshwright::topology {
namespace {

struct Builder {
  Unit unit;
  std::uint32_t add(NodeKind kind) {
    unit.kinds.push_back(kind);
    return static_cast<std::uint32_t>(unit.kinds.size() - 1);
  }
  void join(std::uint32_t a, std::uint32_t b, BytesPerSecond capacity) {
    unit.links.push_back({a, b, capacity.value()});
    unit.links.push_back({b, a, capacity.value()});
  }
};

/// DGX-1 with V100: NVLinks between each pair (NVIDIA DGX-1 architecture white paper, 2017, figure 4).
constexpr std::array<std::array<int, 8>, 8> cube_mesh = {{{0, 1, 1, 2, 2, 0, 0, 0},
                                                          {1, 0, 2, 1, 0, 2, 0, 0},
                                                          {1, 2, 0, 2, 0, 0, 1, 0},
                                                          {2, 1, 2, 0, 0, 0, 0, 1},
                                                          {2, 0, 0, 0, 0, 1, 1, 2},
                                                          {0, 2, 0, 0, 1, 0, 2, 1},
                                                          {0, 0, 1, 0, 1, 2, 0, 2},
                                                          {0, 0, 0, 1, 2, 1, 2, 0}}};

/// Accelerators of one scale-up domain, [first, first + size).
void join_domain(Builder& b, const Cluster& cluster, int first, int size, int planes) {
  const Node& node = cluster.node;
  const auto at = [&](int g) { return static_cast<std::uint32_t>(first + g); };
  const BytesPerSecond all = node.scale_up_bandwidth;
  if (node.scale_up == ScaleUpKind::switched) {
    for (int p = 0; p < planes; ++p) {
      const std::uint32_t plane = b.add(NodeKind::nvswitch);
      for (int g = 0; g < size; ++g) b.join(at(g), plane, all / planes);
    }
    return;
  }
  const bool cube = node.scale_up == ScaleUpKind::cube_mesh && size == 8;
  for (int g = 0; g < size; ++g)
    for (int h = g + 1; h < size; ++h) {
      const double part =
          cube ? cube_mesh[static_cast<std::size_t>(g)][static_cast<std::size_t>(h)] / 6.0 : 1.0 / (size - 1);
      if (part > 0) b.join(at(g), at(h), all * part);
    }
}

/// PCIe tree of one host: a switch for each socket's accelerators, sockets joined.
std::vector<std::uint32_t> join_pcie(Builder& b, const Cluster& cluster, int first) {
  const Node& node = cluster.node;
  const BytesPerSecond slot = slot_bandwidth(cluster);
  const int sockets = node.sockets > 1 && node.accelerators % node.sockets == 0 ? node.sockets : 1;
  const int each = node.accelerators / sockets;
  std::vector<std::uint32_t> roots;
  for (int s = 0; s < sockets; ++s) {
    const std::uint32_t socket = b.add(NodeKind::socket);
    std::uint32_t under = socket;
    if (each > 2) {
      under = b.add(NodeKind::pcie_switch);
      b.join(under, socket, slot);
    }
    for (int g = 0; g < each; ++g) b.join(static_cast<std::uint32_t>(first + s * each + g), under, slot);
    for (const std::uint32_t other : roots) b.join(other, socket, socket_link(cluster));
    roots.push_back(socket);
  }
  return roots;
}

/// NICs nearest to accelerator `g` of a host.
std::vector<int> near_nics(const Node& node, int g) {
  std::vector<int> near;
  if (node.nics >= node.accelerators) {
    for (int i = g * node.nics / node.accelerators; i < (g + 1) * node.nics / node.accelerators; ++i) near.push_back(i);
  } else if (node.nics > 0) {
    near.push_back(g * node.nics / node.accelerators);
  }
  return near;
}

void join_nics(Builder& b, const Cluster& cluster, int host, const std::vector<std::uint32_t>& sockets) {
  const Node& node = cluster.node;
  const bool on_die = !cluster.nic.name.empty() && cluster.nic.pcie.empty();
  const BytesPerSecond slot = on_die ? node.nic_bandwidth * node.nics : slot_bandwidth(cluster);
  const auto nic_at = [&](int i) { return static_cast<std::uint32_t>(b.unit.accelerators + host * node.nics + i); };
  if (!sockets.empty()) {
    for (int i = 0; i < node.nics; ++i)
      b.join(sockets[static_cast<std::size_t>(i) * sockets.size() / static_cast<std::size_t>(node.nics)], nic_at(i),
             slot);
    return;
  }
  for (int g = 0; g < node.accelerators; ++g) {
    const auto gpu = static_cast<std::uint32_t>(host * node.accelerators + g);
    const std::vector<int> near = near_nics(node, g);
    std::uint32_t under = gpu;
    if (near.size() > 1) {  // several NICs share the accelerator's slot
      under = b.add(NodeKind::pcie_switch);
      b.join(gpu, under, slot);
    }
    for (const int i : near) b.join(under, nic_at(i), slot);
  }
}

void add_routes(Unit& unit) {
  const Adjacency out = adjacency(unit.links, unit.kinds.size());
  const int n = unit.accelerators;
  unit.to_accelerator.resize(static_cast<std::size_t>(n) * n);
  unit.from_nic.resize(static_cast<std::size_t>(unit.nics) * n);
  unit.to_nic.resize(static_cast<std::size_t>(n) * unit.nics);
  for (int to = 0; to < n + unit.nics; ++to) {
    // NICs are ends, never a way through (two accelerators may share one).
    std::vector<FabricLink> open = unit.links;
    for (FabricLink& link : open)
      if (unit.kinds[link.to] == NodeKind::nic && link.to != static_cast<std::uint32_t>(to)) link.capacity = 0;
    const std::vector<int> hops = hops_to(open, unit.kinds.size(), static_cast<std::uint32_t>(to));
    const auto route = [&](int from) {
      return spread(open, out, hops, static_cast<std::uint32_t>(from), static_cast<std::uint32_t>(to));
    };
    for (int from = 0; from < n; ++from) {
      if (to < n)
        unit.to_accelerator[static_cast<std::size_t>(from) * n + to] = route(from);
      else
        unit.to_nic[static_cast<std::size_t>(from) * unit.nics + (to - n)] = route(from);
    }
    if (to < n)
      for (int i = 0; i < unit.nics; ++i) unit.from_nic[static_cast<std::size_t>(i) * n + to] = route(n + i);
  }
}

}  // namespace

int switch_planes(const Cluster& cluster) {
  constexpr int board = 16;  // devices of the largest baseboard; in a rack each link goes to another switch
  const Node& node = cluster.node;
  if (node.scale_up != ScaleUpKind::switched) return 1;
  return std::max(1,
                  node.scale_up_domain > board ? cluster.accelerator.scale_up_links : cluster.scale_up_switch.planes);
}

BytesPerSecond socket_link(const Cluster& cluster) {
  if (cluster.host.socket_link.value() > 0) return cluster.host.socket_link;
  const std::vector<SocketLink>& own = cluster.host.socket_links;
  const std::vector<SocketLink>& links = own.empty() ? host_kind("", "").socket_links : own;
  const BytesPerSecond slot = slot_bandwidth(cluster);
  const auto row = std::ranges::find_if(
      links, [&](const SocketLink& l) { return l.slot_below.value() <= 0 || slot < l.slot_below; });
  return row == links.end() ? links.back().link : row->link;
}

Unit build_unit(const Cluster& cluster, bool fold_planes) {
  const Node& node = cluster.node;
  const bool linked =
      node.scale_up != ScaleUpKind::none && node.scale_up != ScaleUpKind::pcie && node.scale_up_domain > 1;
  const int domain = linked ? std::min(node.scale_up_domain, std::max(node.accelerators, cluster.accelerators())) : 1;
  Builder b;
  b.unit.accelerators = std::max(domain, node.accelerators);
  b.unit.hosts = std::max(1, b.unit.accelerators / std::max(1, node.accelerators));
  b.unit.nics = b.unit.hosts * std::max(0, node.nics);
  b.unit.switched = linked;
  for (int g = 0; g < b.unit.accelerators; ++g) b.add(NodeKind::accelerator);
  for (int i = 0; i < b.unit.nics; ++i) b.add(NodeKind::nic);
  if (linked)
    for (int first = 0; first + domain <= b.unit.accelerators; first += domain)
      join_domain(b, cluster, first, domain, fold_planes ? 1 : switch_planes(cluster));
  for (int host = 0; host < b.unit.hosts; ++host) {
    std::vector<std::uint32_t> sockets;
    if (domain < node.accelerators || !linked) sockets = join_pcie(b, cluster, host * node.accelerators);
    if (node.nics > 0) join_nics(b, cluster, host, sockets);
  }
  for (int g = 0; g < b.unit.accelerators; ++g) {
    std::vector<int> near = near_nics(node, g % node.accelerators);
    for (int& i : near) i += g / node.accelerators * node.nics;
    b.unit.nics_of.push_back(std::move(near));
  }
  add_routes(b.unit);
  return std::move(b.unit);
}

}  // namespace meshwright::topology
