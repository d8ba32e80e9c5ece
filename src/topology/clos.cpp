#include "topology/clos.hpp"

#include <algorithm>
#include <cmath>

#include "meshwright/hardware/network.hpp"
#include "topology/switches.hpp"

namespace meshwright::topology {
namespace {

int divide_up(long long a, long long b) { return static_cast<int>((a + b - 1) / b); }

/// Smallest divisor of `links` that is at least `least`; `links` where there is none.
int even_divisor(int links, int least) {
  for (int d = std::max(1, least); d < links; ++d)
    if (links % d == 0) return d;
  return links;
}

double at(const std::vector<double>& values, std::size_t i) {
  return i < values.size() && values[i] > 0 ? values[i] : 1;
}

void size_upper_tiers(Clos& c, const Cluster& cluster, const TierPlan& plan, int leaves_in_fabric) {
  const double over_leaf = at(cluster.network.oversubscription, 0),
               over_spine = at(cluster.network.oversubscription, 1);
  c.leaf_up = std::max(1, static_cast<int>(std::lround(c.leaf_down / over_leaf)));
  if (plan.tiers.size() == 2) {
    c.leaves_per_pod = leaves_in_fabric;
    c.pods = 1;
    c.spines_per_pod =
        even_divisor(c.leaf_up, divide_up(static_cast<long long>(leaves_in_fabric) * c.leaf_up, plan.radix));
    return;
  }
  const long long pod = plan.tiers[1].reach;
  const long long leaf_accelerators = std::max<long long>(1, plan.tiers[0].reach);
  const int leaves_a_leaf_set = c.rails ? c.nics_per_host : 1;
  c.leaves_per_pod = std::max(1, static_cast<int>(pod / leaf_accelerators) * leaves_a_leaf_set);
  c.pods = divide_up(leaves_in_fabric, c.leaves_per_pod);
  const long long up = static_cast<long long>(c.leaves_per_pod) * c.leaf_up;
  const long long spine_down =
      std::max<long long>(1, static_cast<long long>(plan.radix * over_spine / (1 + over_spine)));
  c.spines_per_pod = even_divisor(c.leaf_up, divide_up(up, spine_down));
  c.spine_up = std::max(1, static_cast<int>(std::lround(static_cast<double>(up) / c.spines_per_pod / over_spine)));
  c.cores_per_group = even_divisor(c.spine_up, divide_up(static_cast<long long>(c.pods) * c.spine_up, plan.radix));
}

/// Both directions of a cable, appended.
void join(Fabric& fabric, std::uint32_t low, std::uint32_t high, double capacity) {
  fabric.links.push_back({low, high, capacity});
  fabric.links.push_back({high, low, capacity});
}

void add_switches(Fabric& fabric) {
  Clos& c = fabric.clos;
  const auto add = [&](NodeKind kind, int count) {
    const auto first = static_cast<std::uint32_t>(fabric.kinds.size());
    fabric.kinds.insert(fabric.kinds.end(), static_cast<std::size_t>(count), kind);
    return first;
  };
  c.leaf_node = add(NodeKind::leaf, c.leaves * c.fabrics);
  c.spine_node = add(NodeKind::spine, c.spines() * c.fabrics);
  c.core_node = add(NodeKind::core, c.cores() * c.fabrics);
}

void add_nic_links(Fabric& fabric, int nics_per_host, double port) {
  Clos& c = fabric.clos;
  c.nic_link = static_cast<std::uint32_t>(fabric.links.size());
  for (int host = 0; host < fabric.hosts; ++host)
    for (int nic = 0; nic < nics_per_host; ++nic)
      for (int p = 0; p < ports(c); ++p)
        join(fabric, fabric.nic_node(host, nic), c.leaf_node + leaf_of(c, host, nic, p).leaf, port);
}

void add_leaf_links(Fabric& fabric, double port) {
  Clos& c = fabric.clos;
  c.leaf_link = static_cast<std::uint32_t>(fabric.links.size());
  for (int leaf = 0; leaf < c.leaves * c.fabrics; ++leaf) {
    const int copy = leaf / c.leaves, pod = leaf % c.leaves / std::max(1, c.leaves_per_pod);
    for (int h = 0; h < c.leaf_up; ++h)
      join(fabric, c.leaf_node + static_cast<std::uint32_t>(leaf),
           c.spine_node + static_cast<std::uint32_t>((copy * c.pods + pod) * c.spines_per_pod + h % c.spines_per_pod),
           port);
  }
}

/// Dragonfly+: every two groups are joined by the same number of cables, spread over their spines.
void add_group_links(Fabric& fabric, double port) {
  const Clos& c = fabric.clos;
  const auto spine = [&](int copy, int pod, int j) {
    return c.spine_node + static_cast<std::uint32_t>((copy * c.pods + pod) * c.spines_per_pod + j % c.spines_per_pod);
  };
  for (int copy = 0; copy < c.fabrics; ++copy)
    for (int low = 0; low < c.pods; ++low)
      for (int high = low + 1; high < c.pods; ++high)
        for (int i = 0; i < c.links_a_pair; ++i)
          join(fabric, spine(copy, low, high + i), spine(copy, high, low + i), port);
}

void add_spine_links(Fabric& fabric, double port) {
  Clos& c = fabric.clos;
  c.spine_link = static_cast<std::uint32_t>(fabric.links.size());
  if (c.spine_up == 0) return;
  if (c.direct_groups) return add_group_links(fabric, port);
  for (int spine = 0; spine < c.spines() * c.fabrics; ++spine) {
    const int copy = spine / c.spines(), j = spine % c.spines_per_pod;
    const auto group = c.core_node + static_cast<std::uint32_t>((copy * c.spines_per_pod + j) * c.cores_per_group);
    for (int g = 0; g < c.spine_up; ++g)
      join(fabric, c.spine_node + static_cast<std::uint32_t>(spine),
           group + static_cast<std::uint32_t>(g % c.cores_per_group), port);
  }
}

void add_bundles(Fabric& fabric) {
  Clos& c = fabric.clos;
  const auto start = [&] { return static_cast<std::uint32_t>(fabric.resources()); };
  const auto add = [&](std::uint32_t first, int count) {
    fabric.bundles.push_back({first, static_cast<std::uint32_t>(count), 0});
    fabric.bundles.push_back({first + 1, static_cast<std::uint32_t>(count), 0});
  };
  c.leaf_bundle = start();
  if (c.leaf_up > 0)
    for (int leaf = 0; leaf < c.leaves * c.fabrics; ++leaf)
      add(c.leaf_link + static_cast<std::uint32_t>(2 * leaf * c.leaf_up), c.leaf_up);
  c.pod_bundle = start();
  const auto pods = static_cast<std::size_t>(c.spine_up > 0 ? c.pods * c.fabrics : 0);
  if (c.direct_groups) {
    fabric.bundles.resize(fabric.bundles.size() + 2 * pods);  // sums over all other groups: refresh_bundles
    c.pair_bundle = start();
    for (std::size_t pair = 0; pair < pods * static_cast<std::size_t>(c.pods - 1) / 2; ++pair)
      add(c.spine_link + static_cast<std::uint32_t>(2 * pair * static_cast<std::size_t>(c.links_a_pair)),
          c.links_a_pair);
  } else {
    for (std::size_t pod = 0; pod < pods; ++pod)
      add(c.spine_link + static_cast<std::uint32_t>(2 * pod * static_cast<std::size_t>(c.spines_per_pod * c.spine_up)),
          c.spines_per_pod * c.spine_up);
  }
  refresh_bundles(fabric);
}

}  // namespace

int ports(const Clos& clos) { return clos.splits_ports ? clos.fabrics : 1; }

LeafPort leaf_of(const Clos& c, int host, int nic, int port) {
  const int copy = c.splits_ports ? port : nic % c.fabrics;
  const int local = c.splits_ports ? nic : nic / c.fabrics;
  const int hosts_a_leaf = std::max(1, c.rails ? c.leaf_down : c.leaf_down / std::max(1, c.nics_per_host));
  int leaf = 0;
  if (c.leaves > 1) {
    if (c.rails)
      leaf = host / hosts_a_leaf * c.nics_per_host + local;
    else if (c.leaf_down >= c.nics_per_host)
      leaf = host / hosts_a_leaf;
    else
      leaf = (host * c.nics_per_host + local) / c.leaf_down;
  }
  return {static_cast<std::uint32_t>(copy * c.leaves + std::min(leaf, c.leaves - 1)),
          static_cast<std::uint32_t>(host * c.nics_per_host + local)};
}

Clos clos_shape(const Cluster& cluster, const TierPlan& plan) {
  Clos c;
  const Node& node = cluster.node;
  if (plan.tiers.empty() || node.nics <= 0) return c;
  c.splits_ports = ports_a_nic(cluster) > 1;
  c.joins_rails = plan.joins_rails;
  c.direct_groups = topology_kind(cluster.network.topology).direct_groups;
  c.fabrics = std::max(1, plan.planes);
  c.nics_per_host = c.splits_ports ? node.nics : divide_up(node.nics, c.fabrics);
  c.rails = plan.rails > 1;
  const int endpoints = cluster.nodes * c.nics_per_host;
  if (plan.tiers.size() == 1) {
    c.leaves = 1, c.leaf_down = endpoints;
    return c;
  }
  const int hosts_a_leaf = std::max(1, static_cast<int>(plan.tiers[0].reach / node.accelerators));
  const bool splits_hosts = !c.rails && plan.radix / 2 < c.nics_per_host;
  c.leaf_down = splits_hosts ? std::max(1, plan.radix / 2) : hosts_a_leaf * (c.rails ? 1 : c.nics_per_host);
  const int leaf_sets = divide_up(cluster.nodes, hosts_a_leaf);
  c.leaves = splits_hosts ? divide_up(endpoints, c.leaf_down) : leaf_sets * (c.rails ? c.nics_per_host : 1);
  size_upper_tiers(c, cluster, plan, c.leaves);
  if (c.direct_groups && c.pods > 1) c.links_a_pair = std::max(1, c.spines_per_pod * c.spine_up / (c.pods - 1));
  return c;
}

void add_clos(Fabric& fabric, const Cluster& cluster) {
  fabric.clos = clos_shape(cluster, fabric.plan);
  if (fabric.clos.leaves == 0) return;
  const double port = cluster.node.nic_bandwidth.value() / ports(fabric.clos);
  add_switches(fabric);
  add_nic_links(fabric, cluster.node.nics, port);
  add_leaf_links(fabric, port);
  add_spine_links(fabric, port);
  add_bundles(fabric);
}

void refresh_bundles(Fabric& fabric) {
  const Clos& c = fabric.clos;
  for (Bundle& bundle : fabric.bundles) {
    bundle.capacity = 0;
    for (std::uint32_t i = 0; i < bundle.count; ++i) bundle.capacity += fabric.links[bundle.first + 2 * i].capacity;
  }
  if (!c.direct_groups || c.spine_up == 0) return;
  const std::size_t first = c.pod_bundle - fabric.links.size();
  const auto group = [&](std::uint32_t spine) {
    return (spine - c.spine_node) / static_cast<std::uint32_t>(c.spines_per_pod);
  };
  for (std::size_t l = c.spine_link; l < fabric.links.size(); ++l) {
    fabric.bundles[first + 2 * group(fabric.links[l].from)].capacity += fabric.links[l].capacity;
    fabric.bundles[first + 2 * group(fabric.links[l].to) + 1].capacity += fabric.links[l].capacity;
  }
}

}  // namespace meshwright::topology
