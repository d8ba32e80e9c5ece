#pragma once
// Runs predicted by fits that have not seen their group.
#include <map>
#include <span>
#include <string>
#include <vector>

#include "calibrate/run_points.hpp"

namespace meshwright::calibrate {

using RunGroup = std::string RunPoint::*;

/// The fit without a group: logs of the parameters over their priors, and the variances of those.
struct LeftOutGroup {
  std::vector<double> logs, variances;
};

struct LeftOutRuns {
  std::vector<RunPoint> points;                             ///< runs of other tasks than pre-training included
  std::vector<RunParameter> parameters;                     ///< of the fit
  std::vector<std::map<std::string, LeftOutGroup>> groups;  ///< by way of leaving out, by name
  std::vector<std::vector<double>> errors;  ///< by way, of each point: log(measured / predicted) without its group
};

/// As fit_runs(), one linearised fit for each group left out.
LeftOutRuns left_out_runs(std::span<const RunRecord> runs, std::span<const RunGroup> groups);

}  // namespace meshwright::calibrate
