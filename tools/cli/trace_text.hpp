#pragma once
// Measured traces beside a prediction: a table for people, and JSON.
#include <nlohmann/json.hpp>
#include <string>

#include "meshwright/calibrate/trace_comparison.hpp"

namespace meshwright::cli {

/// Reads the files and lays them beside the prediction. Throws Error as read_trace does.
TraceComparison compare_trace_files(const std::vector<std::string>& files, const Job& job,
                                    const Prediction& prediction);
std::string trace_text(const TraceComparison& comparison);
/// {"ranks": [{rank, stage, steps, step_time_s, predicted_step_time_s, terms}], "findings": [...]}.
nlohmann::ordered_json trace_json(const TraceComparison& comparison);

}  // namespace meshwright::cli
