#pragma once
// Links, NICs and switches. Every bandwidth is per direction.
#include <string>
#include <vector>

#include "meshwright/core/quantity.hpp"
#include "meshwright/hardware/provenance.hpp"

namespace meshwright {

/// A link generation: "nvlink4", "pcie-gen5", "infiniband-ndr", "ethernet-400g", "efa-v2", "ici-v5p", "xgmi3", ...
struct Link {
  std::string name, family;         ///< family: "nvlink", "pcie", "infiniband", "ethernet", ...
  BytesPerSecond lane_bandwidth{};  ///< one link or lane (NVLink: one link; PCIe: one lane), peak
  BytesPerSecond bandwidth{};       ///< the usual port (NVLink: a device's sum; PCIe x16; a 4x port), peak
  BytesPerSecond achieved{};        ///< measured for the usual port; zero = not known
  Seconds latency{};                ///< one hop; zero = not published
  bool announced = false;           ///< not yet shipping
  std::string notes;
  std::vector<Provenance> sources;
};

struct Nic {
  std::string name, vendor;
  BytesPerSecond bandwidth{};  ///< all ports
  int ports = 1;
  std::string pcie;
  int pcie_lanes = 16;
  double message_rate = 0;  ///< messages a second; 0 = not published
  Seconds latency{};
  Watts power{};
  std::vector<Price> prices;
  std::vector<Provenance> sources;
};

struct Switch {
  std::string name, fabric;  ///< fabric: "infiniband", "ethernet", "nvlink", "slingshot", "optical", ...
  int radix = 0;             ///< ports at `port_bandwidth`
  BytesPerSecond port_bandwidth{};
  Seconds hop_latency{};
  bool reduces = false;   ///< in-network reduction (SHARP, NVLink SHARP)
  std::string reduction;  ///< "SHARPv3", "NVLS", ""
  Watts power{};
  std::vector<Price> prices;
  std::vector<Provenance> sources;
};

}  // namespace meshwright
