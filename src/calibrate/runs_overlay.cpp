// Fitted parameters as a document that overlays read: devices and media by name, frameworks by their profile's fields.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "meshwright/calibrate/fit_runs.hpp"

namespace meshwright::calibrate {
namespace {

using Json = nlohmann::ordered_json;

double rounded(double value) {
  if (value == 0) return 0;
  const double scale = std::pow(10.0, 3 - std::floor(std::log10(std::abs(value))));
  return std::round(value * scale) / scale;
}

/// The entry of a list of objects with that name, added where it is missing.
Json& named(Json& list, const std::string& name) {
  for (Json& item : list) {
    if (item["name"] == name) return item;
  }
  list.push_back({{"name", name}});
  return list.back();
}

/// Sets "a.b.c" in nested objects.
void set_path(Json& object, const std::string& path, const Json& value) {
  const std::size_t dot = path.find('.');
  if (dot == std::string::npos) {
    object[path] = value;
  } else {
    set_path(object[path.substr(0, dot)], path.substr(dot + 1), value);
  }
}

/// Host and launch hold times and one share, the other parts of a profile none.
bool is_time(const std::string& field) {
  return (field.starts_with("host.") || field.starts_with("launch.")) && field != "launch.drained";
}

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

void set_device(Json& entry, const RunParameter& p, const Accelerator& device) {
  if (p.field == "attention.forward") {
    const AttentionEfficiency& a = device.efficiency.attention;
    entry["attention"] = {{"forward", rounded(p.value)}, {"backward", rounded(a.backward * p.value / a.forward)}};
    if (a.softmax > 0) entry["attention"]["softmax"] = rounded(a.softmax * p.value / a.forward);
  } else if (p.field == "gemm.bf16.sustained") {
    for (const DType t : {DType::bf16, DType::fp16}) {
      if (device.peak(t).value() > 0) entry["gemm"][std::string(name(t))]["sustained"] = rounded(p.value);
    }
  } else {
    set_path(entry, p.field, rounded(p.value));
  }
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
    const std::size_t space = p.owner.find(' ');
    const std::string kind = p.owner.substr(0, space), name = p.owner.substr(space + 1);
    if (kind == "device") set_device(named(document["devices"], name), p, catalog.accelerator(name));
    if (kind == "medium") named(document["media"], name)["in_step"] = rounded(p.value);
    if (kind == "framework") {
      set_path(named(document["frameworks"], name), p.field,
               is_time(p.field) ? Json(fmt::format("{:.4g} us", p.value * 1e6)) : Json(rounded(p.value)));
    }
  }
  return document.dump(1) + "\n";
}

}  // namespace meshwright::calibrate
