#include "meshwright/capacity/congestion.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "capacity/fields.hpp"
#include "core/embedded.hpp"
#include "meshwright/core/error.hpp"
#include "meshwright/cost/fair_share.hpp"

namespace meshwright::capacity {
namespace {

using topology::FlowProblem;
using topology::RouteOptions;

CongestionProfile read_profile(const Reader& r) {
  r.allow_only({"name", "title", "routing", "queue_pairs", "head_of_line", "control", "notes", "sources"});
  CongestionProfile p;
  p.name = r.at("name").string();
  p.title = r.at("title").string();
  p.routing = r.at("routing").string();
  topology::routing_kind(p.routing, r.where());
  p.queue_pairs = r.integer_or("queue_pairs", 1, 1, 1024);
  p.head_of_line = r.boolean_or("head_of_line", false);
  p.control = read_number(r.at("control"), 0.01, 1);
  for (const Reader& source : r.at("sources").items()) p.sources.push_back(read_provenance(source));
  return p;
}

std::vector<CongestionProfile> read_profiles() {
  std::vector<CongestionProfile> profiles;
  for (const EmbeddedFile& file : embedded_capacity()) {
    const auto list = Reader::text(file.content, std::string(file.name)).find("congestion");
    if (!list) continue;
    for (const Reader& entry : list->items()) profiles.push_back(read_profile(entry));
  }
  return profiles;
}

std::vector<double> fair_rates(const FlowProblem& problem) {
  std::vector<cost::ResourceUse> uses;
  uses.reserve(problem.uses.size());
  for (const topology::FlowShare& use : problem.uses) uses.push_back({use.resource, use.share});
  return cost::fair_share(
      {.capacity = problem.capacity, .first = problem.first, .uses = uses, .weight = {}, .bound = {}});
}

/// What senders put into the network before anything slows them: an equal share of their own port.
std::vector<double> line_rates(const FlowProblem& problem) {
  std::vector<double> shares(problem.capacity.size(), 0), rates(problem.bytes.size(), 0);
  const auto port = [&](std::size_t f) -> const topology::FlowShare& { return problem.uses[problem.first[f]]; };
  const auto moves = [&](std::size_t f) { return problem.first[f + 1] > problem.first[f]; };
  for (std::size_t f = 0; f < rates.size(); ++f)
    if (moves(f)) shares[port(f).resource] += port(f).share;
  for (std::size_t f = 0; f < rates.size(); ++f)
    if (moves(f)) rates[f] = problem.capacity[port(f).resource] / shares[port(f).resource];
  return rates;
}

/// What is left of the offered rates where queues are first-in-first-out and lossless.
std::vector<double> blocked_rates(const FlowProblem& problem, const std::vector<double>& offered) {
  std::vector<double> load(problem.capacity.size(), 0);
  const auto each_use = [&](std::size_t f, auto visit) {
    for (std::uint32_t u = problem.first[f]; u < problem.first[f + 1]; ++u) visit(problem.uses[u]);
  };
  for (std::size_t f = 0; f < offered.size(); ++f)
    each_use(f, [&](const topology::FlowShare& use) { load[use.resource] += use.share * offered[f]; });
  std::vector<double> served(problem.capacity.size(), 1);
  for (std::size_t r = 0; r < served.size(); ++r)
    if (load[r] > problem.capacity[r]) served[r] = problem.capacity[r] / load[r];
  // Pauses travel towards the senders until nothing changes: at most once a hop.
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t f = 0; f < offered.size(); ++f) {
      double ahead = 1;
      for (std::uint32_t u = problem.first[f + 1]; u-- > problem.first[f];) {
        double& here = served[problem.uses[u].resource];
        if (ahead < here * (1 - 1e-12)) here = ahead, changed = true;
        ahead = here;
      }
    }
  }
  std::vector<double> rates(offered);
  for (std::size_t f = 0; f < offered.size(); ++f)
    each_use(f,
             [&](const topology::FlowShare& use) { rates[f] = std::min(rates[f], offered[f] * served[use.resource]); });
  return rates;
}

}  // namespace

const std::vector<CongestionProfile>& congestion_profiles() {
  static const std::vector<CongestionProfile> profiles = read_profiles();
  return profiles;
}

const CongestionProfile& congestion_profile(std::string_view name, const std::string& where) {
  std::vector<std::string> names;
  for (const CongestionProfile& p : congestion_profiles()) {
    if (p.name == name) return p;
    names.push_back(p.name);
  }
  throw Error(where, fmt::format("no congestion profile '{}'{}", name, suggestion(name, names)));
}

CongestionShares congestion(const topology::Fabric& fabric, std::span<const topology::Flow> flows,
                            const CongestionProfile& profile, std::uint64_t seed) {
  CongestionShares out;
  if (flows.empty()) return out;
  const std::vector<double> ideal =
      fair_rates(topology::flow_problem(fabric, flows, {.routing = topology::RoutingKind::adaptive}));
  const RouteOptions options{
      .routing = topology::routing_kind(profile.routing, "profile"), .flows_a_pair = profile.queue_pairs, .seed = seed};
  const FlowProblem problem = topology::flow_problem(fabric, flows, options);
  const std::vector<double> fair = fair_rates(problem);
  const std::vector<double> rates = profile.head_of_line ? blocked_rates(problem, line_rates(problem)) : fair;
  double sum = 0;
  std::size_t victims = 0;
  for (std::size_t f = 0; f < rates.size(); ++f) {
    const double share = ideal[f] > 0 ? std::min(1.0, rates[f] / ideal[f]) * profile.control : 1;
    out.slowest = std::min(out.slowest, share);
    sum += share;
    victims += rates[f] < 0.99 * std::min(fair[f], ideal[f]) ? 1U : 0U;
  }
  out.mean = sum / static_cast<double>(rates.size());
  out.victims = static_cast<double>(victims) / static_cast<double>(rates.size());
  return out;
}

}  // namespace meshwright::capacity
