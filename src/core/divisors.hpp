#pragma once
#include <algorithm>
#include <vector>

namespace meshwright {

/// Divisors of n up to `most`, ascending.
inline std::vector<int> divisors(int n, int most) {
  std::vector<int> out;
  for (int d = 1; d <= std::min(n, most); ++d) {
    if (n % d == 0) out.push_back(d);
  }
  return out;
}

}  // namespace meshwright
