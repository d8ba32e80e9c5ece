#pragma once
// Predictions as JSON text: the contract of `meshwright predict --json` and of Python's to_dict().
#include <span>
#include <string>

#include "meshwright/parallel/prediction.hpp"

namespace meshwright::parallel {

/// The object {"tp", "cp", ...} with every field of Layout by its name.
std::string to_json(const Layout& layout);
/// {"layout", "step_time_s", "p10_s", "p90_s", "tokens_per_s_per_gpu", "mfu", "hfu", "comm_share", "peak_memory_bytes",
/// "memory" {"weights_bytes", ...}, "fit", "breakdown" {"compute_s", ...}, "hidden" {...}, "placement" {"order",
/// "axes" [{"axis", "ranks", "stride", "levels"}], "rank" {...}, "stages" [{"layers" of each chunk, "parameters",
/// "expert_parameters", "in_flight"}]}, "evidence", "warnings", "assumptions"}; base SI units with the unit in the key.
std::string to_json(const Prediction& prediction);
/// {"rule", "words", "needed", "available", "nearest" [layouts]}.
std::string to_json(const Violation& violation, std::span<const Layout> nearest);

}  // namespace meshwright::parallel
