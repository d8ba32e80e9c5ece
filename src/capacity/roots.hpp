#pragma once
// Every place where a function changes its sign.
#include <cmath>
#include <vector>

#include "meshwright/capacity/sensitivity.hpp"

namespace meshwright::capacity {

/// Roots of `f` from `low` to `high`, looked for in `parts` equal parts (in ratio where both ends are above zero and
/// far from each other): two in one part are missed.
template <class F>
std::vector<double> roots(F f, double low, double high, int parts = 16) {
  const bool by_ratio = low > 0 && high > 8 * low;
  std::vector<double> found;
  double left = low, at_left = f(low);
  for (int i = 1; i <= parts; ++i) {
    const double share = static_cast<double>(i) / parts;
    const double right = i == parts ? high : by_ratio ? low * std::pow(high / low, share) : low + (high - low) * share;
    const double at_right = f(right);
    if (at_left * at_right < 0) {
      if (const auto at = root(f, left, right)) found.push_back(*at);
    } else if (at_right == 0 && at_left != 0) {
      found.push_back(right);
    }
    left = right, at_left = at_right;
  }
  return found;
}

}  // namespace meshwright::capacity
