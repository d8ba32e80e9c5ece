#pragma once
// A planner's own runs on the command line: `calibrate runs`, and what `validate --own-runs` says.
#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "meshwright/calibrate/own_fit.hpp"
#include "meshwright/calibrate/spread_fit.hpp"

namespace meshwright::cli {

/// Layouts of the job that a search recommends, and so might be run next.
std::vector<NextRun> runs_to_make(const Job& job, const OwnFit& fit);

/// What the runs told, figure by figure, and what to measure next.
std::string own_fit_text(const OwnFit& fit, std::span<const NextRun> next);
nlohmann::ordered_json next_runs_json(std::span<const NextRun> next);

std::string own_check_text(const OwnRunsCheck& check);
nlohmann::ordered_json own_check_json(const OwnRunsCheck& check);

}  // namespace meshwright::cli
