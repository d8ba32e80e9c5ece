#include "meshwright/cost/fair_share.hpp"

#include <algorithm>
#include <limits>
#include <queue>

namespace meshwright::cost {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

struct Event {
  double level;
  std::uint32_t id;  // resource, or resources + flow for a bound
  friend bool operator>(const Event& a, const Event& b) { return a.level != b.level ? a.level > b.level : a.id > b.id; }
};
using Events = std::priority_queue<Event, std::vector<Event>, std::greater<>>;

/// State of the filling: what is left of each resource after frozen flows, and how fast open flows fill it.
struct Filling {
  std::vector<double> left, slope;
  std::vector<std::uint32_t> flows_first, flows;  // flows of each resource
  std::vector<std::uint32_t> open;                // open flows of each resource

  double level(std::uint32_t r) const { return open[r] == 0 ? infinity : std::max(0.0, left[r] / slope[r]); }
};

double weight_of(const FairShareProblem& p, std::size_t flow) { return p.weight.empty() ? 1.0 : p.weight[flow]; }

Filling start(const FairShareProblem& p, std::size_t flows) {
  const std::size_t resources = p.capacity.size();
  Filling f{{p.capacity.begin(), p.capacity.end()}, std::vector<double>(resources, 0), {}, {}, {}};
  f.flows_first.assign(resources + 1, 0);
  f.open.assign(resources, 0);
  for (const ResourceUse& use : p.uses) ++f.flows_first[use.resource + 1];
  for (std::size_t r = 0; r < resources; ++r) f.flows_first[r + 1] += f.flows_first[r];
  f.flows.resize(p.uses.size());
  std::vector<std::uint32_t> next(f.flows_first.begin(), f.flows_first.end() - 1);
  for (std::size_t flow = 0; flow < flows; ++flow)
    for (std::uint32_t u = p.first[flow]; u < p.first[flow + 1]; ++u) {
      const std::uint32_t r = p.uses[u].resource;
      f.flows[next[r]++] = static_cast<std::uint32_t>(flow);
      f.slope[r] += p.uses[u].share * weight_of(p, flow);
      ++f.open[r];
    }
  return f;
}

}  // namespace

std::vector<double> fair_share(const FairShareProblem& p) {
  const std::size_t flows = p.first.empty() ? 0 : p.first.size() - 1;
  const auto resources = static_cast<std::uint32_t>(p.capacity.size());
  std::vector<double> rate(flows, -1);
  Filling f = start(p, flows);

  std::vector<Event> initial;
  for (std::uint32_t r = 0; r < resources; ++r)
    if (f.open[r] > 0) initial.push_back({f.level(r), r});
  for (std::size_t flow = 0; flow < p.bound.size(); ++flow)
    initial.push_back({p.bound[flow] / weight_of(p, flow), resources + static_cast<std::uint32_t>(flow)});
  Events events(std::greater<>(), std::move(initial));

  const auto freeze = [&](std::uint32_t flow, double level) {
    rate[flow] = weight_of(p, flow) * level;
    for (std::uint32_t u = p.first[flow]; u < p.first[flow + 1]; ++u) {
      const std::uint32_t r = p.uses[u].resource;
      f.left[r] -= p.uses[u].share * rate[flow];
      f.slope[r] -= p.uses[u].share * weight_of(p, flow);
      --f.open[r];
    }
  };
  while (!events.empty()) {
    const Event event = events.top();
    events.pop();
    if (event.id >= resources) {
      const std::uint32_t flow = event.id - resources;
      if (rate[flow] < 0) freeze(flow, event.level);
      continue;
    }
    // A resource whose other flows froze earlier fills later than was queued: queue it again at its new level.
    const double level = f.level(event.id);
    if (level == infinity) continue;
    if (level > event.level * (1 + 1e-12)) {
      events.push({level, event.id});
      continue;
    }
    for (std::uint32_t i = f.flows_first[event.id]; i < f.flows_first[event.id + 1]; ++i)
      if (rate[f.flows[i]] < 0) freeze(f.flows[i], event.level);
  }
  for (double& r : rate)
    if (r < 0) r = infinity;
  return rate;
}

}  // namespace meshwright::cost
