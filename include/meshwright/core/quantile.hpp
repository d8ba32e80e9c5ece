#pragma once
#include <algorithm>
#include <cmath>
#include <vector>

namespace meshwright {

/// The value of nearest rank at `share` (0 to 1) of the sorted values; 0 where there are none.
inline double nearest_quantile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  const auto at = values.begin() + std::lround(share * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

/// The value at `share` (0 to 1) of the sorted values, on the line between the two nearest; 0 where there are none.
inline double interpolated_quantile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const double at = share * static_cast<double>(values.size() - 1);
  const auto low = static_cast<std::size_t>(at);
  const std::size_t high = std::min(low + 1, values.size() - 1);
  return values[low] + (at - static_cast<double>(low)) * (values[high] - values[low]);
}

}  // namespace meshwright
