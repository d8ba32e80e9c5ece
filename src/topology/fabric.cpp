#include "meshwright/topology/fabric.hpp"

#include <algorithm>
#include <array>

#include "meshwright/hardware/network.hpp"
#include "meshwright/hardware/torus.hpp"
#include "meshwright/topology/place.hpp"
#include "topology/clos.hpp"
#include "topology/unit.hpp"

namespace meshwright::topology {
namespace {

/// Large fabrics fold an NVLink domain's planes into one switch: traffic is spread over them evenly anyway.
constexpr int keep_planes_up_to_hosts = 16;

Fabric torus_fabric(const Cluster& cluster) {
  const int dimensions = cluster.node.scale_up == ScaleUpKind::torus_3d ? 3 : 2;
  const int chips = std::min(cluster.accelerators(), std::max(1, cluster.node.scale_up_domain));
  const BytesPerSecond link = cluster.node.scale_up_bandwidth / (2.0 * dimensions);
  const auto stated = hardware::stated_slice(cluster.network.topology);
  const bool as_stated = stated && stated->chips() == chips, twisted = as_stated && stated->twisted;
  const std::vector<int> edge = as_stated ? stated->edge : torus_shape(chips, dimensions);
  // A twist is one of the ways round.
  const std::vector<bool> closed =
      twisted ? std::vector<bool>(edge.size(), true) : hardware::closed_edges(edge, cluster.pod_edge);
  Fabric f = build_torus(edge, link, closed, twisted);
  f.hosts = std::max(1, chips / std::max(1, cluster.node.accelerators));
  if (cluster.accelerators() > chips)
    f.assumptions.push_back("graph shows one slice of " + std::to_string(chips) +
                            " chips; slices meet over the data-centre network");
  return f;
}

void add_units(Fabric& f) {
  const auto nodes = static_cast<std::uint32_t>(f.unit.kinds.size());
  f.kinds.reserve(static_cast<std::size_t>(f.units) * nodes);
  f.links.reserve(static_cast<std::size_t>(f.units) * f.unit.links.size());
  for (int u = 0; u < f.units; ++u) {
    f.kinds.insert(f.kinds.end(), f.unit.kinds.begin(), f.unit.kinds.end());
    const std::uint32_t base = static_cast<std::uint32_t>(u) * nodes;
    for (FabricLink link : f.unit.links) {
      link.from += base, link.to += base;
      f.links.push_back(link);
    }
  }
}

/// A graph of every link, and routes between all devices of a unit, grow out of hand beyond anything that is built.
void refuse_too_large(const Cluster& cluster) {
  constexpr long long most = 1 << 20, most_in_unit = 2048, most_in_mesh = 512;
  const Node& node = cluster.node;
  const long long nics = 1LL * cluster.nodes * node.nics;
  const long long unit = std::max(node.accelerators, std::min(node.scale_up_domain, cluster.accelerators()));
  const long long unit_nics = unit / std::max(1, node.accelerators) * node.nics;
  const long long largest = node.scale_up == ScaleUpKind::full_mesh ? most_in_mesh : most_in_unit;
  const auto refuse = [&](long long found, const std::string& what, long long expected) {
    if (found > expected)
      throw Error(cluster.spec.where, "found " + std::to_string(found) + " " + what + ", expected at most " +
                                          std::to_string(expected) + " for a graph of every link");
  };
  refuse(cluster.accelerators(), "accelerators", most);
  refuse(nics, "NICs", most);
  if (is_torus(node.scale_up)) return;
  refuse(unit, "accelerators in one node or scale-up domain", largest);
  refuse(unit_nics, "NICs in one node or scale-up domain", most_in_unit);
}

}  // namespace

std::string_view name(NodeKind kind) {
  constexpr std::array<std::string_view, 8> names = {"accelerator", "nvswitch", "pcie switch", "socket",
                                                     "nic",         "leaf",     "spine",       "core"};
  return names[static_cast<std::size_t>(kind)];
}

std::uint32_t Fabric::nic_node(int host, int nic) const {
  const int a_host = unit.nics / std::max(1, unit.hosts);
  return static_cast<std::uint32_t>(static_cast<std::size_t>(host / unit.hosts) * unit.kinds.size() +
                                    static_cast<std::size_t>(unit.accelerators + host % unit.hosts * a_host + nic));
}

int Fabric::host_of(int rank) const { return rank / std::max(1, unit.accelerators / std::max(1, unit.hosts)); }

Fabric build_fabric(const Cluster& cluster) {
  check_network(cluster, "network");
  refuse_too_large(cluster);
  Fabric f;
  if (is_torus(cluster.node.scale_up)) {
    f = torus_fabric(cluster);
  } else {
    f.unit = build_unit(cluster, cluster.nodes > keep_planes_up_to_hosts);
    f.accelerators = cluster.accelerators();
    f.units = (cluster.nodes + f.unit.hosts - 1) / f.unit.hosts;
    f.hosts = f.units * f.unit.hosts;
    f.plan = plan_tiers(cluster);
    add_units(f);
    add_clos(f, cluster);
  }
  f.name = cluster.name.empty() ? cluster.network.topology : cluster.name;
  f.routing = cluster.network.routing;
  f.tier_efficiency = tier_efficiency(cluster.fabric, "adaptive");
  f.static_efficiency = tier_efficiency(cluster.fabric, "static");
  return f;
}

}  // namespace meshwright::topology
