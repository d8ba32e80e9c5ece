#pragma once
// What an algorithm costs, as exact numbers without a machine.
#include <array>

#include "meshwright/collectives/schedule.hpp"

namespace meshwright::collectives {

/// T = rounds * alpha + wire * n * beta + reduced * n * gamma (Thakur, Rabenseifner, Gropp 2005). Exact rationals.
struct Coefficients {
  int rounds = 0;    ///< dependent message latencies
  int messages = 0;  ///< messages sent, or received, by the busiest rank of each round, summed over rounds
  Ratio wire{};      ///< bytes through the busiest port and direction of each round, summed over rounds, over n
  Ratio reduced{};   ///< bytes that the busiest rank of each round combines (not a switch), summed over rounds, over n

  friend constexpr bool operator==(const Coefficients&, const Coefficients&) = default;
};
constexpr Coefficients operator+(const Coefficients& a, const Coefficients& b) {
  return {a.rounds + b.rounds, a.messages + b.messages, a.wire + b.wire, a.reduced + b.reduced};
}
/// The same pattern on `share` of the vector.
constexpr Coefficients scaled(const Coefficients& c, Ratio share) {
  return {c.rounds, c.messages, c.wire * share, c.reduced * share};
}

/// One entry a level of the shape, innermost first; a flat algorithm fills the first.
using LevelCoefficients = std::array<Coefficients, level_limit>;

/// The coefficients as the schedule has them: counted round by round, port by port.
LevelCoefficients read_coefficients(const Schedule& schedule);

}  // namespace meshwright::collectives
