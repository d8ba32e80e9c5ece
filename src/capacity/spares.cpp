#include "meshwright/capacity/spares.hpp"

#include <algorithm>
#include <cmath>

namespace meshwright::capacity {

double shortage(double in_repair, int spares) {
  double below = 0;
  for (int k = 0; k < spares; ++k)
    below += std::exp(k * std::log(std::max(in_repair, 1e-300)) - in_repair - std::lgamma(k + 1.0));
  return std::clamp(1 - below, 0.0, 1.0);
}

int spares_for(double in_repair, double share) {
  // Above a million hosts in repair nothing helps; the search ends.
  constexpr int most = 1 << 20;
  double below = 0;
  for (int k = 0; k < most; ++k) {
    if (1 - below <= share) return k;
    below += std::exp(k * std::log(std::max(in_repair, 1e-300)) - in_repair - std::lgamma(k + 1.0));
  }
  return most;
}

Seconds shortage_wait(Seconds repair, int spares) { return repair / (spares + 1.0); }

}  // namespace meshwright::capacity
