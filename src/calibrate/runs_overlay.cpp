// Fitted parameters as a document that overlays read: devices and media by name, frameworks by their profile's fields.
#include <cmath>
#include <nlohmann/json.hpp>

#include "meshwright/calibrate/fit_runs.hpp"

namespace meshwright {
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

bool is_time(const std::string& field) {
  return field.starts_with("host_") || field.ends_with("_host") || field == "layer_overhead" ||
         field == "kernel_launch";
}

}  // namespace

std::string overlay_json(const RunFit& fit) {
  Json document = {{"description", "Fitted to training runs by `meshwright calibrate runs`."},
                   {"configurations", fit.configurations},
                   {"mean_error_before", rounded(fit.mean_error_before)},
                   {"mean_error_after", rounded(fit.mean_error_after)},
                   {"mean_error_left_out", rounded(fit.mean_error_left_out)},
                   {"median_error_left_out", rounded(fit.median_error_left_out)},
                   {"devices", Json::array()},
                   {"media", Json::array()},
                   {"frameworks", Json::array()}};
  for (const RunParameter& p : fit.parameters) {
    const std::size_t space = p.owner.find(' ');
    const std::string kind = p.owner.substr(0, space), name = p.owner.substr(space + 1);
    const Json value = is_time(p.field) ? Json(std::to_string(rounded(p.value * 1e6)) + " us") : Json(rounded(p.value));
    if (kind == "device") set_path(named(document["devices"], name), p.field, value);
    if (kind == "medium") named(document["media"], name)["in_step"] = value;
    if (kind == "framework") named(document["frameworks"], name)[p.field] = value;
  }
  return document.dump(1) + "\n";
}

}  // namespace meshwright
