#pragma once
// Traffic on a fabric: which ranks send to which, and what load that puts on every link. The rates under max-min fair
// sharing are solved one layer up (collectives/flow.hpp); the busiest link's load needs no solver.
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "meshwright/topology/fabric.hpp"
#include "meshwright/topology/routing.hpp"

namespace meshwright::topology {

struct Flow {
  int source = 0, target = 0;
  Bytes bytes{};
};

/// One axis of a layout: groups of `size` ranks, `stride` apart.
struct Axis {
  std::string name;
  int size = 1, stride = 1;
};

/// Axes with their strides from degrees in placement order, innermost first: {{"tp", 8}, {"pp", 16}, {"dp", 128}} gives
/// strides 1, 8, 128. The default order of layouts is tp-cp-ep-dp-pp.
std::vector<Axis> place_axes(std::span<const Axis> degrees);

/// Every rank sends `bytes` to the next of its group, in all groups of the axis at once.
std::vector<Flow> ring_flows(int ranks, const Axis& axis, Bytes bytes);
/// Round `shift` of a pairwise all-to-all: every rank sends `bytes` to the rank `shift` places on in its group.
std::vector<Flow> shift_flows(int ranks, const Axis& axis, int shift, Bytes bytes);
/// Every rank sends `bytes` to each other rank of its group: a whole all-to-all in one phase.
std::vector<Flow> all_to_all_flows(int ranks, const Axis& axis, Bytes bytes_a_pair);

/// Flows with their routes, as plain vectors for a solver: flow f uses uses[first[f]] to uses[first[f + 1] - 1].
struct FlowProblem {
  std::vector<double> capacity;  ///< bytes a second of each resource, routing efficiency applied
  std::vector<std::uint32_t> first;
  Route uses;
  std::vector<double> bytes;
};
FlowProblem flow_problem(const Fabric& fabric, std::span<const Flow> flows, const RouteOptions& options = {});

/// The resource that takes longest to carry its load, and that time: a lower bound on any schedule of the flows, and
/// for equal flows exactly when the last of them finishes.
struct BusiestLoad {
  Seconds time{};
  std::uint32_t resource = 0;
};
BusiestLoad busiest_load(const FlowProblem& problem);
BusiestLoad busiest_load(const Fabric& fabric, std::span<const Flow> flows, const RouteOptions& options = {});

/// "leaf 3 -> spine 1", "uplinks of leaf 3", "nic 12 -> leaf 4", for messages.
std::string describe_resource(const Fabric& fabric, std::uint32_t resource);
/// "spine 1" of a node of the graph.
std::string describe_node(const Fabric& fabric, std::uint32_t node);

}  // namespace meshwright::topology
