#include "meshwright/calibrate/kernel_fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>

#include "meshwright/core/error.hpp"

namespace meshwright {
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

GemmEfficiency& efficiency_of(Accelerator& device, const Gemm& gemm) {
  return gemm.block_scaled ? device.efficiency.gemm_fp8_block : device.efficiency.of(gemm.dtype);
}

AttentionEfficiency& prefill_of(Accelerator& device, std::string_view format) {
  return format == "fp8" ? device.efficiency.prefill_fp8 : device.efficiency.prefill;
}

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
      same->points.insert(same->points.end(), group.points.begin(), group.points.end());
    }
  }
  return result;
}

template <class Fit, class Group>
void describe_fit(Fit& fit, const Group& group, const Accelerator& device, const char* kernel, const auto& large) {
  fit.device = fit.errors.device = group.device;
  fit.format = fit.errors.format = group.format;
  fit.errors.kernel = kernel;
  std::vector<bool> marks;
  for (const auto& point : group.points) {
    fit.errors.errors.push_back(predicted(point, group.format, device) / point.measured - 1);
    marks.push_back(large(point));
  }
  summarise(fit.errors, marks);
}

template <class Group, class Efficiency>
void fit_into(const Group& group, Accelerator& device, Efficiency& e, std::span<const FitParameter> parameters) {
  const auto residuals = [&](std::span<const double> values, std::span<double> out) {
    set(e, values);
    for (std::size_t i = 0; i < group.points.size(); ++i)
      out[i] = std::log(predicted(group.points[i], group.format, device) / group.points[i].measured);
  };
  set(e, robust_fit(parameters, residuals, group.points.size()));
}

}  // namespace

std::vector<GemmFit> fit_gemm(const std::vector<GemmGroup>& groups, const Catalog& catalog) {
  std::vector<GemmFit> fits;
  std::map<std::string, Seconds> launch;  // of the unquantised kernel, by device
  std::vector<GemmGroup> order = pooled(groups);
  std::ranges::stable_partition(order, [](const GemmGroup& g) { return !gemm_of({}, g.format).cast; });
  for (const GemmGroup& group : order) {
    const Gemm kind = gemm_of({}, group.format);
    std::optional<Accelerator> device = known_device(catalog, group.device, kind.dtype);
    if (!device) continue;
    GemmEfficiency& e = efficiency_of(*device, kind);
    e.cast_floor = {};
    std::span<const FitParameter> parameters = gemm_parameters;
    fit_into(group, *device, e, parameters);
    // The launches of cast and product can't be told apart in a sum: the product's are those of plain bf16.
    const auto plain = launch.find(group.device);
    if (kind.cast && plain != launch.end() && plain->second < e.floor) {
      e.cast_floor = e.floor - plain->second;
      e.floor = plain->second;
    }
    if (!kind.cast) launch.try_emplace(group.device, e.floor);
    GemmFit fit;
    describe_fit(fit, group, *device, "gemm", [](const GemmPoint& p) { return std::min({p.m, p.n, p.k}) >= 1024; });
    fit.efficiency = e;
    fits.push_back(std::move(fit));
  }
  return fits;
}

std::vector<AttentionFit> fit_attention(const std::vector<AttentionGroup>& groups, const Catalog& catalog) {
  std::vector<AttentionFit> fits;
  for (const AttentionGroup& group : pooled(groups)) {
    std::optional<Accelerator> device =
        known_device(catalog, group.device, group.format == "fp8" ? DType::fp8 : DType::bf16);
    if (!device) continue;
    AttentionEfficiency& e = prefill_of(*device, group.format);
    fit_into(group, *device, e, attention_parameters);
    AttentionFit fit;
    describe_fit(fit, group, *device, "attention", [](const AttentionPoint& p) { return p.shape.seq_q >= 4096; });
    fit.efficiency = e;
    fits.push_back(std::move(fit));
  }
  return fits;
}

}  // namespace meshwright
