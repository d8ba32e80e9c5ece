// Fits of kernels as JSON that the hardware database takes.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/json_text.hpp"
#include "meshwright/calibrate/kernel_fit.hpp"
#include "meshwright/core/text.hpp"

namespace meshwright::calibrate {
namespace {

using Json = nlohmann::ordered_json;

double rounded(double value, int digits) {
  if (value == 0) return 0;
  const double unit = std::pow(10.0, std::floor(std::log10(std::abs(value))) - (digits - 1));
  return parse_number(fmt::format("{:.{}g}", std::round(value / unit) * unit, digits)).value_or(value);
}

std::string micro(Seconds t) { return fmt::format("{:.3g} us", t.value() * 1e6); }
std::string nano(Seconds t) { return fmt::format("{:.3g} ns", t.value() * 1e9); }

std::string residual_text(const KernelErrors& e) {
  return fmt::format("{} points: median error {:.1f} %, p90 {:.1f} %; large shapes ({}) {:.1f} %", e.count,
                     100 * e.median_ape, 100 * e.p90_ape, e.large_count, 100 * e.large_median_ape);
}

Json to_json(const GemmFit& fit, const std::string& source) {
  const GemmEfficiency& e = fit.efficiency;
  Json j = {{"ceiling", rounded(e.ceiling, 3)}, {"fade", rounded(e.fade, 2)}, {"floor", micro(e.floor)},
            {"k_half", rounded(e.k_half, 3)},   {"k_step", nano(e.k_step)},   {"memory", rounded(e.memory, 3)}};
  if (gemm_of({}, fit.format).cast) {
    j["cast_floor"] = micro(e.cast_floor);
    j["cast_memory"] = rounded(e.cast_memory, 3);
  }
  j["evidence"] = "calibrated";
  j["source"] = source + "; " + residual_text(fit.errors);
  return j;
}

Json to_json(const AttentionFit& fit, const std::string& source) {
  const AttentionEfficiency& e = fit.efficiency;
  return {{"forward", rounded(e.forward, 3)},
          {"softmax", rounded(e.softmax, 3)},
          {"seq_half", rounded(e.seq_half, 3)},
          {"memory", rounded(e.memory, 3)},
          {"floor", micro(e.floor)},
          {"seq_step", nano(e.seq_step)},
          {"evidence", "calibrated"},
          {"source", source + "; " + residual_text(fit.errors)}};
}

Json& device_entry(Json& devices, const std::string& name) {
  const auto same = std::find_if(devices.begin(), devices.end(), [&](const Json& d) { return d["name"] == name; });
  if (same != devices.end()) return *same;
  devices.push_back({{"name", name}});
  return devices.back();
}

}  // namespace

std::string efficiency_overlay(const std::vector<GemmFit>& gemm, const std::vector<AttentionFit>& attention,
                               const std::string& source) {
  Json devices = Json::array();
  for (const GemmFit& fit : gemm) {
    Json& device = device_entry(devices, fit.device);
    Json& rows = fit.library.empty() ? device["gemm"] : device["gemm_by_library"][fit.library];
    rows[fit.format] = to_json(fit, source);
  }
  for (const AttentionFit& fit : attention)
    device_entry(devices, fit.device)[fit.format == DType::fp8 ? "prefill_fp8" : "prefill"] = to_json(fit, source);
  const Json overlay = {{"description", "Kernel efficiencies fitted to timings by `meshwright calibrate gemm`."},
                        {"devices", devices}};
  return json_text(overlay, 2) + "\n";
}

}  // namespace meshwright::calibrate
