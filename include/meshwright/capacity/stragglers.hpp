#pragma once
// The step of many ranks that wait for one another: order statistics of unequal GPUs, slow hosts and jitter.
#include "meshwright/capacity/simulate.hpp"
#include "meshwright/core/quantity.hpp"

namespace meshwright::capacity {

/// How unequal ranks are, as factors on the time of one step's compute.
struct StragglerModel {
  double spread = 0;       ///< standard deviation of a GPU's own speed; it stays with the GPU
  double slow_share = 0;   ///< of hosts that are slow as a whole
  double slow_factor = 1;  ///< their time over a usual one
  double jitter = 0;       ///< mean of an exponential delay of a rank, drawn anew each step, over the step
  friend bool operator==(const StragglerModel&, const StragglerModel&) = default;
};

/// Ranks that wait for one another: `hosts` of `per_host` GPUs.
struct RankCounts {
  int hosts = 1, per_host = 1;
  friend bool operator==(const RankCounts&, const RankCounts&) = default;
};

/// Factors on the step. A step is as slow as its slowest rank.
struct StragglerTimes {
  double mean = 1, p50 = 1, p99 = 1;
};

/// Distribution function of one rank's factor: normal plus exponential (exponentially modified Gaussian), of a usual or
/// a slow host.
double rank_distribution(const StragglerModel& model, double factor, bool slow);

/// Of all ranks, with the slowest `removed` hosts taken out (of so many more, so that `hosts` are left): quantiles of
/// the order statistic, P(at most `removed` hosts of all are above x), hosts independent.
StragglerTimes straggler_times(const StragglerModel& model, const RankCounts& ranks, int removed = 0);

}  // namespace meshwright::capacity
