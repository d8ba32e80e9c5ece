#pragma once
// Runs as JSON text: the contract of `meshwright plan --tokens --json` and `meshwright whatif --json`.
#include <string>

#include "meshwright/capacity/estimate.hpp"

namespace meshwright::capacity {

/// {"tokens", "steps", "days", "gpu_hours", "goodput", "interruptions", "mtbf_s" (null: never),
/// "checkpoint_interval_s", "peer_interval_s", "checkpoint_bytes", "spares", "step_p50_s", "step_p99_s", "cost_usd"
/// (null where a price is missing), "capex_usd" (null where rented), "energy_mwh", "power_mw", "provisioned_mw",
/// "carbon_t", "usd_per_trillion_tokens", "usd_per_pflops_day", "rented", "unpriced", "time", "cost", "capex"}; the
/// last three are trees of terms.
std::string to_json(const RunEstimate& estimate);

/// Every input that was used, a sentence each: stated ones, then defaults.
std::vector<std::string> assumption_lines(const RunAssumptions& assumptions);

}  // namespace meshwright::capacity
