// One point's answer, and its line in a store.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "meshwright/capacity/whatif.hpp"
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

/// A number member, or zero where it is null.
double number(const json& object, const char* key) {
  const json& value = object.at(key);
  return value.is_null() ? 0 : value.get<double>();
}

}  // namespace

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
  r.spares = e.spares;
  r.step_time = point.run->step.step.value();
  r.days = e.wall.value() / 86400;
  r.gpu_hours = e.gpu_hours;
  r.goodput = e.goodput;
  r.interruptions = e.interruptions;
  r.checkpoint_interval = e.checkpoint_interval.value();
  r.capex = e.rented ? 0 : e.capex.value;
  r.cost = e.cost.value;
  r.energy_mwh = e.energy.value() / 3.6e9;
  r.power_mw = e.power.value() / 1e6;
  r.provisioned_mw = e.provisioned.value() / 1e6;
  r.carbon_t = e.carbon_kg / 1000;
  r.usd_per_trillion_tokens = e.usd_per_trillion_tokens;
  r.usd_per_pflops_day = e.usd_per_pflops_day;
  r.rented = e.rented;
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
    return out.dump();
  }
  out["layout"] = json::parse(r.layout);
  out["layout_text"] = r.layout_text;
  out["step_time_s"] = r.step_time;
  out["mfu"] = r.mfu;
  out["days"] = r.days;
  out["days_p10"] = r.days_band.p10;
  out["days_p90"] = r.days_band.p90;
  out["gpu_hours"] = r.gpu_hours;
  out["goodput"] = r.goodput;
  out["interruptions"] = r.interruptions;
  out["checkpoint_interval_s"] = r.checkpoint_interval;
  out["spares"] = r.spares;
  out["capex_usd"] = r.rented ? json() : json(r.capex);
  out["cost_usd"] = r.cost;
  out["cost_usd_p10"] = r.cost_band.p10;
  out["cost_usd_p90"] = r.cost_band.p90;
  out["usd_per_trillion_tokens"] = r.usd_per_trillion_tokens;
  out["usd_per_pflops_day"] = r.usd_per_pflops_day;
  out["energy_mwh"] = r.energy_mwh;
  out["power_mw"] = r.power_mw;
  out["provisioned_mw"] = r.provisioned_mw;
  out["carbon_t"] = r.carbon_t;
  out["rented"] = r.rented;
  out["meets"] = meets;
  out["notes"] = r.notes;
  return out.dump();
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
    r.layout = in.at("layout").dump();
    r.layout_text = in.at("layout_text").get<std::string>();
    r.step_time = number(in, "step_time_s"), r.mfu = number(in, "mfu"), r.days = number(in, "days");
    r.days_band = {number(in, "days_p10"), r.days, number(in, "days_p90")};
    r.gpu_hours = number(in, "gpu_hours"), r.goodput = number(in, "goodput");
    r.interruptions = number(in, "interruptions"), r.checkpoint_interval = number(in, "checkpoint_interval_s");
    r.spares = in.at("spares").get<int>();
    r.capex = number(in, "capex_usd"), r.cost = number(in, "cost_usd");
    r.cost_band = {number(in, "cost_usd_p10"), r.cost, number(in, "cost_usd_p90")};
    r.usd_per_trillion_tokens = number(in, "usd_per_trillion_tokens");
    r.usd_per_pflops_day = number(in, "usd_per_pflops_day");
    r.energy_mwh = number(in, "energy_mwh"), r.power_mw = number(in, "power_mw");
    r.provisioned_mw = number(in, "provisioned_mw"), r.carbon_t = number(in, "carbon_t");
    r.rented = in.at("rented").get<bool>();
  } catch (const nlohmann::json::exception& e) {
    throw Error("store", fmt::format("a result cannot be read: {}", e.what()));
  }
  return r;
}

bool better(const Scenario& scenario, const Result& a, const Result& b) {
  if (a.runs() != b.runs()) return a.runs();
  if (a.meets_all() != b.meets_all()) return a.meets_all();
  const bool by_cost = scenario.objective == "cost";
  const double mine = by_cost ? a.cost : a.days, theirs = by_cost ? b.cost : b.days;
  return mine != theirs ? mine < theirs : a.index < b.index;
}

}  // namespace meshwright::capacity
