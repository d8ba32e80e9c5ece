#pragma once
// Money and energy of a run: the purchase line by line and what it costs a year, or rent; carbon.
#include <string>
#include <vector>

#include "meshwright/capacity/inputs.hpp"
#include "meshwright/capacity/power.hpp"
#include "meshwright/capacity/site.hpp"
#include "meshwright/core/breakdown.hpp"

namespace meshwright::capacity {

/// The purchase in dollars, a line a part: nodes, spare nodes, racks, network lines, spare parts. A part without a
/// price of its own gets the range of prices.switch_capacity or prices.cable; a node without one its accelerators'
/// price with prices.server. `unpriced` names what even that doesn't cover.
struct Capex {
  Term terms;
  std::vector<std::string> unpriced;
  bool priced() const { return unpriced.empty(); }
};
Capex capex(const Site& site, int spares, const Inputs& inputs);

/// Dollars a year per dollar bought: capital recovery factor less the resale's sinking fund,
///   r / (1 - (1 + r)^-n) - v r / ((1 + r)^n - 1), (1 - v) / n without interest.
double yearly_share(double years, double interest, double residual);

/// What a run used.
struct Usage {
  Seconds wall{}, running{}, waiting{}, idle{};  ///< wall = running + waiting + idle
  double accelerators = 0;
};

struct RunCost {
  Term cost;  ///< dollars: rent, or depreciation and interest by part, maintenance, colocation, energy, staff
  bool rented = false;
  Joules energy{};  ///< at the meter, PUE included
  double carbon_kg = 0;
};
/// Cost of a run. Rented where prices.gpu_hour is above zero, where a contract is named and a rent on demand is known,
/// or where nothing else than a rent is known; else bought: the purchase, maintenance, space and staff for wall /
/// prices.utilisation, energy for what was used.
RunCost run_cost(const Site& site, const Capex& capex, const Power& power, const Usage& usage, const Inputs& inputs);

}  // namespace meshwright::capacity
