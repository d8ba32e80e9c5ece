#pragma once
// Search results as JSON text: the contract of `meshwright plan --json` and of Python's to_dict().
#include <string>

#include "meshwright/search/plan.hpp"
#include "meshwright/search/search.hpp"

namespace meshwright::search {

/// {"best", "layouts" (best first, each a prediction with "value" of the objective, "why" and "against_best" {term_s}),
/// "objective", "stated", "considered", "evaluated", "passed_over", "refused" {rule: count}, "interrupted",
/// "search_time_s", "assumptions"}, and "pareto" (each with "values" {objective}) where it was asked for. "best" is
/// null where nothing fits.
std::string to_json(const SearchResult& result);
/// The same with "beats_best" and "expected_regret" of each layout, "alike" [indices into "layouts" of those that can't
/// be told apart], "measure_next" (the layout of them whose run would tell most, or null), "helps" [{"what", "change",
/// "step_time_s", "gain"}], "alternatives" [{"what", "from", "to", "words", and the keys of a prediction}], and where
/// it was asked "why_not" {"wanted", "words", "violation", "layout", "step_time_s", "against_best"}.
std::string to_json(const Plan& plan);

}  // namespace meshwright::search
