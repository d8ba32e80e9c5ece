#pragma once
// Fits of the kernel models' device parameters to timing tables: robust least squares on log errors.
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "meshwright/calibrate/kernel_points.hpp"

namespace meshwright::calibrate {

/// One parameter of a fit: searched on a logarithmic scale within [least, most].
struct FitParameter {
  std::string_view name;
  double start, least, most;
};

/// Parameters that minimise the sum of a Cauchy loss of the residuals (scale 0.07: errors far beyond 7 % hardly count,
/// because a library's odd choice of tile for some shapes is no property of the device).
/// Levenberg-Marquardt with numeric derivatives. `residuals` fills one log error a point and must be total.
std::vector<double> robust_fit(std::span<const FitParameter> parameters,
                               const std::function<void(std::span<const double>, std::span<double>)>& residuals,
                               std::size_t points);

struct GemmFit {
  std::string device, format;
  std::string library;  ///< "" = all sources pooled, the device's usual row
  GemmEfficiency efficiency;
  KernelErrors errors;  ///< over the points of the fit
};
struct AttentionFit {
  std::string device;
  DType format = DType::bf16;  ///< of the key-value cache
  AttentionEfficiency efficiency;
  KernelErrors errors;
};

/// One fit for each device and format (its sources pooled) that the catalogue knows; others are left out. A library
/// that the pooled fit misses by more than 5 % in the median gets a fit of its own beside it. The cast of a quantised
/// format is what its launches take beyond those of the device's bf16 fit.
std::vector<GemmFit> fit_gemm(const std::vector<GemmGroup>& groups, const Catalog& catalog);
std::vector<AttentionFit> fit_attention(const std::vector<AttentionGroup>& groups, const Catalog& catalog);

/// The fits as an overlay of the hardware database (JSON text), with their residuals. `source` names the table.
std::string efficiency_overlay(const std::vector<GemmFit>& gemm, const std::vector<AttentionFit>& attention,
                               const std::string& source);

}  // namespace meshwright::calibrate
