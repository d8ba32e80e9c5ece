#pragma once
// What "best" means: a number of each layout that can run, smaller is better. A new objective is one row or one
// function; money and goodput come from callers that know prices and failures.
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "meshwright/parallel/job.hpp"
#include "meshwright/parallel/step.hpp"

namespace meshwright::search {

/// A layout that can run, as an objective sees it.
struct Outcome {
  const Job& job;
  const Layout& layout;
  const Step& step;
  const Memory& memory;
  Seconds time{};  ///< total(step.time)
};

/// A layout among the best, as an objective of survivors sees it.
struct Survivor {
  const Job& job;
  const parallel::Prediction& prediction;
};

struct Objective {
  std::string name;     ///< "time"
  std::string title{};  ///< "step time"
  std::string unit{};   ///< "s", "B", ...: of the value, in base units
  /// Finite for every layout, and the same for the same layout: called from several threads unless SearchOptions says
  /// one.
  std::function<double(const Outcome&)> value;
  /// A value that no layout goes below which takes at least this long on `job`. Empty: nothing is known, and no layout
  /// is passed over.
  std::function<double(const Job&, Seconds)> least{};
  /// What the layouts that `value` ranks highest are ranked by in the end, where it takes too long to ask of every
  /// layout or depends on the others. Empty: `value` itself.
  std::function<std::vector<double>(std::span<const Survivor>)> of_survivors{};
  bool is_step_time = false;  ///< the value is the step time itself
  /// The objective weighs accelerators: fewer than the job has may be better (SearchOptions::accelerators).
  bool over_counts = false;
};

/// time, p90, regret, memory, gpus, gpu-time.
std::span<const Objective> objectives();
/// By name; Error(where, ...) with the nearest spelling.
const Objective& objective(std::string_view name, const std::string& where);
/// Refuses what makes no front: fewer than two objectives, one of them twice, or one that is a number of the best
/// layouts alone (`of_survivors`). Error(where, ...).
void check_front(std::span<const Objective> objectives, const std::string& where);

/// A condition on layouts that can run, counted under its name where it fails: "step time <= 10 s".
struct Constraint {
  std::string name;
  std::function<bool(const Outcome&)> holds;
};

}  // namespace meshwright::search
