#pragma once
// A search with what a planner asks next: what would help, what else could be asked, and why not another layout.
#include <string>
#include <utility>
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
  Standings standings;      ///< how sure the order of the best is
  std::vector<Help> helps;  ///< for the best layout
  /// nearest_that_run() where nothing runs, else fewer_accelerators() and with_memory_to_spare().
  std::vector<Alternative> alternatives;
  std::optional<WhyNot> why_not;
};

/// The words of the alternatives under a title a kind.
std::vector<std::pair<std::string, std::vector<std::string>>> titled_alternatives(const Plan& plan);

/// search() of `job`, and the rest for what it found. An interrupted search is not followed by others.
Plan plan(const Job& job, const PlanOptions& options = {});

}  // namespace meshwright::search
