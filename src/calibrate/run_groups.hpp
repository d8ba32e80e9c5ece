#pragma once
// What validation and fits of training runs share.
#include "meshwright/calibrate/validate_runs.hpp"

namespace meshwright::calibrate {

/// Equal for runs of one stack, device, model, sequence, batch, precision, layout and recipe.
std::string configuration_of(const RunRecord& run);
/// Equal for runs of one job under one release: a planner chooses among their layouts.
std::string job_of(const RunRecord& run);

}  // namespace meshwright::calibrate
