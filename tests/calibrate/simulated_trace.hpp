#pragma once
// Traces of simulated steps: kernels as a prediction has them, with noise, model error and one fault at most.
#include <string>
#include <vector>

#include "meshwright/calibrate/trace_comparison.hpp"

namespace meshwright::calibrate {

/// A fault that costs `share` of the predicted step.
struct Fault {
  Cause cause = Cause::waiting;  ///< waiting: no fault
  std::size_t axis = 0;          ///< of a slow link or missing overlap, index into trace_axes
  int stage = -1;                ///< of a host that is too slow; -1 = all
  double share = 0;
};

/// Traces of two data-parallel ranks of every stage over three optimizer steps.
std::vector<RankTrace> simulated_traces(const Job& job, const Prediction& prediction, const Fault& fault,
                                        unsigned seed);
/// The trace as PyTorch's profiler writes it.
std::string kineto_json(const RankTrace& trace);
/// The trace as `nsys export --type sqlite` writes it, where one profiler ran a rank: streams tell collectives apart,
/// whose group and size it does not know.
void write_nsight(const RankTrace& trace, const std::filesystem::path& path);

}  // namespace meshwright::calibrate
