#pragma once
// One scale-up unit as a small graph with its routes.
#include "meshwright/topology/fabric.hpp"

namespace meshwright::topology {

/// The unit of a cluster: max(node, scale-up domain) accelerators. `planes`: NVSwitch planes kept apart, or folded
/// into one where a large fabric doesn't need them.
Unit build_unit(const Cluster& cluster, bool fold_planes);

/// Switch planes of an NVLink domain: DGX A100 6, DGX H100 4, HGX B200 2, NVL72 18 (vendors' architecture papers).
int switch_planes(const Cluster& cluster);

/// Peer-to-peer bandwidth between two sockets.
BytesPerSecond socket_link(const Node& node);

}  // namespace meshwright::topology
