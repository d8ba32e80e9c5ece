#pragma once
// Predictions beside measured training runs: per record, per group, and beside the simplest model there is.
#include <array>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "meshwright/calibrate/run_records.hpp"
#include "meshwright/parallel/prediction.hpp"

namespace meshwright::calibrate {

/// One record with its prediction.
struct RunCheck {
  std::string id, kind = "run";
  std::string set, tier, task, framework, family, accelerator, precision, state;
  std::string model;           ///< its name
  bool experts = false;        ///< a mixture
  bool unknown_stack = false;  ///< predicted as any stack, and counted apart
  std::string configuration;   ///< equal for records of one model, cluster, layout and stack: reruns and releases
  MeasuredRun measured;
  std::optional<Prediction> prediction;
  std::optional<double> step_time_error;    ///< predicted / measured - 1
  std::optional<Bytes> logged_peak;         ///< predicted, as the stack logs it: allocated or reserved, rank 0 or worst
  std::optional<double> peak_memory_error;  ///< predicted / measured - 1
  double fits_probability = 1;              ///< over what the record leaves open (run_records.hpp)
  bool memory_open = false;                 ///< whether it leaves anything open that memory asks for
  std::optional<std::string> skipped;
  int node_accelerators = 1;
  /// Whether the record counts in headline figures: a pre-training step of a job that was not sick. Never the error.
  bool counted = false;
};

/// Predicts a run that was read.
RunCheck check_run(const RunRecord& run);
/// Predicts a training record. What cannot be predicted comes back `skipped` with the reason.
RunCheck check_run_record(const Reader& record, const Catalog& catalog);

/// Errors of a group of records: of absolute relative errors, as fractions.
struct ErrorFigures {
  int count = 0;  ///< records with an error
  int skipped = 0;
  double mean = 0, median = 0, p90 = 0;
  double bias = 0;      ///< mean of signed errors
  double baseline = 0;  ///< mean error of the constant-rate model
};

/// The baseline: each device, number format and stack runs at one rate, the median of its own measured runs here.
/// (The records are at once its calibration and its test, so it is flattered.)
std::vector<std::optional<double>> constant_rate_errors(std::span<const RunCheck> checks);

/// Figures by group ("framework:nemo", "device:H100-SXM5-80GB", "set:dgxc", "tier:A", "all", ...), over step times.
/// Sick jobs are left out, except in the groups named "... with sick jobs".
std::map<std::string, ErrorFigures> figures_by_group(std::span<const RunCheck> checks);

/// What the memory model says of runs that ran.
struct FitFigures {
  int ran = 0;
  std::array<int, fit_names.size()> answers{};  ///< by Fit
  int open = 0;                                 ///< records that leave open what memory asks for
  int refused_as_resolved = 0;                  ///< does_not_fit by the rules' choices alone
  int of(Fit fit) const noexcept { return answers[static_cast<std::size_t>(fit)]; }
};
/// By stack, and "all". What ran and is called does_not_fit is a confident wrong answer.
std::map<std::string, FitFigures> fits_by_stack(std::span<const RunCheck> checks);

/// docs/accuracy.md: figures by group, the baseline beside them, and the records that are furthest off.
std::string accuracy_markdown(std::span<const RunCheck> checks);

}  // namespace meshwright::calibrate
