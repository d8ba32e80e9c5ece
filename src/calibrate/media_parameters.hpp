#pragma once
// The parameters of a medium that a fit may move, each with the width of its prior.
#include <vector>

#include "meshwright/hardware/medium.hpp"
#include "meshwright/topology/place.hpp"

namespace meshwright::calibrate {

struct FreeParameter {
  int medium = 0;       ///< index
  std::size_t row = 0;  ///< in the table of parameters
  double width = 1;     ///< standard deviation of the prior on the parameter's logarithm
  double get(const std::vector<Medium>& media) const;
  void set(std::vector<Medium>& media, double value) const;
};

/// Every parameter of a medium that is in use (those at zero stay at zero).
std::vector<FreeParameter> free_parameters(const std::vector<Medium>& media, int medium);

}  // namespace meshwright::calibrate
