#pragma once
// A search with what a planner asks next: what would help, what else could be asked, and why not another layout.
#include <string>
#include <vector>

#include "meshwright/search/alternatives.hpp"
#include "meshwright/search/standings.hpp"
#include "meshwright/search/what_helps.hpp"
#include "meshwright/search/why_not.hpp"

namespace meshwright::search {

struct PlanOptions {
  SearchOptions search{};
  Filter why_not{};  ///< empty: not asked
};

struct Plan {
  SearchResult result;
  Standings standings;                    ///< how sure the order of the best is
  std::vector<Help> helps;                ///< for the best layout
  std::vector<Alternative> alternatives;  ///< nearest_that_run() where nothing runs, else fewer_accelerators()
  std::optional<WhyNot> why_not;
};

/// search() of `job`, and the rest for what it found. An interrupted search is not followed by others.
Plan plan(const Job& job, const PlanOptions& options = {});

}  // namespace meshwright::search
