#pragma once
// The scale-out network in tiers: how many switches deep it must be, what each tier reaches, and what one rank gets of
// it. Closed form, from the cluster's description alone; fabric.hpp builds the same network as a graph.
#include <string>
#include <string_view>
#include <vector>

#include "meshwright/core/quantity.hpp"
#include "meshwright/hardware/cluster.hpp"

namespace meshwright::topology {

/// Flows on the fullest of `uplinks` when `flows` are hashed onto them: the mean over hashes, by taking the loads as
/// independent Poisson counts, sum over k of 1 - P(load < k)^uplinks; never below the even share. 32 flows on 32
/// uplinks: 3.6. Checked against expected_ecmp_efficiency (routing.hpp), which plays the hashes.
double fullest_uplink(double flows, double uplinks);
/// Achieved over line rate above the leaf where flows spread evenly: the fabric's figure; with routes fixed by
/// destination ("static") where it is usually routed otherwise, at most 0.9.
double tier_efficiency(const FabricKind& fabric, std::string_view routing);
/// Expected share of line rate that NICs get across tiers above the leaf under `routing` ("static", "ecmp", "adaptive",
/// "spray") when `nics` send through `uplinks` at once. ECMP: FabricKind::hashed_flows of each NIC, hashed.
double routing_efficiency(const FabricKind& fabric, std::string_view routing, double nics = 64, double uplinks = 64);

/// One tier, innermost first.
struct Tier {
  std::string name;             ///< "leaf", "spine", "core", "group", "global"
  long long reach = 0;          ///< accelerators below one unit of this tier (a leaf set, a pod, everything)
  int hops = 1;                 ///< switches between two accelerators that meet at this tier
  double oversubscription = 1;  ///< downlink:uplink on the way up to this tier, product over the tiers below
  BytesPerSecond per_rank{};    ///< what one accelerator gets when all cross this tier at once
  BytesPerSecond flow{};        ///< what it gets when few cross, as in a ring: no uplink is short, but flows collide
  std::string limit{};          ///< what else than the tier limits it: "pcie-gen5 x16"; "" = the tier
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

/// NIC bandwidth of one accelerator when all of a node send at once; see hardware::rank_rate().
BytesPerSecond nic_bandwidth_per_rank(const Cluster& cluster);

}  // namespace meshwright::topology
