// How many nodes are enough?
#include <fmt/format.h>

#include <algorithm>

#include "capacity/fields.hpp"
#include "capacity/question_parts.hpp"
#include "meshwright/core/error.hpp"
#include "meshwright/core/units.hpp"

namespace meshwright::capacity {
namespace {

/// Counts that divide well: 2^i times 1, 3, 5 or 7.
std::vector<int> round_counts(int most) {
  std::vector<int> counts;
  for (const int odd : {1, 3, 5, 7}) {
    for (long long n = odd; n <= most; n *= 2) counts.push_back(static_cast<int>(n));
  }
  std::ranges::sort(counts);
  return counts;
}

}  // namespace

Answer smallest_size(const Asked& asked) {
  const Reader q = members(asked, {"candidate", "workload", "deadline", "goodput", "most_nodes"});
  const std::uint64_t number = q.has("candidate") ? number_of(asked, q.at("candidate")) : 0;
  if (!q.has("candidate") && asked.scenario.candidate_count() > 1) q.at("candidate");
  const Workload& workload = workload_of(asked, q);
  if (q.has("deadline") == q.has("goodput")) q.fail("expected 'deadline' or 'goodput'");
  const double deadline = q.has("deadline") ? read_time(q.at("deadline")).value() / 86400 : 0;
  const double goodput = q.has("goodput") ? read_share(q.at("goodput")) : 0;
  const std::vector<int> counts = round_counts(q.integer_or("most_nodes", 8192, 1, 1 << 17));
  const auto estimate_with = [&](int nodes) -> std::optional<std::pair<PlannedPoint, RunEstimate>> {
    const Candidate candidate = asked.scenario.candidate(number, "nodes", std::to_string(nodes));
    PlannedPoint point = Planner(asked.scenario, asked.catalog).plan(candidate, workload, 0);
    if (!point.run) return {};
    RunEstimate e = estimate(point);
    return std::pair(std::move(point), std::move(e));
  };
  // More nodes are faster over the range that matters; the first that suffices is found by halving.
  const auto enough = [&](int nodes) {
    const auto found = estimate_with(nodes);
    if (!found) return false;
    return deadline > 0 ? found->second.wall.value() / 86400 <= deadline : found->second.goodput >= goodput;
  };
  std::size_t low = 0, high = counts.size();
  if (deadline > 0) {
    while (low < high) {
      const std::size_t middle = (low + high) / 2;
      enough(counts[middle]) ? high = middle : low = middle + 1;
    }
  } else {
    // Goodput falls with the nodes: the most that keep it.
    while (low < high) {
      const std::size_t middle = (low + high) / 2;
      enough(counts[middle]) ? low = middle + 1 : high = middle;
    }
    if (low > 0) --low;
  }
  const std::string asked_for =
      deadline > 0 ? fmt::format("{:.4g} days", deadline) : fmt::format("a goodput of {}", format_percent(goodput));
  if (low >= counts.size() || !enough(counts[low]))
    return answer(asked, {fmt::format("no count up to {} nodes keeps {}", counts.back(), asked_for)},
                  {{"nodes", question_json()}});
  const auto found = estimate_with(counts[low]);
  const RunEstimate& e = found->second;
  const PlannedPoint& p = found->first;
  return answer(
      asked,
      {fmt::format("{} nodes ({} accelerators) keep {}: {:.1f} days, goodput {}, {}{}", counts[low], p.accelerators,
                   asked_for, e.wall.value() / 86400, format_percent(e.goodput), format(Dollars::base(e.cost.value)),
                   e.rented ? " of rent"
                            : fmt::format(" of an owned cluster that costs {}", format(Dollars::base(e.capex.value)))),
       fmt::format("layout {}", p.layout_text)},
      {{"nodes", counts[low]},
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
