#pragma once
// The useful share of a run's wall time: checkpoints, failures and coming back. Closed forms; simulate.hpp is the
// check.
#include <span>
#include <string>
#include <vector>

#include "meshwright/core/quantity.hpp"

namespace meshwright::capacity {

/// Interruptions of one kind: Poisson, with rate `rate` in wall time. Each costs `down` (detection to first new step)
/// and the work since the last checkpoint of its level.
struct FailureClass {
  std::string name{};
  Hertz rate{};
  Seconds down{};
  int level = 0;  ///< index of the checkpoint level that survives it
};

/// One level of checkpoints: in memory of a peer, on a local disk, in a shared store.
struct CheckpointLevel {
  std::string name{};
  Seconds interval{};  ///< useful work between two checkpoints
  Seconds blocking{};  ///< training stands still
  Seconds lag{};       ///< from the end of blocking until it can be restored from (asynchronous writing)
};

/// A run as a random process. Levels from the most frequent to the rarest.
struct Process {
  std::vector<FailureClass> failures{};
  std::vector<CheckpointLevel> levels{};
  Hertz rate() const;  ///< of all classes
};

/// Disjoint shares of wall time; they sum to 1.
struct WallShares {
  double useful = 1;      ///< goodput
  double checkpoint = 0;  ///< blocked by saving
  double lost = 0;        ///< work done again
  double down = 0;        ///< detection, replacement, restart, loading
};

/// Shares of wall time of an endless run. With one level exact:
///   goodput = L t e^(-L g) sum_i p_i e^(-L d_i) / (e^(L (t + b)) - 1)
/// L total failure rate, t interval, b blocking, g lag, d_i downtime of class i with share p_i; failures during
/// recovery start it again. Without lag and with one class this is Daly's complete model (J. T. Daly, FGCS 22 (2006),
/// 303-312, equation 20). Several levels nest: a level sees the ones inside it as work that takes 1/goodput longer;
/// within 1 % of the simulation while losses stay below a half (tests/capacity/simulate_test.cpp).
WallShares wall_shares(const Process& process);

/// Young 1974: sqrt(2 b M).
Seconds young_interval(Seconds blocking, Seconds mtbf);
/// Daly 2006, equation 37: sqrt(2 b M)(1 + sqrt(b / 18 M) + b / 18 M) - b, M for b >= 2 M.
Seconds daly_interval(Seconds blocking, Seconds mtbf);
/// The interval of the highest goodput of one level, exact: 1 - t/M = e^(-(t + b)/M). Not below what the lag allows
/// (the next checkpoint waits for the last one: t + b >= b + g) nor below `least`.
Seconds best_interval(Seconds blocking, Seconds lag, Seconds mtbf, Seconds least);

}  // namespace meshwright::capacity
