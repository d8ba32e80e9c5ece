#pragma once
// One accelerator as its data sheet states it, beside what was measured on it. Peak and measured never share a field.
#include <array>
#include <string>
#include <vector>

#include "meshwright/core/dtype.hpp"
#include "meshwright/core/quantity.hpp"
#include "meshwright/hardware/efficiency.hpp"
#include "meshwright/hardware/provenance.hpp"

namespace meshwright::hardware {

struct Accelerator {
  std::string name;                  ///< "H100-SXM5-80GB"
  std::vector<std::string> aliases;  ///< other names that lookups take, "H100"
  std::string vendor;                ///< "NVIDIA"
  std::string architecture;          ///< "hopper", "ampere", "blackwell", "cdna3", "tpu-v5p", ... (lower case)
  std::string released;              ///< "2022-09"
  bool announced = false;            ///< not yet shipping: figures may change
  int compute_capability = 0;        ///< 90 for Hopper; 0 where the vendor has none
  int sm_count = 0;                  ///< streaming multiprocessors, compute units or cores; 0 = not published
  Hertz clock{};                     ///< boost clock
  std::array<FlopsPerSecond, dtype_count> peak_dense{};  ///< dense matrix peak by DType; zero = unsupported
  Bytes memory_capacity{};
  std::string memory_kind;            ///< "HBM3"
  BytesPerSecond memory_bandwidth{};  ///< data sheet
  Bytes l2{};
  Watts tdp{};
  std::string rank_device;              ///< the part that a rank sees as its device, "MI250X-GCD"; "" = the whole
  std::string chip_of;                  ///< another device that has the same chip in another package; "" = none
  std::string scale_up_link;            ///< link name in the catalogue, "nvlink4"; "" where it has none
  int scale_up_links = 0;               ///< links a device
  BytesPerSecond scale_up_bandwidth{};  ///< all links of one device, per direction
  std::string pcie;                     ///< link name, "pcie-gen5"
  int pcie_lanes = 16;
  bool peer_to_peer = true;          ///< reaches other devices' memory over PCIe; else data are staged in the host's
  std::vector<std::string> pci_ids;  ///< vendor and device as the bus tells them, "10de:2330"
  DeviceEfficiency efficiency;       ///< measured; with the evidence for each figure
  std::string notes;
  std::vector<Price> prices;
  std::vector<Provenance> sources;

  FlopsPerSecond peak(DType t) const { return peak_dense[static_cast<std::size_t>(t)]; }
};

}  // namespace meshwright::hardware
