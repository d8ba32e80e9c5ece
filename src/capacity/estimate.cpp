#include "meshwright/capacity/estimate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "meshwright/capacity/spares.hpp"
#include "meshwright/core/units.hpp"

namespace meshwright::capacity {
namespace {

/// Share of the time between failures in which a run that gets done trains. Below it numbers only stay finite.
constexpr double least_useful = 1e-6;

Term seconds(std::string name, double value, std::string formula) {
  return {
      .name = std::move(name), .value = value, .unit = "s", .formula = std::move(formula), .source = "", .parts = {}};
}

/// straggler_times() of the last few questions of this thread: draws of other inputs ask the same again and again.
StragglerTimes remembered_times(const StragglerModel& model, const RankCounts& ranks) {
  struct Asked {
    StragglerModel model;
    RankCounts ranks;
    StragglerTimes times;
  };
  thread_local std::array<Asked, 8> asked{};
  thread_local std::size_t next = 0;
  for (const Asked& a : asked) {
    if (a.model == model && a.ranks == ranks) return a.times;
  }
  asked[next] = {model, ranks, straggler_times(model, ranks)};
  const StragglerTimes times = asked[next].times;
  next = (next + 1) % asked.size();
  return times;
}

/// Factors of the job's ranks over those of the runs that the step time is calibrated on.
StragglerTimes stragglers_of(const Site& site, const Inputs& inputs) {
  const StragglerModel model = straggler_model(inputs);
  const auto hosts = [&](double accelerators) {
    return std::max(1, static_cast<int>(std::lround(accelerators / site.per_host)));
  };
  const double base = remembered_times(model, {hosts(inputs("stragglers.reference_ranks")), site.per_host}).mean;
  const StragglerTimes here = remembered_times(model, {hosts(site.accelerators), site.per_host});
  return {here.mean / base, here.p50 / base, here.p99 / base};
}

JobFailures scaled(JobFailures f, double factor) {
  for (ComponentFailures& c : f.components) c.rate *= factor;
  for (Hertz* rate : {&f.stops, &f.replaced, &f.several, &f.software, &f.degraded}) *rate *= factor;
  return f;
}

/// Mean repair of the hosts that are replaced.
Seconds repair_time(const JobFailures& f, double factor) {
  double weighted = 0, sum = 0;
  for (const ComponentFailures& c : f.components) {
    if (!c.component->hardware || !c.component->stops || takes_several_hosts(c.component->per)) continue;
    weighted += c.rate.value() * c.component->repair.value();
    sum += c.rate.value();
  }
  return Seconds::base(sum > 0 ? weighted / sum * factor : 0);
}

/// Seconds a second in which the job waits for leaf switches and racks.
double outage_wait(const JobFailures& f, const Site& site, int spares, const Inputs& inputs) {
  const bool leaf = leaf_outage(site, spares) == Outage::waits;
  const bool rack = rack_outage(site, spares, inputs) == Outage::waits;
  double sum = 0;
  for (const ComponentFailures& c : f.components) {
    const FailureUnit per = c.component->per;
    const bool waits = (leaf && per == FailureUnit::leaf_switch) || (rack && per == FailureUnit::rack);
    if (waits && c.component->stops) sum += c.rate.value() * c.component->repair.value();
  }
  return sum * inputs("failures.repair_factor");
}

/// Recovery without waiting for a host.
struct Downtimes {
  Seconds software, hardware;
};
Downtimes downtimes(const Recovery& r, double factor) {
  const Seconds software = (r.detection + r.diagnosis + r.restart) * factor;
  return {software, software + r.replacement * factor};
}

/// Failure classes by what survives them: a peer's memory, the host's own disk, or only the store.
Process build_process(const RunAssumptions& a, const JobFailures& f, const CheckpointPath& path) {
  const Downtimes down = downtimes(a.failures.recovery, a.inputs("failures.recovery_factor"));
  Process process;
  process.levels = path.levels;
  const bool two = path.levels.size() > 1, own_disk = a.checkpoint.mode == CheckpointMode::local;
  Hertz store{};
  for (const ComponentFailures& c : f.components) {
    if (c.component->stops && c.component->store_only) store += c.rate;
  }
  const Seconds load = two ? path.load_memory : path.load_store;
  // A host that is replaced takes its own disk with it.
  const int far = two && own_disk ? 1 : 0;
  const Hertz hardware = std::max(Hertz{}, f.replaced + f.several - store);
  if (f.software.value() > 0) process.failures.push_back({"software", f.software, down.software + load, 0});
  if (hardware.value() > 0)
    process.failures.push_back({"hardware", hardware, down.hardware + (far > 0 ? path.load_store : load), far});
  if (store.value() > 0)
    process.failures.push_back({"store only", store, down.hardware + path.load_store, two ? 1 : 0});
  return process;
}

void choose_intervals(Process& process, const CheckpointChoice& choice, Seconds step) {
  constexpr double never = 1e10;  // seconds between failures of a job that has none
  for (std::size_t l = 0; l < process.levels.size(); ++l) {
    CheckpointLevel& level = process.levels[l];
    const bool outer = l + 1 == process.levels.size();
    const Seconds stated = outer ? choice.interval : choice.peer_interval;
    double rate = 0;
    for (const FailureClass& f : process.failures) rate += f.level == static_cast<int>(l) ? f.rate.value() : 0;
    const Seconds mtbf = Seconds::base(rate > 0 ? 1 / rate : never);
    level.interval = stated.value() > 0 ? std::max(stated, step) : best_interval(level.blocking, level.lag, mtbf, step);
    // Whole steps.
    level.interval = step * std::max(1.0, std::round(level.interval / step));
  }
}

/// With a step that takes `step`.
Process process_of(const RunCase& run, const RunAssumptions& a, const JobFailures& failures, Seconds step) {
  Process process = build_process(a, failures, checkpoint_path(a.checkpoint, run.state, run.site, a.inputs));
  choose_intervals(process, a.checkpoint, step);
  return process;
}

int spare_hosts(const RunAssumptions& a, const Site& site, double in_repair) {
  if (a.spare_hosts >= 0) return a.spare_hosts;
  constexpr double short_in = 0.01;  // of the failures
  const double share = a.inputs("failures.spares");
  return share > 0 ? static_cast<int>(std::ceil(share * site.hosts - 1e-9)) : spares_for(in_repair, short_in);
}

/// Seconds that come on top of the process, a second of its wall time.
struct Extra {
  double waiting = 0, planned = 0, evictions = 0, rollback = 0;
};

/// Wall time that is not training at full power.
struct Losses {
  Seconds stalled, idle;
};

Term time_terms(const RunCase& run, double model, double cap, double useful, double base, const WallShares& shares,
                const Extra& extra, double degraded) {
  const double training = run.time.training.value() * model, evaluation = run.time.evaluation.value() * model;
  const double capped = (training + evaluation) * (cap - 1);
  Term wall = seconds("wall", 0, "");
  wall.parts = {
      seconds("training", training, "steps x predicted step time"),
      seconds("evaluation", evaluation, "evaluations x their time"),
      seconds("power cap", capped, "compute x (1 / rate under the cap - 1)"),
      seconds("stragglers", useful - training - evaluation - capped,
              "compute x (slowest rank / that of the runs that calibrate the step time - 1)"),
      seconds("checkpoints", base * shares.checkpoint, "blocked by saving"),
      seconds("lost work", base * (shares.lost + extra.rollback), "done again since the last checkpoint"),
      seconds("recovery", base * shares.down, "detection, diagnosis, replacement, restart, loading"),
      seconds("waiting for hosts", base * extra.waiting, "no spare left: until a host is repaired"),
      seconds("maintenance", base * extra.planned, "planned stops"),
      seconds("evictions", base * extra.evictions, "interruptible hosts taken away: saved, requeued, restarted"),
      seconds("degraded network", degraded, "failures that traffic goes around"),
      seconds("warm-up", run.time.warm_up.value(), "once")};
  for (const Term& part : wall.parts) wall.value += part.value;
  return wall;
}

/// Everything about time; fills its part of `out`.
Losses estimate_time(const RunCase& run, const RunAssumptions& a, RunEstimate& out) {
  const Inputs& in = a.inputs;
  out.stragglers = stragglers_of(run.site, in);
  const JobFailures failures = run_failures(run, a);
  const Seconds repair = repair_time(failures, in("failures.repair_factor"));
  const double in_repair = failures.replaced.value() * repair.value();
  out.spares = spare_hosts(a, run.site, in_repair);
  const double cap = 1 + run.step.compute * (1 / capped_rate(run.site, out.spares, in) - 1);
  const double model = in("step.time"), slow = cap + run.step.compute * (out.stragglers.mean - 1);
  const double useful = (run.time.training + run.time.evaluation).value() * model * slow;
  const Process process = process_of(run, a, failures, run.step.step * (model * slow));
  const auto step_with = [&](double factor) {
    return run.step.step * (model * (cap + run.step.compute * (factor - 1)));
  };
  out.step = step_with(1);
  out.step_p50 = step_with(out.stragglers.p50);
  out.step_p99 = step_with(out.stragglers.p99);
  const WallShares shares = wall_shares(process);
  out.gets_done = shares.useful > least_useful;
  const double base = useful / std::max(shares.useful, least_useful);
  const Seconds wait = shortage_wait(repair, out.spares) + a.failures.recovery.requeue * in("failures.recovery_factor");
  const double evictions = run.site.hosts * in("failures.evictions") / 86400;
  const Seconds back = (a.failures.recovery.requeue + a.failures.recovery.restart) * in("failures.recovery_factor") +
                       checkpoint_path(a.checkpoint, run.state, run.site, in).load_store;
  const Extra extra{
      .waiting = failures.replaced.value() * shortage(in_repair, out.spares) * wait.value() +
                 outage_wait(failures, run.site, out.spares, in),
      .planned = failures.planned.value() * a.failures.planned_for.value() * in("failures.recovery_factor"),
      .evictions = evictions * back.value(),
      .rollback = failures.stops.value() * a.checkpoint.rollback * process.levels.back().interval.value()};
  const double degraded = useful * degraded_share(run, failures, out.spares, in("failures.repair_factor"));
  out.time = time_terms(run, model, cap, useful, base, shares, extra, degraded);
  out.wall = Seconds::base(out.time.value);
  out.goodput = out.time.value > 0 ? useful / out.time.value : 1;
  out.gpu_hours = run.site.accelerators * out.time.value / 3600;
  out.interruptions = failures.stops.value() * base;
  out.mtbf = failures.stops.value() > 0 ? failures.mtbf() : Seconds{};
  out.checkpoint_interval = process.levels.back().interval;
  if (process.levels.size() > 1) out.peer_interval = process.levels.front().interval;
  return {Seconds::base(base * shares.checkpoint),
          Seconds::base(base * (shares.down + extra.waiting + extra.planned + extra.evictions)) + run.time.warm_up};
}

void estimate_money(const RunCase& run, const RunAssumptions& a, const Losses& losses, RunEstimate& out) {
  const Power power = site_power(run.site, run.step.compute, out.spares, a.inputs);
  const Usage usage{.wall = out.wall,
                    .running = out.wall - losses.stalled - losses.idle,
                    .waiting = losses.stalled,
                    .idle = losses.idle,
                    .accelerators = static_cast<double>(run.site.accelerators)};
  Capex bought = capex(run.site, out.spares, a.inputs);
  RunCost cost = run_cost(run.site, bought, power, usage, a.inputs);
  out.capex = std::move(bought.terms);
  out.unpriced = std::move(bought.unpriced);
  out.cost = std::move(cost.cost);
  out.rented = cost.rented;
  out.power_known = run.site.tdp.value() > 0;
  out.energy = cost.energy;
  out.carbon_kg = cost.carbon_kg;
  out.power = power.running * a.inputs("prices.pue");
  out.provisioned = power.provisioned;
  out.usd_per_trillion_tokens = out.cost.value / (out.tokens / 1e12);
  if (run.model_flops > 0) out.usd_per_pflops_day = out.cost.value / (run.model_flops / (1e15 * 86400));
}

}  // namespace

StragglerModel straggler_model(const Inputs& inputs) {
  return {.spread = inputs("stragglers.spread"),
          .slow_share = inputs("stragglers.slow_share"),
          .slow_factor = inputs("stragglers.slow_factor"),
          .jitter = inputs("stragglers.jitter")};
}

std::string why_never_done(const RunEstimate& e) {
  return fmt::format("failures: one in {} and a checkpoint every {} leave no time in which the run gets on",
                     format(e.mtbf), format(e.checkpoint_interval));
}

JobFailures run_failures(const RunCase& run, const RunAssumptions& a) {
  UnitCounts counts = run.site.counts;
  counts[FailureUnit::rack] = run.site.hosts / rack_hosts(run.site, a.inputs);
  return scaled(job_failures(a.failures, counts, run.site.survives_leaf), a.inputs("failures.rate_factor"));
}

Process run_process(const RunCase& run, const RunAssumptions& a) {
  return process_of(run, a, run_failures(run, a), run.step.step);
}

Outage leaf_outage(const Site& site, int spares) {
  if (site.survives_leaf) return Outage::passed_over;
  if (spares >= site.hosts_below_leaf) return Outage::replaced;
  return site.leaf_cuts_off ? Outage::waits : Outage::around;
}

double rack_hosts(const Site& site, const Inputs& inputs) {
  return hosts_per_rack(site, inputs("prices.rack_power"), nameplate(site, inputs));
}

Outage rack_outage(const Site& site, int spares, const Inputs& inputs) {
  return spares >= std::min(site.hosts, rack_hosts(site, inputs)) ? Outage::replaced : Outage::waits;
}

std::vector<BlastRadius> blast_radius(const RunCase& run, const RunAssumptions& a, int spares) {
  const Site& site = run.site;
  Hertz leaf{}, rack{};
  const JobFailures failures = run_failures(run, a);
  for (const ComponentFailures& c : failures.components) {
    if (c.component->per == FailureUnit::leaf_switch) leaf += c.rate;
    if (c.component->per == FailureUnit::rack && c.component->stops) rack += c.rate;
  }
  const Outage host = spares > 0 ? Outage::replaced : Outage::waits, below = leaf_outage(site, spares);
  const bool slower = below == Outage::around || below == Outage::passed_over;
  std::vector<BlastRadius> rows = {{"host", 1, failures.replaced, host, 1}};
  if (site.counts[FailureUnit::leaf_switch] > 0)
    rows.push_back({"leaf switch", below == Outage::passed_over ? 0 : site.hosts_below_leaf, leaf, below,
                    slower ? site.slowdown_leaf : 1});
  rows.push_back(
      {"rack", std::min(site.hosts, rack_hosts(site, a.inputs)), rack, rack_outage(site, spares, a.inputs), 1});
  if (site.survives_leaf) rows.push_back({"plane", 0, {}, Outage::passed_over, site.slowdown_plane});
  return rows;
}

double degraded_share(const RunCase& run, const JobFailures& failures, int spares, double repair_factor) {
  double share = 0;
  for (const ComponentFailures& c : failures.components) {
    const FailureUnit per = c.component->per;
    const bool redundant =
        run.site.survives_leaf && (per == FailureUnit::leaf_switch || per == FailureUnit::host_cable);
    const bool around = per == FailureUnit::leaf_switch && leaf_outage(run.site, spares) == Outage::around;
    if (c.component->stops && !redundant && !around) continue;
    const double slowdown = per == FailureUnit::host_cable    ? run.site.slowdown_cable
                            : per == FailureUnit::leaf_switch ? run.site.slowdown_leaf
                                                              : run.site.slowdown_upper;
    if (!std::isfinite(slowdown)) continue;
    const double down = -std::expm1(-c.rate.value() * c.component->repair.value() * repair_factor);
    share += down * (slowdown - 1) * run.step.scale_out;
  }
  return share;
}

RunEstimate estimate_run(const RunCase& run, const RunAssumptions& a) {
  RunEstimate out;
  out.tokens = run.time.tokens;
  out.steps = run.time.steps;
  out.checkpoint = run.state;
  const Losses losses = estimate_time(run, a, out);
  estimate_money(run, a, losses, out);
  return out;
}

}  // namespace meshwright::capacity
