#pragma once
// What a tenth more of each resource would gain.
#include <optional>
#include <string>
#include <vector>

#include "meshwright/search/search.hpp"

namespace meshwright::search {

struct Help {
  std::string what;    ///< "compute", "memory bandwidth", "scale-up bandwidth", "network bandwidth", "latency", "batch"
  std::string change;  ///< "+10 % matrix rate", "global batch 2,304 instead of 2,048"
  Seconds step_time{};
  double gain = 0;                 ///< more tokens a second, as a fraction
  std::optional<Layout> layout{};  ///< where it takes another layout than the one asked about
};

/// The same layout on a machine that is a tenth better in one respect, or with about a tenth more batch (a multiple of
/// dp * micro_batch * pp); the most helpful first. Rates of kernels and links scale as the data sheet's do: their
/// efficiencies stay.
std::vector<Help> what_helps(const Job& job, const Layout& layout);

/// The larger batch of what_helps() with the best layout for it, where that is another one and worth saying.
std::optional<Help> larger_batch_anew(const Job& job, const Layout& layout, const SearchOptions& options);

}  // namespace meshwright::search
