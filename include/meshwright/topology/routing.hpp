#pragma once
// How traffic finds its way: which links a flow uses, and what uneven use costs.
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "meshwright/topology/fabric.hpp"

namespace meshwright::topology {

enum class RoutingKind {
  fixed,     ///< "static": the uplink follows from the destination (D-mod-k, as InfiniBand's ftree engine does)
  ecmp,      ///< each flow (queue pair) hashed onto one uplink for its life
  adaptive,  ///< switches steer to the emptier uplink: even use, at FabricTraits::tier_efficiency
  spray,     ///< every packet on another uplink: even use, at FabricTraits::tier_efficiency
};
/// "static", "ecmp", "adaptive" or "spray"; Error(where, ...) with the nearest spelling.
RoutingKind routing_kind(std::string_view name, const std::string& where);

struct RouteOptions {
  RoutingKind routing = RoutingKind::adaptive;
  int flows_a_pair = 1;    ///< queue pairs of one source and target, each hashed by itself (ECMP)
  std::uint64_t seed = 1;  ///< of the hash
  bool relay = true;       ///< cross-rail traffic changes rails over NVLink first (NCCL's PXN)
  bool minimal = true;     ///< Dragonfly+: direct cables between two groups; false = by a third group (Valiant)
};

/// Links and bundles that a flow between two ranks uses, with its share on each; empty for a rank to itself.
/// Failed ports, NICs and leaves are avoided where there is another way.
void append_route(const Fabric& fabric, int source, int target, const RouteOptions& options, Route& out);

/// Share of line rate that the slowest of `flows` gets when they are hashed onto as many uplinks as there are flows
/// (full bisection), `queue_pairs` hashes for each flow: mean over `trials` of 1 / (load of the fullest uplink).
/// Deterministic. One flow on 32 uplinks: about 0.28; 32 hashes: about 0.68.
double expected_ecmp_efficiency(int uplinks, int queue_pairs, int trials = 2000, std::uint64_t seed = 1);

}  // namespace meshwright::topology
