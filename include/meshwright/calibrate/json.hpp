#pragma once
// Checked training runs as JSON text: the contract of `meshwright validate --json` and of Python's validate().
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "meshwright/calibrate/validate_runs.hpp"

namespace meshwright::calibrate {

/// Groups in reading order: headline, all, then by kind and size.
std::vector<std::pair<std::string, ErrorFigures>> in_reading_order(const std::map<std::string, ErrorFigures>& groups);

/// {"runs" [{"id", "kind", "set", "tier", "task", "framework", "device", "state", "predicted" {"step_time_s",
/// "peak_memory_bytes", ..., "breakdown"}, "measured" {"step_time_s", "peak_memory_bytes", "mfu"}, "relative_error"
/// {"step_time", "peak_memory"}, "skipped"}], "summary" {"count", "skipped", "mape", "median_ape", "p90_ape",
/// "by_group" {name: {"count", "skipped", "mape", "median_ape", "p90_ape", "bias", "baseline_mape"}}}}; null where
/// there is nothing.
std::string to_json(std::span<const RunCheck> checks);

}  // namespace meshwright::calibrate
