#pragma once
// Sizes of a folded Clos network, and its nodes, links and bundles.
#include "meshwright/topology/fabric.hpp"

namespace meshwright::topology {

/// Switches and uplinks that a plan takes: the fewest spines and cores that keep every leaf joined to every spine of
/// its pod, and every pod to every core, by the same number of links.
Clos clos_shape(const Cluster& cluster, const TierPlan& plan);

/// Appends the network's nodes, links and bundles to a fabric whose units are there.
void add_clos(Fabric& fabric, const Cluster& cluster);

/// Fabric copy, leaf (over all copies) of the port of a NIC.
struct LeafPort {
  std::uint32_t leaf;
  std::uint32_t index;  ///< of the NIC port among those of its fabric
};
LeafPort leaf_of(const Clos& clos, int host, int nic, int port);
int ports(const Clos& clos);  ///< of one NIC

}  // namespace meshwright::topology
