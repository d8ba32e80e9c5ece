#pragma once
// Search results as JSON text: the contract of `meshwright plan --json` and of Python's to_dict().
#include <string>

#include "meshwright/search/search.hpp"

namespace meshwright::search {

/// {"best", "layouts" (best first, each a prediction with "value" of the objective, "why" and "against_best" {term_s}),
/// "objective", "stated", "considered", "evaluated", "passed_over", "refused" {rule: count}, "interrupted",
/// "search_time_s", "assumptions"}, and "pareto" (each with "values" {objective}) where it was asked for. "best" is
/// null where nothing fits.
std::string to_json(const SearchResult& result);

}  // namespace meshwright::search
