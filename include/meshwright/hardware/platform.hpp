#pragma once
// Calibrated communication parameters of a cluster: the media of its scale-up domain, of the host, and of its fabric.
#include <string>
#include <string_view>

#include "meshwright/hardware/medium.hpp"
#include "meshwright/hardware/node.hpp"

namespace meshwright::hardware {

struct Platform {
  std::string name;  ///< "nvlink4 + infiniband"
  Medium scale_up;   ///< joins accelerators: NVLink, Infinity Fabric, ICI, or PCIe where there is nothing else
  Medium host;       ///< PCIe and sockets, for accelerators of one node that no link joins
  Medium scale_out;  ///< the network
};

/// The platform of a cluster: `cluster.media` first, then the compiled-in media; with the nearest kin (evidence
/// `extrapolated`) where that very medium was not measured.
Platform platform_of(const Cluster& cluster);
/// Name of the medium of a cluster's network: "infiniband", "roce", "efa-v1", "efa-v2", "tcpx", "slingshot", ...
std::string scale_out_medium(const Cluster& cluster);

}  // namespace meshwright::hardware
