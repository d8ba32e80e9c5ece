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

}  // namespace meshwright
