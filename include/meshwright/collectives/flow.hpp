#pragma once
// Flow-level contention: how long a set of flows takes when they share the links of a fabric max-min fairly.
#include <span>

#include "meshwright/topology/flows.hpp"

namespace meshwright::collectives {

struct FlowResult {
  Seconds time{};              ///< until the last flow is done; infinite where one has no way left
  std::uint32_t resource = 0;  ///< what the last flow waited for, see describe_resource()
  int solves = 0;              ///< times that rates changed because flows finished
};

/// Time of flows that start together and share the fabric at max-min fair rates, which are solved anew whenever flows
/// finish (fluid model, as SimGrid's; Velho et al. 2013, doi 10.1145/2517448). Bandwidth only, no latency. After 64
/// changes of rates the rest counts as the load of its busiest link. Adaptive routing on a Dragonfly+ is the better of
/// minimal and Valiant routes. Equal flows: the busiest link's load, exactly.
FlowResult solve_flows(const Fabric& fabric, std::span<const Flow> flows, const RouteOptions& options = {});
Seconds flow_time(const Fabric& fabric, std::span<const Flow> flows, const RouteOptions& options = {});

}  // namespace meshwright::collectives
