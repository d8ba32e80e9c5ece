#pragma once
// The run played event by event: what the closed forms of goodput.hpp are held to.
#include <cstdint>

#include "meshwright/capacity/goodput.hpp"

namespace meshwright::capacity {

/// A mean over replicas with half the width of its 95 % confidence interval.
struct Estimate {
  double mean = 0, half_width = 0;
};

struct SimulatedRun {
  Estimate goodput;        ///< useful work over wall time
  Estimate wall;           ///< seconds
  Estimate interruptions;  ///< a run
};

/// Plays `replicas` runs of `work` (useful time) with exponential times between failures, also during recovery. Each
/// checkpoint blocks, and can be restored from after its lag; a failure rolls back to the newest checkpoint of its
/// level or a rarer one. The same seed gives the same answer on every machine. replicas >= 2.
SimulatedRun simulate(const Process& process, Seconds work, int replicas, std::uint64_t seed);

}  // namespace meshwright::capacity
