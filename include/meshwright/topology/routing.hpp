#pragma once
// How traffic finds its way: which links a flow uses, and what uneven use costs.
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "meshwright/hardware/network.hpp"
#include "meshwright/topology/fabric.hpp"

namespace meshwright::topology {

struct RouteOptions {
  RoutingKind routing = RoutingKind::adaptive;
  int flows_a_pair = 1;    ///< queue pairs of one source and target, each hashed by itself (ECMP)
  std::uint64_t seed = 1;  ///< of the hash
  bool relay = true;       ///< cross-rail traffic changes rails over NVLink first (NCCL's PXN)
  bool minimal = true;     ///< Dragonfly+: direct cables between two groups; false = by a third group (Valiant)
};

/// As a cluster's network routes; ECMP hashes as many flows of a pair as its fabric tells apart.
RouteOptions routes_of(const Cluster& cluster);

/// Links and bundles that a flow between two ranks uses, with its share on each; empty for a rank to itself.
/// Failed ports, NICs and leaves are avoided where there is another way.
void append_route(const Fabric& fabric, int source, int target, const RouteOptions& options, Route& out);

/// Share of line rate that the slowest of `flows` gets when they are hashed onto as many uplinks as there are flows
/// (full bisection), `queue_pairs` hashes for each flow: mean over `trials` of 1 / (load of the fullest uplink).
/// Deterministic. One flow on 32 uplinks: about 0.28; 32 hashes: about 0.68.
double expected_ecmp_efficiency(int uplinks, int queue_pairs, int trials = 2000, std::uint64_t seed = 1);

}  // namespace meshwright::topology
