// How many nodes are enough?
#include <fmt/format.h>

#include <algorithm>

#include "capacity/fields.hpp"
#include "capacity/question_parts.hpp"
#include "meshwright/core/error.hpp"
#include "meshwright/core/units.hpp"

namespace meshwright::capacity {
namespace {

/// What a count has to keep: the deadline in days, or else the goodput.
struct Target {
  double deadline = 0, goodput = 0;
  bool kept_by(const RunEstimate& e) const {
    return deadline > 0 ? e.wall.value() / 86400 <= deadline : e.goodput >= goodput;
  }
};

struct Sized {
  int nodes = 0;
  PlannedPoint point;
  RunEstimate estimate;
};

/// The first of `counts` that keeps the target. Each is planned: time and goodput need not be monotone in the nodes,
/// since layouts that divide well make some counts better than larger ones. What even the accelerators' peak would not
/// do in time is passed over.
std::optional<Sized> first_that_keeps(const Asked& asked, std::uint64_t number, const Workload& workload,
                                      const std::vector<int>& counts, const Target& target) {
  Planner planner(asked.scenario, asked.catalog, asked.plans);
  for (const int nodes : counts) {
    const Candidate candidate = asked.scenario.candidate(number, "nodes", std::to_string(nodes));
    if (target.deadline > 0 && planner.least_days(candidate, workload) > target.deadline) continue;
    PlannedPoint point = planner.plan(candidate, workload, 0);
    if (!point.run) continue;
    RunEstimate e = estimate(point);
    if (target.kept_by(e)) return Sized{nodes, std::move(point), std::move(e)};
  }
  return {};
}

}  // namespace

std::vector<int> round_counts(int most) {
  std::vector<int> counts;
  for (const int odd : {1, 3, 5, 7}) {
    for (long long n = odd; n <= most; n *= 2) counts.push_back(static_cast<int>(n));
  }
  std::ranges::sort(counts);
  return counts;
}

Answer smallest_size(const Asked& asked) {
  const Reader q = members(asked, {"candidate", "workload", "deadline", "goodput", "most_nodes"});
  const std::uint64_t number = q.has("candidate") ? number_of(asked, q.at("candidate")) : 0;
  if (!q.has("candidate") && asked.scenario.candidate_count() > 1) q.at("candidate");
  const Workload& workload = workload_of(asked, q);
  if (q.has("deadline") == q.has("goodput")) q.fail("expected 'deadline' or 'goodput'");
  const double deadline = q.has("deadline") ? read_time(q.at("deadline")).value() / 86400 : 0;
  const double goodput = q.has("goodput") ? read_share(q.at("goodput")) : 0;
  std::vector<int> counts = round_counts(q.integer_or("most_nodes", 8192, 1, 1 << 17));
  const int most = counts.back();
  // The fewest that are in time, or the most that keep the goodput.
  if (goodput > 0) std::ranges::reverse(counts);
  const auto found = first_that_keeps(asked, number, workload, counts, {deadline, goodput});
  const std::string asked_for =
      deadline > 0 ? fmt::format("{:.4g} days", deadline) : fmt::format("a goodput of {}", format_percent(goodput));
  if (!found)
    return answer(asked, {fmt::format("no count up to {} nodes keeps {}", most, asked_for)},
                  {{"nodes", question_json()}});
  const RunEstimate& e = found->estimate;
  const PlannedPoint& p = found->point;
  return answer(
      asked,
      {fmt::format("{} nodes ({} accelerators) keep {}: {:.1f} days, goodput {}, {}{}", found->nodes, p.accelerators,
                   asked_for, e.wall.value() / 86400, format_percent(e.goodput), format(Dollars::base(e.cost.value)),
                   e.rented ? " of rent"
                            : fmt::format(" of an owned cluster that costs {}", format(Dollars::base(e.capex.value)))),
       fmt::format("layout {}", p.layout_text)},
      {{"nodes", found->nodes},
       {"gpus", p.accelerators},
       {"days", e.wall.value() / 86400},
       {"goodput", e.goodput},
       {"gpu_hours", e.gpu_hours},
       {"cost_usd", e.cost.value},
       {"capex_usd", e.rented ? question_json() : question_json(e.capex.value)},
       {"power_mw", e.power.value() / 1e6},
       {"layout", question_json::parse(p.layout)}});
}

}  // namespace meshwright::capacity
