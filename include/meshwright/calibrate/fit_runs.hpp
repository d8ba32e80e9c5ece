#pragma once
// Fits the few parameters that benchmarks of kernels and links leave open (sustained clocks, memory-bound traffic, use
// of links inside a step, host time of a stack) to training runs, by regularised least squares on log errors.
#include <span>
#include <string>
#include <vector>

#include "meshwright/calibrate/run_records.hpp"

namespace meshwright {

/// One parameter: of a device, a medium or a framework profile; never of a run or a model.
struct RunParameter {
  std::string owner;  ///< "device H100-SXM5-80GB", "medium nvlink4", "framework megatron-core"
  std::string field;  ///< "gemm.bf16.sustained", "tp_overlap_exposed", ...
  double prior = 0;   ///< value without runs, from benchmarks
  double spread = 0;  ///< how far the prior may be off, in log units
  double value = 0;   ///< fitted
  double error = 0;   ///< standard error in log units; near `spread`: the runs say nothing
  int runs = 0;       ///< configurations of dense models that it enters
};

struct RunFit {
  std::vector<RunParameter> parameters;
  int configurations = 0;
  double mean_error_before = 0, mean_error_after = 0;  ///< mean absolute relative error over configurations
  double mean_error_left_out = 0;                      ///< each (model, device) predicted with the others' fit
  double median_error_left_out = 0;
};

/// Fits on the records that count (pre-training, not sick, not skipped; tier C and expert models weigh less); reruns of
/// a configuration weigh as one.
RunFit fit_runs(std::span<const RunRecord> runs, bool cross_validate = true);
/// Applies the fitted parameters that enter a job and layout.
void apply_fit(std::span<const RunParameter> parameters, const Layout& layout, Job& job);
/// An overlay document: {"devices": [...], "media": [...], "frameworks": [...]} with the fitted fields.
std::string overlay_json(const RunFit& fit);

}  // namespace meshwright
