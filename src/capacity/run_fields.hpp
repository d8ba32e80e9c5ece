#pragma once
// The numbers of a run: one row each, read by the JSON of plan and whatif, a store's lines and the CSV table.
#include <span>
#include <string_view>

#include "meshwright/capacity/whatif.hpp"

namespace meshwright::capacity {

/// When a number is there at all; null in JSON where it isn't.
enum class Known { always, above_zero, priced, bought };

struct RunField {
  std::string_view key;              ///< "step_time_s": the unit is part of it
  double (*of)(const RunEstimate&);  ///< null: what an estimate alone doesn't have (bands, MFU)
  double& (*in)(Result&);            ///< null: not kept of every point
  Known known = Known::always;
  bool whole = false;  ///< a count
};
std::span<const RunField> run_fields();

}  // namespace meshwright::capacity
