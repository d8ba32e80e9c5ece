#include "meshwright/capacity/objectives.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>

#include "meshwright/core/error.hpp"

namespace meshwright::capacity {
namespace {

/// What a second of a step costs on one site. Energy and money are linear in the share of computing.
struct Rates {
  double wall = 1;      ///< wall time over useful time, without stragglers, cap and degraded network
  double degraded = 0;  ///< more of it for a step that is all scale-out communication
  double compute = 0;   ///< more of a step's compute: stragglers and power cap
  double dollars_waiting = 0, dollars_computing = 0;  ///< a second of wall time
  double joules_waiting = 0, joules_computing = 0;
  bool priced = true;
  std::string unpriced;
};

/// A long run of the job's site that computes all the time, or never.
RunCase long_run(const hardware::Catalog& catalog, const parallel::Job& job, const RunAssumptions& a, double compute) {
  constexpr double step = 10, steps = 1e6;  // seconds; long enough for whole steps not to matter
  RunCase run;
  run.site = make_site(catalog, job.cluster, job.accelerators);
  run.time.tokens = 1e12;
  run.time.steps = static_cast<long long>(steps);
  run.time.training = Seconds::base(step * steps);
  run.step.step = Seconds::base(step);
  run.step.compute = compute;
  run.state = checkpoint_bytes(job, a.checkpoint);
  return run;
}

Rates rates_of(const hardware::Catalog& catalog, const parallel::Job& job, const RunAssumptions& assumptions) {
  RunAssumptions plain = assumptions;
  for (const char* none : {"stragglers.spread", "stragglers.slow_share", "stragglers.jitter"})
    plain.inputs.set(none, 0);
  const RunCase waiting = long_run(catalog, job, assumptions, 0);
  RunCase computing = waiting;
  computing.step.compute = 1;
  computing.site.power_cap = computing.site.power_limit = {};
  RunCase far = waiting;
  far.step.scale_out = 1;
  const double useful = waiting.time.training.value();
  const RunEstimate w = estimate_run(waiting, plain), c = estimate_run(computing, plain), f = estimate_run(far, plain);
  Rates rates;
  rates.wall = w.wall.value() / useful;
  rates.degraded = (f.wall.value() - w.wall.value()) / useful;
  const RunEstimate slow = estimate_run(computing, assumptions);
  rates.compute = slow.stragglers.mean - 1 + 1 / capped_rate(waiting.site, slow.spares, assumptions.inputs) - 1;
  rates.dollars_waiting = w.cost.value / w.wall.value();
  rates.dollars_computing = c.cost.value / c.wall.value();
  rates.joules_waiting = w.energy.value() / w.wall.value();
  rates.joules_computing = c.energy.value() / c.wall.value();
  rates.priced = w.rented || w.unpriced.empty();
  if (!rates.priced) rates.unpriced = w.unpriced.front();
  return rates;
}

/// Rates by accelerators, worked out when they are asked for. Searches ask from several threads.
class RateTable {
 public:
  RateTable(const hardware::Catalog& catalog, RunAssumptions assumptions)
      : catalog_(catalog), assumptions_(std::move(assumptions)) {}
  const Rates& of(const parallel::Job& job) {
    const std::lock_guard lock(mutex_);
    const auto key = std::pair(job.cluster.name, job.accelerators);
    const auto at = rates_.find(key);
    return at != rates_.end() ? at->second : rates_.emplace(key, rates_of(catalog_, job, assumptions_)).first->second;
  }

 private:
  const hardware::Catalog& catalog_;
  RunAssumptions assumptions_;
  std::mutex mutex_;
  std::map<std::pair<std::string, int>, Rates> rates_;  // references stay valid
};

double wall_of(const Rates& rates, const StepFacts& step) {
  return step.step.value() * ((1 + rates.compute * step.compute) * rates.wall + rates.degraded * step.scale_out);
}

double between(double waiting, double computing, double share) { return waiting + (computing - waiting) * share; }

StepFacts facts(const search::Outcome& o) { return step_facts(o.job, o.layout, o.step.time, o.step.hidden); }

void check_price(const Rates& rates) {
  if (!rates.priced)
    throw Error("--objective",
                fmt::format("no price of {} is known; state prices.node or prices.gpu_hour", rates.unpriced));
}

}  // namespace

std::vector<search::Objective> run_objectives(const hardware::Catalog& catalog, const RunAssumptions& assumptions) {
  const auto table = std::make_shared<RateTable>(catalog, assumptions);
  const auto least_wall = [table](const parallel::Job& job, Seconds time) {
    return time.value() * table->of(job).wall;
  };
  const auto dollars = [](const Rates& r, double share) {
    check_price(r);
    return between(r.dollars_waiting, r.dollars_computing, share);
  };
  const auto joules = [](const Rates& r, double share) { return between(r.joules_waiting, r.joules_computing, share); };
  const auto value_with = [table](auto rate) {
    return [table, rate](const search::Outcome& o) {
      const Rates& rates = table->of(o.job);
      const StepFacts step = facts(o);
      return wall_of(rates, step) * rate(rates, step.compute);
    };
  };
  const auto least_with = [table](auto rate) {
    return [table, rate](const parallel::Job& job, Seconds time) {
      const Rates& rates = table->of(job);
      return time.value() * rates.wall * std::min(rate(rates, 0), rate(rates, 1));
    };
  };
  return {search::Objective{.name = std::string(run_objective_names[0]),
                            .title = "step time with failures and stragglers",
                            .unit = "s",
                            .value = [table](const search::Outcome& o) { return wall_of(table->of(o.job), facts(o)); },
                            .least = least_wall},
          search::Objective{.name = std::string(run_objective_names[1]),
                            .title = "cost of a step",
                            .unit = "$",
                            .value = value_with(dollars),
                            .least = least_with(dollars),
                            .over_counts = true},
          search::Objective{.name = std::string(run_objective_names[2]),
                            .title = "energy of a step",
                            .unit = "J",
                            .value = value_with(joules),
                            .least = least_with(joules),
                            .over_counts = true}};
}

}  // namespace meshwright::capacity
