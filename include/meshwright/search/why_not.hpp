#pragma once
// Why the layout that somebody expected is not the answer: what stands in its way, or how much slower it is.
#include <optional>
#include <string>
#include <vector>

#include "meshwright/search/search.hpp"

namespace meshwright::search {

struct WhyNot {
  std::vector<std::string> wanted;       ///< "tp = 8", "pp = 4"
  std::optional<Prediction> prediction;  ///< the best layout that has it, by the objective
  std::vector<Difference> against_best;  ///< what it spends more than the answer
  std::optional<Violation> violation;    ///< where nothing that has it runs: what the layout that gets furthest lacks
  std::optional<Layout> layout;          ///< that one; for memory the one that needs least
  std::string words;                     ///< all of it in a sentence
};

/// `wanted` is fixed beside what `options` fix, over the same constraints; `result` is what search(job, options) found.
/// Rules are tried in their order, and the one named is that of a layout that satisfies all before it. Error(where,
/// ...) where `wanted` contradicts what is fixed.
WhyNot why_not(const Job& job, const Filter& wanted, const SearchOptions& options, const SearchResult& result,
               const std::string& where);

}  // namespace meshwright::search
