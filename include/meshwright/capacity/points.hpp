#pragma once
// One point of a scenario: a candidate cluster with a workload, planned by a layout search of its own.
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "meshwright/capacity/scenario.hpp"
#include "meshwright/hardware/catalog.hpp"

namespace meshwright::capacity {

/// What the search found; the arithmetic of estimate_run() is still to do.
struct PlannedPoint {
  std::uint64_t index = 0;
  std::string candidate, workload;
  std::optional<RunCase> run;                      ///< nothing where no layout fits
  std::optional<parallel::Job> job;                ///< with the accelerators that are used
  std::optional<parallel::Prediction> prediction;  ///< of the phase with most tokens
  std::string refusal;                             ///< why
  RunAssumptions assumptions;
  std::string layout;       ///< JSON object text
  std::string layout_text;  ///< "tp8 pp16 vp8 dp128 mb1"
  int accelerators = 0, nodes = 0;
  double mfu = 0, comm_share = 0;
  Bytes memory{};
  std::vector<std::string> notes;  ///< of the prediction: warnings
};

/// Runs that were planned, shared by planners: those of one scenario and catalogue.
class PlanCache;
std::shared_ptr<PlanCache> make_plan_cache();

/// Plans points one after another; keeps what consecutive points of one candidate share. One a thread.
class Planner {
 public:
  /// Scenario and catalogue must outlive it.
  Planner(const Scenario& scenario, const hardware::Catalog& catalog, std::shared_ptr<PlanCache> plans = nullptr);
  ~Planner();
  /// The point of that number (Scenario::point_count). Throws Error for a candidate or workload that cannot be read, or
  /// has no price; a point where no layout fits is an answer.
  PlannedPoint plan(std::uint64_t index, int threads = 1);
  /// The same of a candidate and a workload that need not stand in the scenario.
  PlannedPoint plan(const Candidate& candidate, const Workload& workload, int threads = 1);
  /// Days that the run takes at least: its model FLOPs at the accelerators' peak. Zero where that is not known.
  double least_days(const Candidate& candidate, const Workload& workload) const;

 private:
  struct Kept;
  const Scenario& scenario_;
  const hardware::Catalog& catalog_;
  std::shared_ptr<PlanCache> plans_;
  std::unique_ptr<Kept> kept_;
};

/// Throws Error for a candidate or a value of what varies that no job can be made of, before hours of work on the
/// others: every candidate as it is written, then each value once, as far as two thousand jobs go.
void check_jobs(const Scenario& scenario, const hardware::Catalog& catalog);

/// The estimate of a point that has a run.
RunEstimate estimate(const PlannedPoint& point);

}  // namespace meshwright::capacity
