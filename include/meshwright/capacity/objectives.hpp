#pragma once
// Objectives of the layout search that count failures and money.
#include <array>
#include <string_view>
#include <vector>

#include "meshwright/capacity/estimate.hpp"
#include "meshwright/search/objective.hpp"

namespace meshwright::capacity {

inline constexpr std::array<std::string_view, 3> run_objective_names = {"goodput", "cost", "energy"};
/// "goodput": wall time of a step, seconds; "cost": dollars of a step; "energy": joules of a step at the meter; each
/// with what failures, checkpoints, stragglers and the power cap add. They agree with estimate_run() of a long run.
/// Sites are worked out once for each count of accelerators; then a layout costs some arithmetic. "cost" is refused
/// with Error where a job's parts have no price. The catalogue must outlive the objectives.
std::vector<search::Objective> run_objectives(const hardware::Catalog& catalog, const RunAssumptions& assumptions);

}  // namespace meshwright::capacity
