#pragma once
// The scale-out network in tiers: how many switches deep it must be, what each tier reaches, and what one rank gets of
// it. Closed form, from the cluster's description alone; fabric.hpp builds the same network as a graph.
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "meshwright/core/quantity.hpp"
#include "meshwright/hardware/cluster.hpp"

namespace meshwright::topology {

/// Expected share of line rate that crosses tiers above the leaf under `routing` ("static", "ecmp", "adaptive",
/// "spray"). ECMP: see expected_ecmp_efficiency in routing.hpp, of which this is the tabulated value for one to
/// four flows a NIC.
double routing_efficiency(const FabricKind& fabric, std::string_view routing);

/// One tier, innermost first.
struct Tier {
  std::string name;             ///< "leaf", "spine", "core", "group", "global"
  long long reach = 0;          ///< accelerators below one unit of this tier (a leaf set, a pod, everything)
  int hops = 1;                 ///< switches between two accelerators that meet at this tier
  double oversubscription = 1;  ///< downlink:uplink on the way up to this tier, product over the tiers below
  BytesPerSecond per_rank{};    ///< what one accelerator gets when all cross this tier at once
};

struct TierPlan {
  int radix = 0;            ///< ports of one switch at NIC (or port) speed
  int planes = 1;           ///< independent copies of the fabric
  int rails = 1;            ///< NICs of one node on different leaves
  bool joins_rails = true;  ///< false: rail-only or multi-plane; ranks on different rails relay over NVLink
  std::vector<Tier> tiers;
  std::string reason;  ///< "2 tiers: 1,024 NICs exceed one 64-port switch; two tiers reach k^2/2 = 2,048"
};

/// The tiers of a cluster's network. With Network::tiers = 0, the fewest that fit; empty for one node.
TierPlan plan_tiers(const Cluster& cluster);

/// NIC bandwidth of one accelerator when all of a node send at once; not more than its PCIe slot carries.
BytesPerSecond nic_bandwidth_per_rank(const Cluster& cluster);
/// x16 slot of "pcie-gen4" and the like, peak per direction; zero for other names.
BytesPerSecond pcie_bandwidth(std::string_view pcie, int lanes = 16);
/// Rates of PCIe 1 to 7 [GT/s a lane].
inline constexpr std::array<double, 7> pcie_rates = {2.5, 5, 8, 16, 32, 64, 128};
/// What `lanes` at a rate carry per direction after line coding: 8b/10b up to 5 GT/s, 128b/130b up to 32, above it
/// flits of 256 bytes with 236 of data (PCI-SIG base specifications 1.0 to 7.0). 2.5 GT/s x1 is 0.25 GB/s.
BytesPerSecond pcie_bandwidth(double giga_transfers, int lanes);

}  // namespace meshwright::topology
