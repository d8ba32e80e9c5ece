#include "meshwright/capacity/whatif.hpp"

#include <algorithm>
#include <map>

#include "capacity/sweep.hpp"
#include "meshwright/capacity/json.hpp"
#include "meshwright/capacity/questions.hpp"

namespace meshwright::capacity {
namespace {

constexpr std::size_t most_compared = 64;  // candidates whose draws are compared one by one
constexpr std::size_t most_rivals = 4;     // candidates next to the best whose flips are looked for

/// Points of one workload, best first.
std::vector<std::size_t> ranking(const Scenario& scenario, const std::vector<Result>& results,
                                 std::string_view workload) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (results[i].workload == workload && results[i].runs()) order.push_back(i);
  }
  std::ranges::sort(order, [&](std::size_t a, std::size_t b) { return better(scenario, results[a], results[b]); });
  return order;
}

std::vector<std::size_t> pareto_of(const std::vector<Result>& results, std::vector<std::size_t> order) {
  std::ranges::sort(order, [&](std::size_t a, std::size_t b) {
    const Result &x = results[a], &y = results[b];
    return x.days != y.days ? x.days < y.days : x.cost != y.cost ? x.cost < y.cost : x.index < y.index;
  });
  std::vector<std::size_t> front;
  for (const std::size_t i : order) {
    if (front.empty() || results[i].cost < results[front.back()].cost) front.push_back(i);
  }
  return front;
}

std::vector<std::pair<std::string, double>> chances_of(const Scenario& scenario,
                                                       const std::vector<const PlannedPoint*>& points) {
  std::vector<std::vector<Draw>> draws;
  for (const PlannedPoint* p : points) draws.push_back(draw_points(*p, scenario.draws, scenario.seed));
  std::vector<int> wins(points.size(), 0);
  for (int d = 0; d < scenario.draws; ++d) {
    const auto value = [&](std::size_t i) {
      const Draw& draw = draws[i][static_cast<std::size_t>(d)];
      return scenario.by_cost() ? draw.cost : draw.days;
    };
    std::size_t best = 0;
    for (std::size_t i = 1; i < points.size(); ++i) best = value(i) < value(best) ? i : best;
    ++wins[best];
  }
  std::vector<std::pair<std::string, double>> out;
  for (std::size_t i = 0; i < points.size(); ++i)
    out.emplace_back(points[i]->candidate, static_cast<double>(wins[i]) / scenario.draws);
  return out;
}

/// Plans a point again where it is asked for: results alone don't have what the sensitivity needs.
class Plans {
 public:
  Plans(const Scenario& scenario, const hardware::Catalog& catalog, std::shared_ptr<PlanCache> plans)
      : planner_(scenario, catalog, std::move(plans)) {}
  const PlannedPoint& of(std::uint64_t index) {
    const auto at = plans_.find(index);
    return at != plans_.end() ? at->second : plans_.emplace(index, planner_.plan(index)).first->second;
  }

 private:
  Planner planner_;
  std::map<std::uint64_t, PlannedPoint> plans_;
};

Best best_of(const Scenario& scenario, const std::vector<Result>& results, const std::string& workload, Plans& plans) {
  Best best{
      .workload = workload, .result = {}, .unlimited = {}, .pareto = {}, .sensitivity = {}, .flips = {}, .chances = {}};
  const std::vector<std::size_t> order = ranking(scenario, results, workload);
  if (order.empty()) return best;
  const bool by_cost = scenario.by_cost();
  if (results[order.front()].meets_all()) best.result = order.front();
  best.unlimited =
      *std::ranges::min_element(order, {}, [&](std::size_t i) { return by_cost ? results[i].cost : results[i].days; });
  best.pareto = pareto_of(results, order);
  const PlannedPoint& winner = plans.of(results[order.front()].index);
  best.sensitivity = tornado(winner, by_cost);
  for (std::size_t i = 1; i < order.size() && i <= most_rivals; ++i) {
    for (Flip& flip : flips(winner, plans.of(results[order[i]].index), by_cost)) best.flips.push_back(std::move(flip));
  }
  if (scenario.draws > 0 && order.size() > 1 && order.size() <= most_compared) {
    std::vector<const PlannedPoint*> points;
    for (const std::size_t i : order) points.push_back(&plans.of(results[i].index));
    best.chances = chances_of(scenario, points);
  }
  return best;
}

}  // namespace

WhatIf conclude(const Scenario& scenario, const hardware::Catalog& catalog, std::vector<Result> results,
                std::shared_ptr<PlanCache> plans) {
  WhatIf out;
  out.results = std::move(results);
  std::ranges::sort(out.results, {}, &Result::index);
  out.assumptions = assumption_lines(scenario.assumptions);
  out.plans = plans != nullptr ? std::move(plans) : make_plan_cache();
  out.interrupted = out.results.size() < scenario.point_count();
  if (out.interrupted) return out;
  Plans planned(scenario, catalog, out.plans);
  for (const Workload& workload : scenario.workloads)
    out.best.push_back(best_of(scenario, out.results, workload.name, planned));
  return out;
}

WhatIf run_whatif(const Scenario& scenario, const hardware::Catalog& catalog, const WhatIfOptions& options) {
  check_questions(scenario, catalog);
  check_jobs(scenario, catalog);
  const auto plans = make_plan_cache();
  Swept swept = sweep(scenario, catalog, options, plans);
  return conclude(scenario, catalog, std::move(swept.results), plans);
}

}  // namespace meshwright::capacity
