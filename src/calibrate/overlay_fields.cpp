#include "calibrate/overlay_fields.hpp"

#include <fmt/format.h>

#include <cmath>

namespace meshwright::calibrate {

using Json = nlohmann::ordered_json;

namespace {

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

}  // namespace

double rounded(double value) {
  if (value == 0) return 0;
  const double scale = std::pow(10.0, 3 - std::floor(std::log10(std::abs(value))));
  return std::round(value * scale) / scale;
}

OwnerParts owner_parts(const std::string& owner) {
  const std::size_t space = owner.find(' ');
  return {owner.substr(0, space), owner.substr(space + 1)};
}

Json& named(Json& list, std::string_view name) {
  for (Json& item : list) {
    if (item["name"] == name) return item;
  }
  list.push_back({{"name", name}});
  return list.back();
}

void set_device_field(Json& entry, const std::string& field, double value, const Accelerator& device) {
  if (field == "attention.forward") {
    const AttentionEfficiency& a = device.efficiency.attention;
    entry["attention"] = {{"forward", rounded(value)}, {"backward", rounded(a.backward * value / a.forward)}};
    if (a.softmax > 0) entry["attention"]["softmax"] = rounded(a.softmax * value / a.forward);
  } else if (field == "gemm.bf16.sustained") {
    for (const DType t : {DType::bf16, DType::fp16}) {
      if (device.peak(t).value() > 0) entry["gemm"][std::string(name(t))]["sustained"] = rounded(value);
    }
  } else {
    set_path(entry, field, rounded(value));
  }
}

void set_stack_field(Json& entry, const std::string& field, double value) {
  set_path(entry, field, is_time(field) ? Json(fmt::format("{:.4g} us", value * 1e6)) : Json(rounded(value)));
}

}  // namespace meshwright::calibrate
