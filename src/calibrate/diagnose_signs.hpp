#pragma once
// Causes that text or a single figure gives away.
#include <vector>

#include "meshwright/calibrate/diagnose.hpp"

namespace meshwright::calibrate {

/// Causes from the lines and the figures beside the rows. `reached` is the measured bus bandwidth over the healthy
/// prediction (0 = unknown).
std::vector<LikelyCause> direct_signs(const Observation& o, double reached);

}  // namespace meshwright::calibrate
