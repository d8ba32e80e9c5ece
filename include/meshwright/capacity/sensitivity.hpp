#pragma once
// What would change the answer: Monte Carlo over the inputs, tornado, and the values at which another candidate wins.
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "meshwright/capacity/points.hpp"

namespace meshwright::capacity {

/// Days and dollars of one draw of all inputs.
struct Draw {
  double days = 0, cost = 0;
};

/// Latin hypercube: draw i of every input lies in a stratum of its own, the strata of an input in an order that follows
/// from the seed and its name. The same inputs of several points are drawn alike, so that their draws can be compared
/// one by one.
std::vector<Draw> draw_points(const PlannedPoint& point, int draws, std::uint64_t seed);

struct Percentiles {
  double p10 = 0, p50 = 0, p90 = 0;
};
/// Of at least one value.
Percentiles percentiles(std::vector<double> values);

/// One bar of a tornado.
struct Sensitivity {
  std::string input;         ///< "prices.energy"
  double low = 0, high = 0;  ///< the input's tenth and ninetieth percentile, base units
  std::string low_text, high_text;
  Draw at_low, at_high;  ///< result with it alone moved
  double effect = 0;     ///< largest change of the objective over its central value
};
/// All inputs with a range, largest effect first; those that change nothing are left out. `by_cost` says what the
/// effect is on: cost or days.
std::vector<Sensitivity> tornado(const PlannedPoint& point, bool by_cost);

/// Root of a function between two ends where it has opposite signs, by bisection to a relative 1e-9; nothing otherwise.
std::optional<double> root(const std::function<double(double)>& f, double low, double high);

/// A value of an input at which two points change places.
struct Flip {
  std::string workload, what, from, to;  ///< `from` is best on the near side, `to` beyond
  double at = 0;                         ///< base units
  std::string at_text;
};
/// Where the order of two points of one workload changes while one input goes through its range (tenth to ninetieth
/// percentile), for both at once; a premium on the network of either alone is tried from -50 % to +200 %.
std::vector<Flip> flips(const PlannedPoint& best, const PlannedPoint& other, bool by_cost);

}  // namespace meshwright::capacity
