#include "topology/switches.hpp"

#include "meshwright/hardware/network.hpp"

namespace meshwright::topology {

SwitchShape switch_shape(const Cluster& cluster) {
  const BytesPerSecond port = cluster.node.nic_bandwidth / ports_a_nic(cluster);
  const CatalogData& catalog = cluster.catalog ? *cluster.catalog : *builtin_catalog().data();
  const Switch chosen =
      cluster.fabric_switch.radix > 0 ? split_to(cluster.fabric_switch, port) : network_switch(cluster, catalog);
  if (chosen.radix > 0) return {chosen.radix, port, chosen.name};
  return {64, port, ""};
}

}  // namespace meshwright::topology
