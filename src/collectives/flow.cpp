#include "meshwright/collectives/flow.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include "meshwright/cost/fair_share.hpp"

namespace meshwright::collectives {
namespace {

constexpr int most_solves = 64;

/// Flows that are not done yet, as a problem of their own.
struct Open {
  std::vector<std::uint32_t> first{0}, flow;
  std::vector<ResourceUse> uses;
};

Open open_flows(const FlowProblem& problem, const std::vector<double>& left) {
  Open open;
  open.uses.reserve(problem.uses.size());
  for (std::uint32_t f = 0; f < left.size(); ++f) {
    if (left[f] <= 0) continue;
    for (std::uint32_t u = problem.first[f]; u < problem.first[f + 1]; ++u)
      open.uses.push_back({problem.uses[u].resource, problem.uses[u].share});
    open.first.push_back(static_cast<std::uint32_t>(open.uses.size()));
    open.flow.push_back(f);
  }
  return open;
}

/// The resource of a flow that is fullest under these rates.
std::uint32_t fullest(const FlowProblem& problem, const Open& open, const std::vector<double>& rate, std::size_t i) {
  std::vector<double> load(problem.capacity.size(), 0);
  for (std::size_t k = 0; k < open.flow.size(); ++k)
    for (std::uint32_t u = open.first[k]; u < open.first[k + 1]; ++u)
      load[open.uses[u].resource] += open.uses[u].share * rate[k];
  std::uint32_t best = open.uses[open.first[i]].resource;
  for (std::uint32_t u = open.first[i]; u < open.first[i + 1]; ++u) {
    const std::uint32_t r = open.uses[u].resource;
    if (load[r] * problem.capacity[best] > load[best] * problem.capacity[r]) best = r;
  }
  return best;
}

FlowResult solve(const FlowProblem& problem) {
  FlowResult result;
  std::vector<double> left = problem.bytes;
  for (std::size_t f = 0; f < left.size(); ++f)
    if (problem.first[f] == problem.first[f + 1]) left[f] = 0;  // a rank to itself
  for (;;) {
    const Open open = open_flows(problem, left);
    if (open.flow.empty()) return result;
    if (++result.solves > most_solves) {
      FlowProblem rest = problem;
      rest.bytes = left;
      const BusiestLoad busiest = busiest_load(rest);
      return {result.time + busiest.time, busiest.resource, result.solves};
    }
    const std::vector<double> rate =
        fair_share({.capacity = problem.capacity, .first = open.first, .uses = open.uses, .weight = {}, .bound = {}});
    double soonest = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < open.flow.size(); ++i)
      soonest = rate[i] > 0 ? std::min(soonest, left[open.flow[i]] / rate[i]) : soonest;
    std::size_t last = 0;
    if (soonest == std::numeric_limits<double>::infinity())
      return {Seconds::base(soonest), open.uses.front().resource, result.solves};
    result.time += Seconds::base(soonest);
    bool any_left = false;
    for (std::size_t i = 0; i < open.flow.size(); ++i) {
      double& bytes = left[open.flow[i]];
      const double after = bytes - rate[i] * soonest;
      if (after > bytes * 1e-9)
        any_left = true;
      else
        last = i;
      bytes = after > bytes * 1e-9 ? after : 0;
    }
    if (!any_left) {
      result.resource = fullest(problem, open, rate, last);
      return result;
    }
  }
}

}  // namespace

FlowResult solve_flows(const Fabric& fabric, std::span<const Flow> flows, const RouteOptions& options) {
  const FlowResult direct = solve(flow_problem(fabric, flows, options));
  const bool even = options.routing == RoutingKind::adaptive || options.routing == RoutingKind::spray;
  if (!fabric.clos.direct_groups || !even || !options.minimal) return direct;
  RouteOptions detour = options;
  detour.minimal = false;
  const FlowResult valiant = solve(flow_problem(fabric, flows, detour));
  return valiant.time < direct.time ? valiant : direct;
}

Seconds flow_time(const Fabric& fabric, std::span<const Flow> flows, const RouteOptions& options) {
  return solve_flows(fabric, flows, options).time;
}

}  // namespace meshwright::collectives
