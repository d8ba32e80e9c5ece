#include "meshwright/capacity/explain.hpp"

#include <fmt/format.h>

#include "meshwright/core/units.hpp"

namespace meshwright::capacity {
namespace {

double seconds_of(const RunEstimate& e, std::initializer_list<std::string_view> names) {
  double sum = 0;
  for (const std::string_view name : names) {
    if (const Term* part = find(e.time, name)) sum += part->value;
  }
  return sum;
}

Term energy_terms(const PlannedPoint& point, const RunEstimate& e) {
  const Inputs& inputs = point.assumptions.inputs;
  const Power power = site_power(point.run->site, point.run->step.compute, e.spares, inputs);
  const double saving = seconds_of(e, {"checkpoints"});
  const double down = seconds_of(e, {"recovery", "waiting for hosts", "maintenance", "evictions", "warm-up"});
  Term all{.name = "energy", .value = 0, .unit = "J", .formula = "", .source = "", .parts = {}};
  const auto add = [&](const char* name, Watts watts, double seconds, const std::string& source) {
    all.parts.push_back({.name = name,
                         .value = watts.value() * seconds,
                         .unit = "J",
                         .formula = fmt::format("{} of IT power x {}", format(watts), format(Seconds::base(seconds))),
                         .source = source,
                         .parts = {}});
  };
  add("training", power.running, e.wall.value() - saving - down, describe(inputs.row("power.compute")));
  add("saving checkpoints", power.waiting, saving, describe(inputs.row("power.waiting")));
  add("stopped", power.idle, down, describe(inputs.row("power.idle")));
  double it = 0;
  for (const Term& part : all.parts) it += part.value;
  all.parts.push_back({.name = "cooling and distribution",
                       .value = it * (inputs("prices.pue") - 1),
                       .unit = "J",
                       .formula = "energy of the IT x (PUE - 1)",
                       .source = describe(inputs.row("prices.pue")),
                       .parts = {}});
  for (const Term& part : all.parts) all.value += part.value;
  return all;
}

}  // namespace

ExplainedRun explain_run(const PlannedPoint& point) {
  ExplainedRun out;
  out.run = estimate(point);
  out.step = parallel::explain(*point.job, *point.prediction);
  out.power = power_terms(point.run->site, point.run->step.compute, out.run.spares, point.assumptions.inputs);
  out.energy = energy_terms(point, out.run);
  out.carbon = {.name = "carbon",
                .value = out.run.carbon_kg,
                .unit = "kg",
                .formula = fmt::format("{:.4g} MWh x grid intensity", out.energy.value / 3.6e9),
                .source = describe(point.assumptions.inputs.row("prices.carbon")),
                .parts = {}};
  return out;
}

}  // namespace meshwright::capacity
