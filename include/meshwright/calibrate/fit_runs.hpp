#pragma once
// Fits the few parameters that benchmarks of kernels and links leave open (sustained clocks, memory-bound traffic, use
// of links inside a step, host time of a stack) to training runs, by regularised least squares on log errors.
#include <span>
#include <string>
#include <vector>

#include "meshwright/calibrate/run_records.hpp"

namespace meshwright::calibrate {

/// One parameter: of a device, a medium or a framework profile; never of a run or a model.
struct RunParameter {
  std::string owner;    ///< "device H100-SXM5-80GB", "medium nvlink4", "framework megatron-core"
  std::string field;    ///< "gemm.bf16.sustained", "overlap.tp_exposed", ...
  std::string release;  ///< of the stack, where each has its own; else ""
  int place = 0;        ///< of that release among the stack's, oldest first
  double prior = 0;     ///< value without runs: that of the catalogue with which the records were read
  double spread = 0;    ///< how far the prior may be off, in log units
  double most = 0;      ///< the highest value that is physical: 1 for a share of what was measured
  double value = 0;     ///< fitted
  double error = 0;     ///< standard error in log units
  int runs = 0;  ///< configurations that tell it: of dense models, or of expert models for what only they have; of
                 ///< all releases where each has its own, since they tell one another
};
/// Whether two parameters are one thing, or one thing in two releases of a stack.
inline bool same_thing(const RunParameter& a, const RunParameter& b) {
  return a.owner == b.owner && a.field == b.field;
}

/// Errors of configurations predicted with a fit that has not seen their group.
struct LeftOut {
  double mean = 0, median = 0;  ///< absolute relative errors
};

/// Ordinary users' runs of every task, tiers A and B: each source predicted by a fit that has not seen it.
struct UsersLeftOut {
  LeftOut errors;
  int configurations = 0;
  int records = 0, not_stated = 0;  ///< of them, and those that can't be predicted at all
};

struct RunFit {
  std::vector<RunParameter> parameters;  ///< that the runs tell; all others stay at their prior
  int configurations = 0;
  double mean_error_before = 0, mean_error_after = 0;  ///< mean absolute relative error over configurations
  LeftOut model_and_device, set;                       ///< groups left out in turn
  UsersLeftOut users;
};

/// Fits on the records that count (pre-training, not sick, not skipped; tier C and expert models weigh less); reruns of
/// a configuration weigh as one. A parameter is fitted where at least 3 configurations tell it and its standard error
/// comes out below 0.7 of its prior's spread; otherwise it keeps its prior. Where each release of a stack has its own,
/// the logs of neighbours differ by 0.1 a release (standard deviation), the same in every stack.
RunFit fit_runs(std::span<const RunRecord> runs, bool cross_validate = true);
/// An overlay document: {"fit": how it was made, "devices": [...], "media": [...], "frameworks": [...]} with the fitted
/// fields, in entries of `catalog`. Attention's backward pass and softmax move with its forward pass. A device without
/// runs that is another's chip in another package takes the other's figures (siblings in
/// src/calibrate/runs_overlay.cpp).
std::string overlay_json(const RunFit& fit, const Catalog& catalog, const std::string& description);

}  // namespace meshwright::calibrate
