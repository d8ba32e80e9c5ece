#pragma once
// One scale-up unit as a small graph with its routes.
#include "meshwright/topology/fabric.hpp"

namespace meshwright::topology {

/// The unit of a cluster: max(node, scale-up domain) accelerators. `planes`: NVSwitch planes kept apart, or folded
/// into one where a large fabric doesn't need them.
Unit build_unit(const Cluster& cluster, bool fold_planes);

/// Switch planes of an NVLink domain: Switch::planes on a baseboard, one a link in a rack (NVL72: 18).
int switch_planes(const Cluster& cluster);

/// Peer-to-peer bandwidth between two sockets.
BytesPerSecond socket_link(const Cluster& cluster);

}  // namespace meshwright::topology
