#pragma once
// Links, NICs and switches. Every bandwidth is per direction.
#include <string>
#include <vector>

#include "meshwright/core/quantity.hpp"
#include "meshwright/hardware/provenance.hpp"

namespace meshwright::hardware {

/// A link generation: "nvlink4", "pcie-gen5", "infiniband-ndr", "ethernet-400g", "efa-v2", "ici-v5p", "xgmi3", ...
struct Link {
  std::string name, family;  ///< family: "nvlink", "pcie", "infiniband", "ethernet", ...
  std::vector<std::string> aliases;
  BytesPerSecond lane_bandwidth{};  ///< one link or lane (NVLink: one link; PCIe: one lane after coding), peak
  double giga_transfers = 0;        ///< PCIe: rate of a lane [GT/s]; its lane_bandwidth follows; 0 = another family
  double coding = 1;                ///< PCIe: data over what the lane signals (8b/10b, 128b/130b, 242 of 256 in flits)
  int lanes = 1;                    ///< links or lanes of the usual port: bandwidth = lanes * lane_bandwidth
  BytesPerSecond bandwidth{};       ///< the usual port (NVLink: a device's sum; PCIe x16; a 4x port), peak
  BytesPerSecond data_bandwidth{};  ///< of it, what line coding leaves; zero = `bandwidth` is net of coding
  BytesPerSecond achieved{};        ///< measured for the usual port; zero = not known
  Seconds latency{};                ///< one hop; zero = not published
  std::string medium;               ///< whose collective figures stand for it where it has none of its own
  bool usual = false;               ///< the link of its family to assume where none is stated
  bool announced = false;           ///< not yet shipping
  std::string notes;
  std::vector<Provenance> sources;
};

struct Nic {
  std::string name, vendor;
  std::vector<std::string> aliases;
  bool announced = false;
  BytesPerSecond bandwidth{};  ///< all ports
  int ports = 1;
  std::string pcie;
  int pcie_lanes = 16;
  Hertz message_rate{};  ///< messages a second; 0 = not published
  Seconds latency{};     ///< one way, adapter to adapter, smallest message; zero = not published
  Watts power{};
  std::string notes;
  std::vector<Price> prices;
  std::vector<Provenance> sources;
};

struct Switch {
  std::string name, fabric;  ///< fabric: "infiniband", "ethernet", "nvlink", "slingshot", "optical", ...
  std::vector<std::string> aliases;
  bool announced = false;
  int radix = 0;  ///< ports at `port_bandwidth`
  BytesPerSecond port_bandwidth{};
  int split_radix = 0;  ///< most ports when each is split into slower ones; 0 = ports don't split
  Seconds hop_latency{};
  bool reduces = false;      ///< in-network reduction (SHARP, NVLink SHARP)
  std::string reduction;     ///< "SHARPv3", "NVLS", ""
  int planes = 0;            ///< NVLink: switches that the links of a board's devices are spread over; 0 = one
  bool co_packaged = false;  ///< optics beside the chip: no pluggable transceivers in its ports
  Watts power{};
  std::string notes;
  std::vector<Price> prices;
  std::vector<Provenance> sources;
};

/// Collective figures of a fabric up to certain rates; from twice the rates on the next row's, between them in between.
struct FabricMedium {
  std::string medium;
  BytesPerSecond nic_bandwidth{}, node_bandwidth{};  ///< at most, of one NIC and of all of a node; zero = any
  bool stand_in = false;                             ///< figures of another fabric, because this one has none
};

/// A kind of scale-out network: how it is built and what it is like, apart from its speed.
struct FabricKind {
  std::string name;                  ///< "infiniband", "roce", "efa", ...
  std::vector<std::string> aliases;  ///< other exact names
  std::vector<std::string> words;    ///< words of a free text that mean it: "ib", "ndr"
  std::vector<std::string> hints;    ///< words that mean it where no other fabric is named: "rdma"
  std::string topology, routing;     ///< how it is usually built and routed
  int hashed_flows = 16;             ///< flows of one NIC that ECMP hashes by themselves (queue pairs, channels)
  std::string over_rdma;       ///< kernel sockets: the kind that a text means that also says RDMA; "" = RDMA itself
  BytesPerSecond per_rank{};   ///< most that one rank's transport moves (kernel TCP: one core); zero = the NIC's
  Seconds hop{};               ///< one switch and the cable to it, as seen by a 64-byte message
  double tier_efficiency = 1;  ///< achieved over line rate above the leaf, as it is usually routed
  bool by_plugin = false;      ///< NCCL reaches it through a network plug-in only
  bool told_by_runs = false;   ///< runs tell more of its rate in a step than benchmarks: flows share shallow adapters
  bool negotiates = false;     ///< connections agree on extensions (NCCL_IB_ECE_ENABLE), at times on a slow path
  bool switched = true;        ///< false: accelerators are wired to each other (ICI)
  std::string switches;        ///< fabric of the catalogue's switches that it is built of
  BytesPerSecond reduces_from{};  ///< its switches reduce, as far as they can, from this NIC rate on; zero = they don't
  std::vector<FabricMedium> media;  ///< collective figures; empty = those of its own name
  std::string notes;
  std::vector<Provenance> sources;
};

/// `sw` with its ports split down to `port_bandwidth`: as many times more of them as the split gives, at most
/// split_radix. A switch whose ports are slower, or don't split, comes back as it is.
Switch split_to(Switch sw, BytesPerSecond port_bandwidth);

}  // namespace meshwright::hardware
