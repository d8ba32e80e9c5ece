#pragma once
// The options by which plan says what to search for and among what.
#include <memory>
#include <string>
#include <vector>

#include "command.hpp"
#include "meshwright/search/open.hpp"
#include "meshwright/search/plan.hpp"

namespace meshwright::cli {

struct SearchChoices {
  std::vector<std::string> fixed, excluded, why_not, open;
  std::string max_memory, objective, pareto;
  SearchOptions options;  ///< what needs no reading
};

/// Adds --fix, --exclude, --max-memory, --max-tp-domain, --objective, --pareto, --top, --max-micro-batch, --threads,
/// --why-not, --open.
void add_search_options(CLI::App& command, SearchChoices& choices);
/// The options of a plan of `job`; `others` are objectives beside those of the search itself. Throws Error that names
/// the flag.
PlanOptions plan_options(const SearchChoices& choices, const Job& job, const std::vector<Objective>& others = {});

/// What --open leaves open, each searched: best first; empty where nothing is open.
std::vector<Variant> open_variants(const SearchChoices& choices, const Job& job, SearchOptions options);

/// plan() with progress on stderr, and Ctrl-C for the best so far.
Plan plan_with_progress(const Job& job, PlanOptions options);

}  // namespace meshwright::cli
