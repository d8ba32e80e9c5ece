#include "meshwright/calibrate/kernel_fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>

#include "meshwright/core/error.hpp"
#include "meshwright/hardware/gemm_format.hpp"

namespace meshwright::calibrate {
namespace {

constexpr std::array gemm_parameters = {
    FitParameter{"ceiling", 0.75, 0.1, 1},      FitParameter{"fade", 0.1, 1e-3, 1},
    FitParameter{"floor", 4e-6, 5e-7, 5e-5},    FitParameter{"k_half", 100, 1, 4000},
    FitParameter{"k_step", 1e-10, 1e-13, 2e-9}, FitParameter{"memory", 0.8, 0.3, 1},
    FitParameter{"cast_memory", 0.5, 0.05, 1}};

constexpr std::array attention_parameters = {
    FitParameter{"forward", 0.6, 0.1, 1},      FitParameter{"softmax", 4e12, 1e11, 1e14},
    FitParameter{"seq_half", 500, 1, 4000},    FitParameter{"memory", 0.4, 0.05, 1},
    FitParameter{"floor", 1.5e-5, 1e-6, 1e-4}, FitParameter{"seq_step", 1e-9, 1e-12, 1e-7}};

void set(GemmEfficiency& e, std::span<const double> v) {
  e.ceiling = v[0];
  e.fade = v[1];
  e.floor = Seconds::base(v[2]);
  e.k_half = v[3];
  e.k_step = Seconds::base(v[4]);
  e.memory = v[5];
  e.cast_memory = v[6];
}

void set(AttentionEfficiency& e, std::span<const double> v) {
  e.forward = v[0];
  e.softmax = v[1];
  e.seq_half = v[2];
  e.memory = v[3];
  e.floor = Seconds::base(v[4]);
  e.seq_step = Seconds::base(v[5]);
}

/// The device as the catalogue has it, where it supports the format.
std::optional<Accelerator> known_device(const Catalog& catalog, const std::string& name, DType dtype) {
  const auto found = std::ranges::find(catalog.accelerators, name, &Accelerator::name);
  if (found == catalog.accelerators.end() || found->peak(dtype).value() <= 0) return std::nullopt;
  return *found;
}

/// Groups of one device and format, sources pooled, in the order of first appearance.
template <class Group>
std::vector<Group> pooled(const std::vector<Group>& groups) {
  std::vector<Group> result;
  for (const Group& group : groups) {
    if (group.points.empty()) continue;
    const auto same = std::ranges::find_if(
        result, [&](const Group& g) { return g.device == group.device && g.format == group.format; });
    if (same == result.end()) {
      result.push_back(group);
    } else {
      same->source.clear();
      same->points.insert(same->points.end(), group.points.begin(), group.points.end());
    }
  }
  return result;
}

/// Fits the parameters in `e`, which belongs to `device`, to the group by `time` of a point.
template <class Group, class Efficiency>
void fit_into(const Group& group, Efficiency& e, std::span<const FitParameter> parameters, const auto& time) {
  const auto residuals = [&](std::span<const double> values, std::span<double> out) {
    set(e, values);
    for (std::size_t i = 0; i < group.points.size(); ++i)
      out[i] = std::log(time(group.points[i]) / group.points[i].measured);
  };
  set(e, robust_fit(parameters, residuals, group.points.size()));
}

/// Launches of cast and product can't be told apart in a sum: the product's are those of plain bf16.
void split_floor(GemmEfficiency& e, Seconds plain) {
  if (plain <= Seconds{} || plain >= e.floor) return;
  e.cast_floor = e.floor - plain;
  e.floor = plain;
}

GemmFit fit_group(const GemmGroup& group, const Accelerator& device, Seconds plain_floor) {
  GemmFit fit{.device = group.device, .format = group.format, .library = {}, .efficiency = {}, .errors = {}};
  const auto time = [&](const GemmPoint& p) {
    return gemm_time(gemm_of(p, group.format), device, fit.efficiency, Clocks::burst);
  };
  fit_into(group, fit.efficiency, gemm_parameters, time);
  if (gemm_of({}, group.format).cast) split_floor(fit.efficiency, plain_floor);
  return fit;
}

/// The device with what was fitted, alone.
Accelerator with(Accelerator device, const GemmFit& fit) {
  device.efficiency.gemm_by_library.clear();
  own_figures(device.efficiency, parse_gemm_format(fit.format, "format")) = fit.efficiency;
  return device;
}

constexpr double own_fit_beyond = 0.05;

/// Fits of single libraries that the pooled one misses.
void fit_libraries(const GemmGroup& pool, const std::vector<GemmGroup>& groups, const Accelerator& device,
                   Seconds plain_floor, std::vector<GemmFit>& fits) {
  const Accelerator pooled_device = with(device, fits.back());
  for (const GemmGroup& group : groups) {
    if (group.device != pool.device || group.format != pool.format || group.points.empty()) continue;
    if (std::abs(kernel_errors(group, pooled_device).bias) < own_fit_beyond) continue;
    GemmFit fit = fit_group(group, device, plain_floor);
    fit.errors = kernel_errors(group, with(device, fit));
    fit.library = library_of(group.source);
    if (!fit.library.empty()) fits.push_back(std::move(fit));
  }
}

}  // namespace

std::vector<GemmFit> fit_gemm(const std::vector<GemmGroup>& groups, const Catalog& catalog) {
  std::vector<GemmFit> fits;
  std::map<std::string, Seconds> launch;  // of the unquantised kernel, by device
  std::vector<GemmGroup> order = pooled(groups);
  std::stable_partition(order.begin(), order.end(), [](const GemmGroup& g) { return !gemm_of({}, g.format).cast; });
  for (const GemmGroup& group : order) {
    const Gemm kind = gemm_of({}, group.format);
    const std::optional<Accelerator> device = known_device(catalog, group.device, kind.dtype);
    if (!device) continue;
    const Seconds plain_floor = launch[group.device];
    GemmFit fit = fit_group(group, *device, plain_floor);
    if (!kind.cast) launch[group.device] = fit.efficiency.floor;
    fit.errors = kernel_errors(group, with(*device, fit));
    fits.push_back(std::move(fit));
    fit_libraries(group, groups, *device, plain_floor, fits);
  }
  return fits;
}

std::vector<AttentionFit> fit_attention(const std::vector<AttentionGroup>& groups, const Catalog& catalog) {
  std::vector<AttentionFit> fits;
  for (const AttentionGroup& group : pooled(groups)) {
    std::optional<Accelerator> device = known_device(catalog, group.device, group.format);
    if (!device) continue;
    AttentionEfficiency& e = device->efficiency.prefill_of(group.format);
    fit_into(group, e, attention_parameters,
             [&](const AttentionPoint& p) { return prefill_attention_time(p.shape, *device, group.format); });
    AttentionFit fit{.device = group.device, .format = group.format, .efficiency = e, .errors = {}};
    fit.errors = kernel_errors(group, *device);
    fits.push_back(std::move(fit));
  }
  return fits;
}

}  // namespace meshwright::calibrate
