#pragma once
// What a fit of training runs is made of: configurations with their weights, and the parameters that enter each.
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "meshwright/calibrate/fit_runs.hpp"

namespace meshwright::calibrate {

/// One configuration: the mean of its runs.
struct RunPoint {
  const RunRecord* run = nullptr;
  double log_measured = 0;
  double weight = 1;
  std::string model_and_device, set;                ///< groups that cross-validation leaves out
  std::string device, stack, model, release, site;  ///< more of them; a site is a source's runs of one device and stack
  std::vector<std::size_t> parameters;              ///< that enter it
};

/// The configurations of the runs that count, without parameters; with `others` also those of other tasks, without
/// weight.
std::vector<RunPoint> points_of(std::span<const RunRecord> runs, bool others = false);
/// The parameters that enter the points, with the number of configurations that tell each; fills their `parameters`.
std::vector<RunParameter> parameters_of(std::span<RunPoint> points);
/// Keeps the parameters for which `keep` holds and renumbers those of the points.
void keep_parameters(std::vector<RunParameter>& parameters, std::span<RunPoint> points,
                     const std::function<bool(const RunParameter&)>& keep);

}  // namespace meshwright::calibrate
