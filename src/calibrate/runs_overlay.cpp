// Fitted parameters as a document that overlays read: devices and media by name, frameworks by their profile's fields.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "calibrate/overlay_fields.hpp"
#include "core/json_text.hpp"
#include "meshwright/calibrate/fit_runs.hpp"

namespace meshwright::calibrate {
namespace {

using Json = nlohmann::ordered_json;

/// Adds the parameters of devices that no runs tell and that have a fitted device's chip in another package:
/// attention's, and with the same power the clocks of a step too.
std::vector<RunParameter> with_siblings(std::vector<RunParameter> parameters, const Catalog& catalog) {
  const auto told = [&](const std::string& owner, const std::string& field) {
    return std::ranges::any_of(parameters, [&](const RunParameter& p) { return p.owner == owner && p.field == field; });
  };
  std::vector<RunParameter> added;
  for (const Accelerator& device : catalog.accelerators) {
    if (device.chip_of.empty()) continue;
    const bool clocks = device.tdp == catalog.accelerator(device.chip_of).tdp;
    for (const RunParameter& p : parameters) {
      if (p.owner != "device " + device.chip_of || (!clocks && p.field.starts_with("gemm"))) continue;
      RunParameter copy = p;
      copy.owner = "device " + device.name;
      if (!told(copy.owner, copy.field)) added.push_back(copy);
    }
  }
  std::ranges::move(added, std::back_inserter(parameters));
  return parameters;
}

Json figures(const RunFit& fit) {
  const auto left_out = [](const LeftOut& l) { return Json{{"mean", rounded(l.mean)}, {"median", rounded(l.median)}}; };
  Json users = left_out(fit.users.errors);
  users.update({{"configurations", fit.users.configurations},
                {"records", fit.users.records},
                {"not_stated", fit.users.not_stated}});
  Json parameters = Json::array();
  for (const RunParameter& p : fit.parameters) {
    Json entry = {{"of", p.owner}, {"field", p.field}};
    if (!p.release.empty()) entry["release"] = p.release;
    entry.update({{"prior", rounded(p.prior)},
                  {"fitted", rounded(p.value)},
                  {"log_error", rounded(p.error)},
                  {"configurations", p.runs}});
    parameters.push_back(std::move(entry));
  }
  return {{"configurations", fit.configurations},
          {"mean_error_before", rounded(fit.mean_error_before)},
          {"mean_error_after", rounded(fit.mean_error_after)},
          {"model_and_device_left_out", left_out(fit.model_and_device)},
          {"set_left_out", left_out(fit.set)},
          {"users_set_left_out", users},
          {"parameters", parameters}};
}

/// What a parameter is in the release at `place`: between two fitted ones the logs go on evenly, before the first and
/// after the last they stay.
double in_release(const std::vector<RunParameter>& fitted, int place) {
  const auto after = std::ranges::find_if(fitted, [&](const RunParameter& p) { return p.place >= place; });
  if (after == fitted.end()) return fitted.back().value;
  if (after == fitted.begin() || after->place == place) return after->value;
  const RunParameter& before = *(after - 1);
  const double share = static_cast<double>(place - before.place) / (after->place - before.place);
  return before.value * std::pow(after->value / before.value, share);
}

/// The field in every release of its stack, by the parameters that are the same thing as `p`.
void set_releases(Json& entry, const RunParameter& p, const std::vector<RunParameter>& all, const Framework& stack) {
  std::vector<RunParameter> fitted;
  std::ranges::copy_if(all, std::back_inserter(fitted), [&](const RunParameter& q) { return same_thing(p, q); });
  std::ranges::sort(fitted, {}, &RunParameter::place);
  if (entry["releases"].is_null()) entry["releases"] = Json::array();
  Json& releases = entry["releases"];
  for (std::size_t i = 0; i < stack.releases.size(); ++i) {
    const std::string& version = stack.releases[i].version;
    auto same = std::ranges::find_if(releases, [&](const Json& r) { return r["version"] == version; });
    if (same == releases.end()) {
      releases.push_back({{"version", version}});
      same = releases.end() - 1;
    }
    set_stack_field(*same, p.field, in_release(fitted, static_cast<int>(i)));
  }
}

}  // namespace

std::string overlay_json(const RunFit& fit, const Catalog& catalog, const std::string& description) {
  Json document = {{"description", description},
                   {"fit", figures(fit)},
                   {"devices", Json::array()},
                   {"media", Json::array()},
                   {"frameworks", Json::array()}};
  const std::vector<Framework> stacks = frameworks(catalog);
  for (const RunParameter& p : with_siblings(fit.parameters, catalog)) {
    const auto [kind, name] = owner_parts(p.owner);
    if (kind == "device")
      set_device_field(named(document["devices"], name), p.field, p.value, catalog.accelerator(name));
    if (kind == "medium") named(document["media"], name)["in_step"] = rounded(p.value);
    if (kind != "framework") continue;
    Json& entry = named(document["frameworks"], name);
    if (p.release.empty())
      set_stack_field(entry, p.field, p.value);
    else
      set_releases(entry, p, fit.parameters, *std::ranges::find(stacks, name, &Framework::name));
  }
  return json_text(document, 1) + "\n";
}

}  // namespace meshwright::calibrate
