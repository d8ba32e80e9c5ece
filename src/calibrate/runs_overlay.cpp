// Fitted parameters as a document that overlays read: devices and media by name, frameworks by their profile's fields.
#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "calibrate/overlay_fields.hpp"
#include "core/json_text.hpp"
#include "meshwright/calibrate/fit_runs.hpp"

namespace meshwright::calibrate {
namespace {

using Json = nlohmann::ordered_json;

/// A device that is another's chip in another package and takes its figures where no runs tell its own.
struct Sibling {
  std::string_view device, of;
  bool gemm;  ///< the clocks of a step too, not attention alone: the same power
};
constexpr auto siblings = std::to_array<Sibling>({{"H200-SXM-141GB", "H100-SXM5-80GB", true},
                                                  {"H800-SXM5-80GB", "H100-SXM5-80GB", true},
                                                  {"GH200", "H100-SXM5-80GB", false},
                                                  {"GH200-144GB", "H100-SXM5-80GB", false},
                                                  {"H100-PCIe-80GB", "H100-SXM5-80GB", false},
                                                  {"A800-SXM4-80GB", "A100-SXM4-80GB", true},
                                                  {"A100-PCIe-80GB", "A100-SXM4-80GB", false},
                                                  {"Trainium1", "Trainium1-core", true}});

/// Adds the siblings' parameters to those of the devices that were fitted.
std::vector<RunParameter> with_siblings(std::vector<RunParameter> parameters) {
  const auto told = [&](const std::string& owner, const std::string& field) {
    return std::ranges::any_of(parameters, [&](const RunParameter& p) { return p.owner == owner && p.field == field; });
  };
  std::vector<RunParameter> added;
  for (const Sibling& s : siblings) {
    for (const RunParameter& p : parameters) {
      if (p.owner != "device " + std::string(s.of) || (!s.gemm && p.field.starts_with("gemm"))) continue;
      RunParameter copy = p;
      copy.owner = "device " + std::string(s.device);
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
  for (const RunParameter& p : with_siblings(fit.parameters)) {
    const auto [kind, name] = owner_parts(p.owner);
    if (kind == "device")
      set_device_field(named(document["devices"], name), p.field, p.value, catalog.accelerator(name));
    if (kind == "medium") named(document["media"], name)["in_step"] = rounded(p.value);
    if (kind == "framework") set_stack_field(named(document["frameworks"], name), p.field, p.value);
  }
  return json_text(document, 1) + "\n";
}

}  // namespace meshwright::calibrate
