#include "meshwright/capacity/json.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "meshwright/core/units.hpp"

namespace meshwright::capacity {
namespace {

using json = nlohmann::ordered_json;

json number_or_null(bool known, double value) { return known ? json(value) : json(); }

std::string profile_line(const RunAssumptions& a) {
  const FailureProfile& p = a.failures;
  std::string text = fmt::format("failures: {}, {}", p.name, p.title);
  if (p.node_rate.value() > 0)
    text += fmt::format("; {:.3g} interruptions per 1000 node-days", p.node_rate.value() * 1000 * 86400);
  const Recovery& r = p.recovery;
  text += fmt::format("; detection {}, diagnosis {}, replacement {}, restart {}", format(r.detection),
                      format(r.diagnosis), format(r.replacement), format(r.restart));
  for (const hardware::Provenance& source : p.sources) text += "; " + source.title;
  return text;
}

}  // namespace

std::string to_json(const RunEstimate& e) {
  const bool priced = e.rented || e.unpriced.empty();
  const json out = {{"tokens", e.tokens},
                    {"steps", e.steps},
                    {"days", e.wall.value() / 86400},
                    {"gpu_hours", e.gpu_hours},
                    {"goodput", e.goodput},
                    {"interruptions", e.interruptions},
                    {"mtbf_s", number_or_null(e.mtbf.value() > 0, e.mtbf.value())},
                    {"checkpoint_interval_s", e.checkpoint_interval.value()},
                    {"peer_interval_s", number_or_null(e.peer_interval.value() > 0, e.peer_interval.value())},
                    {"checkpoint_bytes", e.checkpoint.value()},
                    {"spares", e.spares},
                    {"step_p50_s", e.step_p50.value()},
                    {"step_p99_s", e.step_p99.value()},
                    {"cost_usd", number_or_null(priced, e.cost.value)},
                    {"capex_usd", number_or_null(e.unpriced.empty(), e.capex.value)},
                    {"energy_mwh", e.energy.value() / 3.6e9},
                    {"power_mw", e.power.value() / 1e6},
                    {"provisioned_mw", e.provisioned.value() / 1e6},
                    {"carbon_t", e.carbon_kg / 1000},
                    {"usd_per_trillion_tokens", number_or_null(priced, e.usd_per_trillion_tokens)},
                    {"usd_per_pflops_day", number_or_null(priced, e.usd_per_pflops_day)},
                    {"rented", e.rented},
                    {"unpriced", e.unpriced},
                    {"time", json::parse(meshwright::to_json(e.time))},
                    {"cost", json::parse(meshwright::to_json(e.cost))},
                    {"capex", json::parse(meshwright::to_json(e.capex))}};
  return out.dump();
}

std::vector<std::string> assumption_lines(const RunAssumptions& a) {
  std::vector<std::string> lines = {profile_line(a), fmt::format("checkpoint: {}", name(a.checkpoint.mode))};
  for (const bool stated : {true, false}) {
    for (const Input& input : a.inputs.rows()) {
      if (input.stated == stated) lines.push_back(describe(input));
    }
  }
  return lines;
}

}  // namespace meshwright::capacity
