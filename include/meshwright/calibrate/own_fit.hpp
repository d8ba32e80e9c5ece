#pragma once
// A planner's own runs: the figures of device, links and stack that they move, by how much, and how sure they are then.
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "meshwright/calibrate/run_records.hpp"
#include "meshwright/parallel/band.hpp"

namespace meshwright::calibrate {

/// A figure before and after own runs.
struct OwnFigure {
  std::string owner, field;
  double before = 0, after = 0;                ///< values
  double spread_before = 0, spread_after = 0;  ///< standard deviations of their logs
  /// Share of the variance that the runs took away: 0 says that they tell nothing of it.
  double told() const { return 1 - spread_after * spread_after / (spread_before * spread_before); }
};

/// A layout that could be measured next.
struct NextRun {
  Layout layout;
  double reduction = 0;  ///< of the mean spread of the job's layouts, as a fraction
};

/// What peaks of own runs told of the memory of one model, sequence, format and kind of training: what comes and goes
/// (activations, logits, buffers) takes `after` times what operators keep.
struct OwnMemory {
  std::string owner{};  ///< "work MODEL SEQUENCE FORMAT KIND"
  int runs = 0;         ///< with a peak
  double after = 1;
  double spread_before = 0, spread_after = 0;  ///< standard deviations of the log of a peak over its prediction
  double error_before = 0, error_after = 0;    ///< mean absolute relative errors of peaks
};

struct OwnFit {
  std::vector<OwnFigure> figures;
  std::vector<OwnMemory> memory{};           ///< of fit_own_memory(), where peaks are asked too
  Knowledge known;                           ///< of the same figures, in their order
  int runs = 0;                              ///< configurations
  double error_before = 0, error_after = 0;  ///< mean absolute relative errors of step times
  bool within_noise = false;                 ///< the runs are off by no more than single runs are: no figure moved
};

/// A run as the fit takes it.
struct OwnRun {
  Job job;
  Layout layout;
  Seconds measured;
  Traits traits{};
  std::string id{};             ///< the record's, or the file's
  std::optional<Bytes> peak{};  ///< of memory, as the stack's log shows it
};
/// The runs of records that can be predicted and were not sick, reruns as one.
std::vector<OwnRun> own_runs(std::span<const RunRecord> records, const Spread& spread = published_spread());

/// The most probable figures given the runs (Gauss-Newton on the log of step times, the predictor linearised anew in
/// every step), with log-normal priors about what the catalogue says. A prior is as wide as the fit to published runs
/// left the figure and as sites lie apart (`spread`); what no figure explains is noise of the size that published runs
/// have, more of it where a run doesn't fit at all. Runs that are off by no more than that move nothing, and still make
/// figures surer. Runs are of one site: one device of each kind, one fabric.
OwnFit fit_own(std::span<const OwnRun> runs, const Spread& spread = published_spread());
/// The same of the memory of each job that has a peak, with its own factor on what comes and goes.
std::vector<OwnMemory> fit_own_memory(std::span<const OwnRun> runs, const Spread& spread = published_spread());
/// The job with the figures that were fitted.
Job with_own(const Job& job, const OwnFit& fit);

/// Layouts of the job, each a plausible next run, by how much one of it would shrink the spread of all of them; the
/// most telling first, at most `count`. Of those that the search would recommend, `candidates`.
std::vector<NextRun> next_runs(const Job& job, std::span<const Layout> candidates, const OwnFit& fit,
                               std::size_t count = 3, const Spread& spread = published_spread());

/// An overlay of the hardware database: {"fit", "devices", "media", "frameworks"} with the figures that moved, and
/// "own_runs" (Knowledge) with the stack.
std::string own_overlay_json(const OwnFit& fit, std::span<const OwnRun> runs, const Catalog& catalog,
                             const std::string& description);

}  // namespace meshwright::calibrate
