// How often it fails, how often to save, and what is left; what each fault of the fabric costs.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "capacity/fields.hpp"
#include "capacity/question_parts.hpp"
#include "meshwright/capacity/simulate.hpp"
#include "meshwright/core/error.hpp"
#include "meshwright/core/units.hpp"

namespace meshwright::capacity {

Answer reliability(const Asked& asked) {
  const Reader q = members(asked, {"candidate", "workload", "replicas", "seed"});
  const PlannedPoint point = planned(asked, candidate_of(asked, q, "candidate"), workload_of(asked, q));
  const RunEstimate e = estimate(point);
  const Process process = run_process(*point.run, point.assumptions);
  const WallShares shares = wall_shares(process);
  const CheckpointLevel& store = process.levels.back();
  const Seconds useful = Seconds::base(point.run->time.training.value());
  const SimulatedRun played = simulate(process, useful, q.integer_or("replicas", 20, 2, 10000),
                                       static_cast<std::uint64_t>(q.integer_or("seed", 1)));
  question_json components = question_json::array();
  const JobFailures failures = run_failures(*point.run, point.assumptions);
  for (const ComponentFailures& c : failures.components)
    components.push_back({{"component", c.component->name}, {"count", c.count}, {"per_day", c.rate.value() * 86400}});
  question_json radius = question_json::array();
  std::string takes;
  for (const BlastRadius& b : blast_radius(*point.run, point.assumptions, e.spares)) {
    radius.push_back({{"unit", b.unit},
                      {"hosts", b.hosts},
                      {"per_day", b.rate.value() * 86400},
                      {"meanwhile", outage_words[static_cast<std::size_t>(b.outage)]},
                      {"network_time", b.network}});
    if (b.hosts <= 0) continue;
    takes += fmt::format("{}{} {:.0f}", takes.empty() ? "" : ", ", b.unit, b.hosts);
  }
  const Seconds young = young_interval(store.blocking, e.mtbf), daly = daly_interval(store.blocking, e.mtbf);
  return answer(
      asked,
      {fmt::format("one interruption in {}, {:.0f} in {:.1f} days; {} spare hosts", format(e.mtbf), e.interruptions,
                   e.wall.value() / 86400, e.spares),
       fmt::format("a checkpoint of {} blocks {} and is safe after {} more: every {}{} (Young {}, Daly {})",
                   format(e.checkpoint), format(store.blocking), format(store.lag), format(store.interval),
                   process.levels.size() > 1 ? fmt::format(", {} every {}", process.levels.front().name,
                                                           format(process.levels.front().interval))
                                             : "",
                   format(young), format(daly)),
       fmt::format("hosts that one failure takes: {}", takes),
       fmt::format(
           "failures and checkpoints leave {} of the time; simulated {} +- {}; with waiting, maintenance and degraded "
           "network {}",
           format_percent(shares.useful), format_percent(played.goodput.mean),
           format_percent(played.goodput.half_width), format_percent(e.goodput))},
      {{"mtbf_s", e.mtbf.value()},
       {"interruptions", e.interruptions},
       {"spares", e.spares},
       {"checkpoint_bytes", e.checkpoint.value()},
       {"blocking_s", store.blocking.value()},
       {"lag_s", store.lag.value()},
       {"interval_s", store.interval.value()},
       {"inner_interval_s",
        process.levels.size() > 1 ? question_json(process.levels.front().interval.value()) : question_json()},
       {"young_s", young.value()},
       {"daly_s", daly.value()},
       {"closed_form", shares.useful},
       {"simulated", played.goodput.mean},
       {"simulated_half_width", played.goodput.half_width},
       {"goodput", e.goodput},
       {"components", components},
       {"blast_radius", radius}});
}

namespace {

/// Training time that maintenance costs: of a whole plane where there are several, else of a leaf, with a restart and a
/// slower network where hosts go around.
Seconds leaf_maintenance(const PlannedPoint& point, Outage outage, Seconds maintenance) {
  const RunCase& run = *point.run;
  const Recovery& recovery = point.assumptions.failures.recovery;
  const Seconds stop =
      recovery.restart +
      checkpoint_path(point.assumptions.checkpoint, run.state, run.site, point.assumptions.inputs).load_store;
  const double network = outage == Outage::passed_over ? run.site.slowdown_plane : run.site.slowdown_leaf;
  const double slowdown = (network - 1) * run.step.scale_out;
  const Seconds slower = maintenance * (slowdown / (1 + slowdown));
  switch (outage) {
    case Outage::passed_over:
      return slower;
    case Outage::replaced:
      return stop + recovery.replacement;
    case Outage::around:
      return stop + slower;
    default:
      return maintenance;
  }
}

}  // namespace

Answer fault_table(const Asked& asked) {
  const Reader q = members(asked, {"candidate", "workload", "maintenance"});
  const PlannedPoint point = planned(asked, candidate_of(asked, q, "candidate"), workload_of(asked, q));
  const Seconds maintenance = q.has("maintenance") ? read_time(q.at("maintenance")) : Seconds::base(4 * 3600);
  const RunCase& run = *point.run;
  question_json rows = question_json::array();
  std::vector<std::string> lines;
  for (const FaultSlowdown& fault : run.site.faults) {
    const double step = 1 + (fault.network - 1) * run.step.scale_out;
    const bool stops = fault.cut_off > 0 || !std::isfinite(fault.network);
    rows.push_back({{"fault", fault.what},
                    {"network_time", stops ? question_json() : question_json(fault.network)},
                    {"step_time", stops ? question_json() : question_json(step)},
                    {"cut_off", fault.cut_off}});
    lines.push_back(
        stops ? fmt::format("{}: cuts {} accelerators off, the job stops", fault.what, fault.cut_off)
              : fmt::format("{}: network {:.3g} x, step +{:.2f} %", fault.what, fault.network, (step - 1) * 100));
  }
  const RunEstimate e = estimate(point);
  const Outage outage = leaf_outage(run.site, e.spares);
  const bool planes = outage == Outage::passed_over;
  const double lost = leaf_maintenance(point, outage, maintenance).value();
  lines.push_back(fmt::format("{} of maintenance of a {} cost {} of training: {}", format(maintenance),
                              planes ? "plane" : "leaf", format(Seconds::base(lost)),
                              outage_words[static_cast<std::size_t>(outage)]));
  return answer(asked, std::move(lines),
                {{"faults", rows},
                 {"survives_leaf", planes},
                 {"maintenance_s", maintenance.value()},
                 {"maintenance_lost_s", lost},
                 {"goodput", e.goodput},
                 {"interruptions", e.interruptions}});
}

}  // namespace meshwright::capacity
