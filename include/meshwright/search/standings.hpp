#pragma once
// How sure the order of the best layouts is: errors of layouts of one job go together, so that the ratio of two step
// times is surer than each.
#include <string>
#include <vector>

#include "meshwright/search/search.hpp"

namespace meshwright::search {

/// One of the best layouts beside the others.
struct Standing {
  double beats_best = 0;       ///< probability that it is faster than the first
  double expected_regret = 0;  ///< of taking it: expected loss of time against the fastest of them, as a fraction
};

struct Standings {
  std::vector<Standing> layouts;   ///< in the order of SearchResult::best
  std::vector<std::size_t> alike;  ///< the first and those that may as well be faster; empty where it stands alone
  std::size_t measure = 0;         ///< of `alike`: the one whose run would tell most of their order
  std::string words;               ///< all of it in a sentence; "" where the first stands alone
};

/// Of the layouts on as many accelerators as the first; others have none. Another one may as well be faster with a
/// probability of at least a fifth.
Standings standings(const Job& job, const SearchResult& result);

}  // namespace meshwright::search
