#pragma once
// The switch that a cluster's network is built of.
#include <string>

#include "meshwright/hardware/cluster.hpp"

namespace meshwright::topology {

struct SwitchShape {
  int radix = 64;  ///< ports at the speed of one NIC port
  BytesPerSecond port_bandwidth{};
  std::string name;  ///< "" where it is only a radix
};

/// The switch named by the network, or the usual one of the NIC's speed and fabric, its ports split to NIC speed.
SwitchShape switch_shape(const Cluster& cluster);

}  // namespace meshwright::topology
