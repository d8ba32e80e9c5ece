#pragma once
// The standard normal distribution.
#include <algorithm>
#include <cmath>

namespace meshwright {

/// Standard deviations beyond which a tenth lies.
inline constexpr double normal_decile = 1.2815515655446004;

inline double normal_distribution(double z) { return 0.5 * std::erfc(-z / std::sqrt(2.0)); }

/// Inverse of normal_distribution for 0 < p < 1, to the last digits: bisection, then Newton steps.
inline double normal_quantile(double p) {
  double low = -39, high = 39;
  for (int i = 0; i < 24; ++i) {
    const double middle = (low + high) / 2;
    (normal_distribution(middle) < p ? low : high) = middle;
  }
  double z = (low + high) / 2;
  for (int i = 0; i < 3; ++i) {
    const double density = std::exp(-z * z / 2) / std::sqrt(2 * 3.141592653589793);
    if (!(density > 0)) break;
    z = std::clamp(z - (normal_distribution(z) - p) / density, low, high);
  }
  return z;
}

}  // namespace meshwright
