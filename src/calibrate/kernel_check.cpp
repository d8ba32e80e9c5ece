// How well the kernel models predict tables of timings.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "meshwright/calibrate/kernel_points.hpp"
#include "meshwright/core/error.hpp"
#include "meshwright/core/quantile.hpp"

namespace meshwright::calibrate {
namespace {

bool is_large(const GemmPoint& p) { return std::min({p.m, p.n, p.k}) >= 1024; }
bool is_large(const AttentionPoint& p) { return p.shape.seq_q >= 4096; }

DType dtype_of(const GemmGroup& g) { return gemm_of({}, g.format).dtype; }
DType dtype_of(const AttentionGroup& g) { return g.format; }

std::string format_of(const GemmGroup& g) { return g.format; }
std::string format_of(const AttentionGroup& g) { return std::string(meshwright::name(g.format)); }

/// The device, or null with the reason why the group cannot be predicted.
const Accelerator* device_of(const Catalog& catalog, const std::string& name, DType dtype, std::string& why) {
  try {
    const Accelerator& device = catalog.accelerator(name, "gpu");
    if (device.peak(dtype).value() > 0) return &device;
    why = fmt::format("{} has no {} peak", device.name, meshwright::name(dtype));
  } catch (const Error& error) {
    why = error.what_happened();
  }
  return nullptr;
}

template <class Group>
std::vector<bool> marks(const Group& group) {
  std::vector<bool> large;
  for (const auto& point : group.points) large.push_back(is_large(point));
  return large;
}

void summarise(KernelErrors& group, const std::vector<bool>& large) {
  group.count = static_cast<long>(group.errors.size());
  if (group.errors.empty()) {
    if (group.skipped.empty()) group.skipped = "no row is of use for calibration";
    return;
  }
  std::vector<double> ape, large_ape;
  for (std::size_t i = 0; i < group.errors.size(); ++i) {
    ape.push_back(std::abs(group.errors[i]));
    if (large[i]) large_ape.push_back(ape.back());
  }
  group.median_ape = nearest_quantile(ape, 0.5);
  group.p90_ape = nearest_quantile(ape, 0.9);
  group.mean_ape = std::accumulate(ape.begin(), ape.end(), 0.0) / static_cast<double>(ape.size());
  group.bias = nearest_quantile(group.errors, 0.5);
  group.large_count = static_cast<long>(large_ape.size());
  group.large_median_ape = nearest_quantile(large_ape, 0.5);
}

std::vector<double> relative_errors(const GemmGroup& group, const Accelerator& device) {
  const GemmEfficiency& e = efficiency_of(device, group.format, library_of(group.source));
  std::vector<double> errors;
  for (const GemmPoint& p : group.points)
    errors.push_back(gemm_time(gemm_of(p, group.format), device, e, Clocks::burst) / p.measured - 1);
  return errors;
}

std::vector<double> relative_errors(const AttentionGroup& group, const Accelerator& device) {
  std::vector<double> errors;
  for (const AttentionPoint& p : group.points)
    errors.push_back(prefill_attention_time(p.shape, device, group.format) / p.measured - 1);
  return errors;
}

template <class Group>
KernelErrors check_group(const Group& group, const char* kernel, const Catalog& catalog) {
  KernelErrors result{.device = group.device, .format = format_of(group), .source = group.source, .kernel = kernel};
  const Accelerator* device = device_of(catalog, group.device, dtype_of(group), result.skipped);
  return device == nullptr ? result : kernel_errors(group, *device);
}

}  // namespace

KernelErrors kernel_errors(const GemmGroup& group, const Accelerator& device) {
  KernelErrors result{.device = group.device, .format = group.format, .source = group.source, .kernel = "gemm"};
  result.errors = relative_errors(group, device);
  result.excluded = group.excluded;
  summarise(result, marks(group));
  return result;
}

KernelErrors kernel_errors(const AttentionGroup& group, const Accelerator& device) {
  KernelErrors result{
      .device = group.device, .format = format_of(group), .source = group.source, .kernel = "attention"};
  result.errors = relative_errors(group, device);
  summarise(result, marks(group));
  return result;
}

KernelCheck check_gemm_points(const std::filesystem::path& path, const Catalog& catalog) {
  KernelCheck check;
  for (const GemmGroup& group : read_gemm_points(path, catalog)) {
    check.groups.push_back(check_group(group, "gemm", catalog));
  }
  return check;
}

KernelCheck check_attention_points(const std::filesystem::path& path, const Catalog& catalog) {
  KernelCheck check;
  for (const AttentionGroup& group : read_attention_points(path, catalog))
    check.groups.push_back(check_group(group, "attention", catalog));
  return check;
}

}  // namespace meshwright::calibrate
