#pragma once
// The steps of a log in bounded memory, and what remains of them without warm-up and hiccups.
#include <utility>
#include <vector>

#include "meshwright/calibrate/run_logs.hpp"

namespace meshwright::calibrate {

/// Numbers and figures of steps; beyond the most that are kept every second one is let go, evenly over the run.
class StepSeries {
 public:
  void add(int number, double value);
  void clear();
  bool empty() const { return kept_.empty(); }
  /// Leaves out the warm-up (leading steps until one lies within a fifth of the later half's median; the first step at
  /// least, half of all at most) and names steps beyond one and a half medians either way.
  LoggedSteps summary() const;

 private:
  std::vector<std::pair<int, double>> kept_;
  int read_ = 0, stride_ = 1;
};

}  // namespace meshwright::calibrate
