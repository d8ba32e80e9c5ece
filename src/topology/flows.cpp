#include "meshwright/topology/flows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace meshwright::topology {
namespace {

/// The rank `shift` places on in the group of `rank`.
int shifted(const Axis& axis, int rank, int shift) {
  const int position = rank / axis.stride % axis.size;
  return rank + ((position + shift) % axis.size - position) * axis.stride;
}

}  // namespace

std::vector<Axis> place_axes(std::span<const Axis> degrees) {
  std::vector<Axis> axes(degrees.begin(), degrees.end());
  int stride = 1;
  for (Axis& axis : axes) {
    axis.stride = stride;
    stride *= axis.size;
  }
  return axes;
}

std::vector<Flow> ring_flows(int ranks, const Axis& axis, Bytes bytes) { return shift_flows(ranks, axis, 1, bytes); }

std::vector<Flow> shift_flows(int ranks, const Axis& axis, int shift, Bytes bytes) {
  std::vector<Flow> flows;
  if (axis.size < 2 || shift % axis.size == 0) return flows;
  flows.reserve(static_cast<std::size_t>(ranks));
  const int whole = ranks / (axis.size * axis.stride) * (axis.size * axis.stride);  // groups that fit entirely
  for (int rank = 0; rank < whole; ++rank) flows.push_back({rank, shifted(axis, rank, shift), bytes});
  return flows;
}

std::vector<Flow> all_to_all_flows(int ranks, const Axis& axis, Bytes bytes_a_pair) {
  std::vector<Flow> flows;
  for (int shift = 1; shift < axis.size; ++shift) {
    const std::vector<Flow> round = shift_flows(ranks, axis, shift, bytes_a_pair);
    flows.insert(flows.end(), round.begin(), round.end());
  }
  return flows;
}

FlowProblem flow_problem(const Fabric& fabric, std::span<const Flow> flows, const RouteOptions& options) {
  FlowProblem problem;
  problem.capacity.resize(fabric.resources());
  const double efficiency = options.routing == RoutingKind::ecmp    ? 1
                            : options.routing == RoutingKind::fixed ? fabric.static_efficiency
                                                                    : fabric.tier_efficiency;
  for (std::size_t r = 0; r < fabric.resources(); ++r)
    problem.capacity[r] = fabric.capacity(static_cast<std::uint32_t>(r)) * (r < fabric.links.size() ? 1 : efficiency);
  problem.first.reserve(flows.size() + 1);
  problem.bytes.reserve(flows.size());
  problem.uses.reserve(flows.size() * 8);
  problem.first.push_back(0);
  for (const Flow& flow : flows) {
    append_route(fabric, flow.source, flow.target, options, problem.uses);
    problem.first.push_back(static_cast<std::uint32_t>(problem.uses.size()));
    problem.bytes.push_back(flow.bytes.value());
  }
  return problem;
}

BusiestLoad busiest_load(const FlowProblem& problem) {
  std::vector<double> load(problem.capacity.size(), 0);
  for (std::size_t f = 0; f + 1 < problem.first.size(); ++f)
    for (std::uint32_t u = problem.first[f]; u < problem.first[f + 1]; ++u)
      load[problem.uses[u].resource] += problem.uses[u].share * problem.bytes[f];
  BusiestLoad busiest;
  for (std::size_t r = 0; r < load.size(); ++r) {
    if (load[r] <= 0) continue;
    const double time =
        problem.capacity[r] > 0 ? load[r] / problem.capacity[r] : std::numeric_limits<double>::infinity();
    if (time > busiest.time.value()) busiest = {Seconds::base(time), static_cast<std::uint32_t>(r)};
  }
  return busiest;
}

BusiestLoad busiest_load(const Fabric& fabric, std::span<const Flow> flows, const RouteOptions& options) {
  return busiest_load(flow_problem(fabric, flows, options));
}

std::string describe_node(const Fabric& f, std::uint32_t node) {
  const Clos& c = f.clos;
  if (f.is_torus()) return fmt::format("chip {}", node);
  if (node < static_cast<std::uint32_t>(f.units) * f.unit.kinds.size()) {
    const auto local = node % static_cast<std::uint32_t>(f.unit.kinds.size());
    const auto unit = node / static_cast<std::uint32_t>(f.unit.kinds.size());
    const auto gpus = static_cast<std::uint32_t>(f.unit.accelerators), nics = static_cast<std::uint32_t>(f.unit.nics);
    if (local < gpus) return fmt::format("accelerator {}", unit * gpus + local);
    if (local < gpus + nics) return fmt::format("nic {}", unit * nics + (local - gpus));
    return fmt::format("{} {} of unit {}", name(f.kinds[node]), local - gpus - nics, unit);
  }
  const std::uint32_t first = f.kinds[node] == NodeKind::leaf    ? c.leaf_node
                              : f.kinds[node] == NodeKind::spine ? c.spine_node
                                                                 : c.core_node;
  return fmt::format("{} {}", name(f.kinds[node]), node - first);
}

std::string describe_resource(const Fabric& f, std::uint32_t resource) {
  if (resource < f.links.size())
    return fmt::format("{} -> {}", describe_node(f, f.links[resource].from), describe_node(f, f.links[resource].to));
  const Clos& c = f.clos;
  const auto side = [&](std::uint32_t first) { return (resource - first) % 2 == 0 ? "uplinks" : "downlinks"; };
  if (c.direct_groups && resource >= c.pair_bundle && c.pair_bundle > 0) return "cables between two groups";
  if (resource >= c.pod_bundle) return fmt::format("{} of pod {}", side(c.pod_bundle), (resource - c.pod_bundle) / 2);
  return fmt::format("{} of leaf {}", side(c.leaf_bundle), (resource - c.leaf_bundle) / 2);
}

}  // namespace meshwright::topology
