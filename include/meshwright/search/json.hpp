#pragma once
// Search results as JSON text: the contract of `meshwright plan --json` and of Python's to_dict().
#include <string>

#include "meshwright/search/search.hpp"

namespace meshwright::search {

/// {"best", "layouts" (best first, each a prediction with "why"), "evaluated", "considered", "refused" {rule: count},
/// "search_time_s", "assumptions"}. "best" is null where nothing fits.
std::string to_json(const SearchResult& result);

}  // namespace meshwright::search
