// Fitted parameters as a document that overlays read: devices and media by name, frameworks by their profile's fields.
#include <algorithm>
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
  Json parameters = Json::array();
  for (const RunParameter& p : fit.parameters) {
    parameters.push_back({{"of", p.owner},
                          {"field", p.field},
                          {"prior", rounded(p.prior)},
                          {"fitted", rounded(p.value)},
                          {"log_error", rounded(p.error)},
                          {"configurations", p.runs}});
  }
  return {{"configurations", fit.configurations},
          {"mean_error_before", rounded(fit.mean_error_before)},
          {"mean_error_after", rounded(fit.mean_error_after)},
          {"model_and_device_left_out", left_out(fit.model_and_device)},
          {"set_left_out", left_out(fit.set)},
          {"parameters", parameters}};
}

}  // namespace

std::string overlay_json(const RunFit& fit, const Catalog& catalog, const std::string& description) {
  Json document = {{"description", description},
                   {"fit", figures(fit)},
                   {"devices", Json::array()},
                   {"media", Json::array()},
                   {"frameworks", Json::array()}};
  for (const RunParameter& p : with_siblings(fit.parameters, catalog)) {
    const auto [kind, name] = owner_parts(p.owner);
    if (kind == "device")
      set_device_field(named(document["devices"], name), p.field, p.value, catalog.accelerator(name));
    if (kind == "medium") named(document["media"], name)["in_step"] = rounded(p.value);
    if (kind == "framework") set_stack_field(named(document["frameworks"], name), p.field, p.value);
  }
  return json_text(document, 1) + "\n";
}

}  // namespace meshwright::calibrate
