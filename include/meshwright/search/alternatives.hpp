#pragma once
// Other batches and accelerator counts than those asked for: where nothing runs, the nearest that does; fewer
// accelerators where they do as well; and a layout with memory to spare where the best may not fit.
#include <optional>
#include <string>
#include <vector>

#include "meshwright/search/search.hpp"

namespace meshwright::search {

/// Another question, and its answer.
struct Alternative {
  std::string what;       ///< "global_batch", "accelerators", "memory"
  int from = 0, to = 0;   ///< of "memory": percent that it fits
  Prediction prediction;  ///< the best layout there
  std::string words;      ///< "global batch 2,048 instead of 2,000: 5.05 s a step"
};

/// Where a search of `job` found nothing: the nearest smaller and larger global batch for which something runs, and the
/// nearest smaller and larger accelerator count (of accelerator_counts(), up to 64 times as many on more of the same
/// nodes); beside one that leaves more than 5 % of what its neighbours reach a GPU, the nearest that does not. Batches
/// are left out where some layout satisfies every rule and only memory stands in its way. Empty where none of them
/// helps.
std::vector<Alternative> nearest_that_run(const Job& job, const SearchOptions& options);

/// At most two counts of at least half the accelerators that `best` uses: the fastest one if its step is no longer, and
/// the one that takes the fewest accelerator-seconds if they are at least 5 % fewer. Only tried where the count is odd
/// for the machine: nodes that are no power of two, or a scale-up domain that is cut.
std::vector<Alternative> fewer_accelerators(const Job& job, const SearchOptions& options, const Prediction& best);

/// Where `best` is not sure to fit (Fit::fits): the best layout of as many accelerators that is. Nothing where none is.
std::optional<Alternative> with_memory_to_spare(const Job& job, const SearchOptions& options, const Prediction& best);

}  // namespace meshwright::search
