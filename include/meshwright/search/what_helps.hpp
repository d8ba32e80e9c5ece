#pragma once
// What a tenth more of each resource would gain.
#include <string>
#include <vector>

#include "meshwright/parallel/prediction.hpp"

namespace meshwright::search {

struct Help {
  std::string what;    ///< "compute", "memory bandwidth", "scale-up bandwidth", "network bandwidth", "latency", "batch"
  std::string change;  ///< "+10 % matrix rate", "global batch 2,304 instead of 2,048"
  Seconds step_time{};  ///< of the same layout
  double gain = 0;      ///< more tokens a second, as a fraction
};

/// The same layout on a machine that is a tenth better in one respect, or with about a tenth more batch (a multiple of
/// dp * micro_batch * pp); the most helpful first. Rates of kernels and links scale as the data sheet's do: their
/// efficiencies stay.
std::vector<Help> what_helps(const Job& job, const Layout& layout);

}  // namespace meshwright::search
