#pragma once
// How far a layout lies from anything that was measured and published.
#include <optional>
#include <string>

#include "meshwright/parallel/job.hpp"

namespace meshwright::calibrate {

struct NearestRun {
  std::string id;
  double distance = 0;  ///< doublings of sizes and degrees, and what is another device, stack, format or kind of model
  std::string words;    ///< "dgxc-405b-576: the same device and stack; 1,024 GPUs instead of 576, tp 8 instead of 4"
};

/// The published run that is most like the job in this layout; nothing where none says its degrees.
std::optional<NearestRun> nearest_run(const Job& job, const Layout& layout);
/// The same of the own runs that the job's overlay carries (own_runs.measured).
std::optional<NearestRun> nearest_own_run(const Job& job, const Layout& layout);
/// A run as the overlay carries it: {"id", "device", "stack", "format", "experts", "sizes" {...}}.
std::string run_shape_json(const std::string& id, const Job& job, const Layout& layout);

}  // namespace meshwright::calibrate
