#pragma once
// What makes traced steps slower than predicted.
#include "meshwright/calibrate/trace_comparison.hpp"

namespace meshwright::calibrate {

/// A prediction in the terms of a trace, seconds of a step.
struct ExpectedStep {
  double gemm = 0, grouped_gemm = 0, attention = 0, memory_bound = 0, optimizer = 0;
  std::array<double, trace_axes.size()> exposed{}, hidden{};
  double pipeline_send = 0;  ///< of exposed[pipeline], what is no waiting
  double host = 0, step = 0;
  double compute() const { return gemm + grouped_gemm + attention + memory_bound; }
};

struct TracedRank {
  TracedStep traced;
  ExpectedStep expected;
  int stage = 0;
};

/// Findings, the costliest first.
std::vector<TraceFinding> causes_of(const Job& job, std::span<const TracedRank> ranks);

}  // namespace meshwright::calibrate
