// One point's answer, and its line in a store.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "capacity/run_fields.hpp"
#include "core/json_text.hpp"
#include "meshwright/core/error.hpp"

namespace meshwright::capacity {
namespace {

using json = nlohmann::ordered_json;

bool keeps(const Constraint& c, const Result& r, double budget) {
  switch (c.limit) {
    case Limit::budget:
      return budget <= c.value;
    case Limit::capex:
      return r.capex <= c.value;
    case Limit::cost:
      return r.cost <= c.value;
    case Limit::deadline:
      return r.days * 86400 <= c.value;
    case Limit::power:
      return r.power_mw * 1e6 <= c.value;
    case Limit::energy:
      return r.energy_mwh * 3.6e9 <= c.value;
    case Limit::carbon:
      return r.carbon_t * 1000 <= c.value;
    case Limit::gpus:
      return r.accelerators <= c.value;
    case Limit::goodput:
      return r.goodput >= c.value;
  }
  return false;
}

void take_bands(const Scenario& scenario, const PlannedPoint& point, Result& result) {
  result.days_band = {result.days, result.days, result.days};
  result.cost_band = {result.cost, result.cost, result.cost};
  if (scenario.draws < 1) return;
  std::vector<double> days, cost;
  for (const Draw& draw : draw_points(point, scenario.draws, scenario.seed)) {
    days.push_back(draw.days);
    cost.push_back(draw.cost);
  }
  result.days_band = percentiles(std::move(days));
  result.cost_band = percentiles(std::move(cost));
}

json number_of(const RunField& field, const Result& result) {
  const double value = field.in(const_cast<Result&>(result));
  if (field.known == Known::bought && result.rented) return {};
  return field.whole ? json(std::llround(value)) : json(value);
}

}  // namespace

std::string kept_limits(const Scenario& scenario, const Result& r) {
  std::string missed;
  for (std::size_t i = 0; i < r.meets.size(); ++i) {
    if (r.meets[i]) continue;
    missed += missed.empty() ? "misses " : ", ";
    missed += limit_names[static_cast<std::size_t>(scenario.constraints[i].limit)];
  }
  return r.meets.empty() ? "" : missed.empty() ? "keeps all" : missed;
}

bool Result::meets_all() const { return std::ranges::find(meets, false) == meets.end(); }

Result result_of(const Scenario& scenario, const PlannedPoint& point) {
  Result r;
  r.index = point.index;
  r.candidate = point.candidate;
  r.workload = point.workload;
  r.refusal = point.refusal;
  r.accelerators = point.accelerators;
  r.nodes = point.nodes;
  r.notes = point.notes;
  r.meets.assign(scenario.constraints.size(), false);
  if (!point.run) return r;
  const RunEstimate e = estimate(point);
  r.layout = point.layout;
  r.layout_text = point.layout_text;
  r.mfu = point.mfu;
  r.rented = e.rented;
  for (const RunField& field : run_fields()) {
    if (field.of != nullptr && field.in != nullptr) field.in(r) = field.of(e);
  }
  const double budget = e.rented ? e.cost.value : e.capex.value;
  for (std::size_t i = 0; i < r.meets.size(); ++i) r.meets[i] = keeps(scenario.constraints[i], r, budget);
  take_bands(scenario, point, r);
  return r;
}

std::string to_json(const Result& r, const Scenario& scenario) {
  json meets = json::object();
  for (std::size_t i = 0; i < r.meets.size(); ++i)
    meets[std::string(limit_names[static_cast<std::size_t>(scenario.constraints[i].limit)])] =
        static_cast<bool>(r.meets[i]);
  json out = {{"point", r.index},
              {"candidate", r.candidate},
              {"workload", r.workload},
              {"gpus", r.accelerators},
              {"nodes", r.nodes}};
  if (!r.runs()) {
    out["layout"] = json();
    out["violation"] = r.refusal;
    out["meets"] = meets;
    out["notes"] = r.notes;
    return json_text(out);
  }
  out["layout"] = json::parse(r.layout);
  out["layout_text"] = r.layout_text;
  for (const RunField& field : run_fields()) {
    if (field.in != nullptr) out[std::string(field.key)] = number_of(field, r);
  }
  out["rented"] = r.rented;
  out["meets"] = meets;
  out["notes"] = r.notes;
  return json_text(out);
}

Result read_result(const std::string& line, const Scenario& scenario) {
  Result r;
  try {
    const json in = json::parse(line);
    r.index = in.at("point").get<std::uint64_t>();
    r.candidate = in.at("candidate").get<std::string>();
    r.workload = in.at("workload").get<std::string>();
    r.accelerators = in.at("gpus").get<int>();
    r.nodes = in.at("nodes").get<int>();
    r.notes = in.at("notes").get<std::vector<std::string>>();
    for (const Constraint& c : scenario.constraints)
      r.meets.push_back(in.at("meets").at(std::string(limit_names[static_cast<std::size_t>(c.limit)])).get<bool>());
    if (in.contains("violation")) {
      r.refusal = in.at("violation").get<std::string>();
      return r;
    }
    r.layout = json_text(in.at("layout"));
    r.layout_text = in.at("layout_text").get<std::string>();
    for (const RunField& field : run_fields()) {
      if (field.in == nullptr) continue;
      const json& value = in.at(std::string(field.key));
      field.in(r) = value.is_null() ? 0 : value.get<double>();
    }
    r.days_band.p50 = r.days, r.cost_band.p50 = r.cost;
    r.rented = in.at("rented").get<bool>();
  } catch (const nlohmann::json::exception& e) {
    throw Error("store", fmt::format("a result cannot be read: {}", e.what()));
  }
  return r;
}

bool better(const Scenario& scenario, const Result& a, const Result& b) {
  if (a.runs() != b.runs()) return a.runs();
  if (a.meets_all() != b.meets_all()) return a.meets_all();
  const bool by_cost = scenario.by_cost();
  const double mine = by_cost ? a.cost : a.days, theirs = by_cost ? b.cost : b.days;
  return mine != theirs ? mine < theirs : a.index < b.index;
}

}  // namespace meshwright::capacity
