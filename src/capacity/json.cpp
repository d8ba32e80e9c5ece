#include "meshwright/capacity/json.hpp"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "capacity/run_fields.hpp"
#include "core/json_text.hpp"
#include "meshwright/core/units.hpp"

namespace meshwright::capacity {
namespace {

using json = nlohmann::ordered_json;

json number_of(const RunField& field, const RunEstimate& e) {
  const double value = field.of(e);
  const bool bought = e.unpriced.empty() && !e.rented, priced = e.rented || e.unpriced.empty();
  if ((field.known == Known::above_zero && !(value > 0)) || (field.known == Known::priced && !priced) ||
      (field.known == Known::bought && !bought))
    return {};
  return field.whole ? json(std::llround(value)) : json(value);
}

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
  json out = json::object();
  for (const RunField& field : run_fields()) {
    if (field.of != nullptr) out[std::string(field.key)] = number_of(field, e);
  }
  out["rented"] = e.rented;
  out["unpriced"] = e.unpriced;
  out["power_known"] = e.power_known;
  for (const auto& [key, tree] : {std::pair{"time", &e.time}, {"cost", &e.cost}, {"capex", &e.capex}})
    out[key] = json::parse(meshwright::to_json(*tree));
  return json_text(out);
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
