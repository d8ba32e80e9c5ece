// Two candidates side by side, term by term; what the slowest hosts cost.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "capacity/fields.hpp"
#include "capacity/question_parts.hpp"
#include "meshwright/core/error.hpp"
#include "meshwright/core/units.hpp"

namespace meshwright::capacity {
namespace {

std::string in_units(const Term& term) {
  return (term.value < 0 ? "-" : "+") + format_in(std::abs(term.value), term.unit);
}

/// The five largest differences.
std::string largest(const Term& difference) {
  std::vector<const Term*> parts;
  for (const Term& part : difference.parts) parts.push_back(&part);
  std::ranges::stable_sort(parts, std::greater<>(), [](const Term* t) { return std::abs(t->value); });
  std::string text;
  for (std::size_t i = 0; i < parts.size() && i < 5; ++i) {
    if (std::abs(parts[i]->value) < 1e-4 * std::abs(difference.value)) break;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", parts[i]->name, in_units(*parts[i]));
  }
  return text;
}

}  // namespace

Answer compare_two(const Asked& asked) {
  const Reader q = members(asked, {"candidates", "workload"});
  const std::vector<Reader> names = q.at("candidates").items();
  if (names.size() != 2) q.at("candidates").fail("expected two candidates");
  const Workload& workload = workload_of(asked, q);
  const Candidate a = candidate_named(asked, names[0]), b = candidate_named(asked, names[1]);
  const PlannedPoint first = planned(asked, a, workload), second = planned(asked, b, workload);
  const RunEstimate x = estimate(first), y = estimate(second);
  const Term time = compare(x.time, y.time), cost = compare(x.cost, y.cost), bought = compare(x.capex, y.capex);
  std::vector<std::string> lines = {fmt::format("{}: {:.1f} days, {}; {}: {:.1f} days, {}", a.name,
                                                x.wall.value() / 86400, format(Dollars::base(x.cost.value)), b.name,
                                                y.wall.value() / 86400, format(Dollars::base(y.cost.value))),
                                    fmt::format("time {}: {}", in_units(time), largest(time)),
                                    fmt::format("cost {}: {}", in_units(cost), largest(cost))};
  if (!x.rented && !y.rented) lines.push_back(fmt::format("purchase {}: {}", in_units(bought), largest(bought)));
  return answer(asked, std::move(lines),
                {{"from", a.name},
                 {"to", b.name},
                 {"time", question_json::parse(meshwright::to_json(time))},
                 {"cost", question_json::parse(meshwright::to_json(cost))},
                 {"capex", question_json::parse(meshwright::to_json(bought))}});
}

Answer slowest_removed(const Asked& asked) {
  const Reader q = members(asked, {"candidate", "workload", "share", "stop"});
  const PlannedPoint point = planned(asked, candidate_of(asked, q, "candidate"), workload_of(asked, q));
  const double share = q.has("share") ? read_share(q.at("share"), 0, 0.5) : 0.01;
  const Seconds stop = q.has("stop") ? read_time(q.at("stop")) : Seconds::base(1200);
  const Inputs& in = point.assumptions.inputs;
  const StragglerModel model = straggler_model(in);
  const RankCounts ranks{static_cast<int>(std::lround(point.run->site.hosts)), point.run->site.per_host};
  const int removed = std::max(1, static_cast<int>(std::lround(share * ranks.hosts)));
  const StragglerTimes kept = straggler_times(model, ranks, 0), without = straggler_times(model, ranks, removed);
  const double compute = point.run->step.compute;
  const auto step = [&](double factor) { return 1 + compute * (factor - 1); };
  const double gain = 1 - step(without.mean) / step(kept.mean);
  const RunEstimate e = estimate(point);
  const Seconds after = Seconds::base(stop.value() / std::max(gain, 1e-12));
  const Site& site = point.run->site;
  const double hosts = removed * capex(site, 0, in).terms.value / std::max(1.0, site.hosts);
  const double saved = gain * e.cost.value;
  const bool pays = after < e.wall && gain > 0;
  return answer(
      asked,
      {fmt::format(
           "the slowest {} of {} hosts cost {} of every step (median {:.2f} %, p99 {:.2f} % above an average rank; "
           "{:.2f} % and {:.2f} % without them)",
           removed, ranks.hosts, format_percent(gain), (step(kept.p50) - 1) * 100, (step(kept.p99) - 1) * 100,
           (step(without.p50) - 1) * 100, (step(without.p99) - 1) * 100),
       pays ? fmt::format("a stop of {} to replace them pays after {} of training; the run saves {} of {}, the hosts "
                          "cost {} to buy",
                          format(stop), format(after), format(Dollars::base(saved)),
                          format(Dollars::base(e.cost.value)), format(Dollars::base(hosts)))
            : fmt::format("keep them: a stop of {} would pay after {}, the run takes {}", format(stop), format(after),
                          format(e.wall))},
      {{"removed_hosts", removed},
       {"gain", gain},
       {"pays_after_s", after.value()},
       {"pays", pays},
       {"saved_usd", saved},
       {"hosts_usd", hosts},
       {"kept", {{"mean", kept.mean}, {"p50", kept.p50}, {"p99", kept.p99}}},
       {"without", {{"mean", without.mean}, {"p50", without.p50}, {"p99", without.p99}}}});
}

}  // namespace meshwright::capacity
