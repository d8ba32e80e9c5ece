#pragma once
// A prediction as a page to mail or print: no scripts, nothing from elsewhere, every figure as in the JSON.
#include <string>

#include "meshwright/parallel/prediction.hpp"

namespace meshwright::parallel {

/// "tp: 8 on nvlink4; dp: 4 on infiniband leaf": where the groups of each axis of more than one rank sit.
std::string describe_placement(const Placement& placement);

/// Head of a page: the job in words, as escaped HTML.
std::string job_html(const Job& job);
/// Figures, waterfall, memory, timeline and terms of one layout. Keys of the figures are those of the prediction's JSON
/// behind `prefix` ("best/").
std::string prediction_html(const Job& job, const Prediction& prediction, const std::string& prefix = "");
/// What it rests on.
std::string assumptions_html(const std::vector<std::string>& warnings, const std::vector<std::string>& assumptions);
/// The whole page of one layout; `refused` where it cannot run.
std::string to_html(const Job& job, const Prediction& prediction, const std::string& refused = "");

}  // namespace meshwright::parallel
