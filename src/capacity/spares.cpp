#include "meshwright/capacity/spares.hpp"

#include <algorithm>
#include <boost/math/special_functions/gamma.hpp>
#include <cmath>

namespace meshwright::capacity {

// P(Poisson(m) >= k) is the regularised incomplete gamma function P(k, m).
double shortage(double in_repair, int spares) {
  constexpr double hopeless = 1e7;  // beyond any number of spares
  if (spares <= 0 || in_repair >= hopeless) return 1;
  if (in_repair <= 0) return 0;
  // At most m^k / k!, which is no number that is told from 0 long before the function's own factorials overflow.
  // (std::lgamma writes a global sign, which threads of a sweep would share.)
  constexpr double nothing = -700;
  if (spares * std::log(in_repair) - boost::math::lgamma(spares + 1.0) < nothing) return 0;
  return boost::math::gamma_p(static_cast<double>(spares), in_repair);
}

int spares_for(double in_repair, double share) {
  // Above a million hosts in repair nothing helps.
  int low = -1, high = 1 << 20;
  while (high - low > 1) {
    const int middle = low + (high - low) / 2;
    (shortage(in_repair, middle) <= share ? high : low) = middle;
  }
  return high;
}

Seconds shortage_wait(Seconds repair, int spares) { return repair / (spares + 1.0); }

}  // namespace meshwright::capacity
