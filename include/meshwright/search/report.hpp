#pragma once
// A plan as a page to mail or print: no scripts, nothing from elsewhere, every figure as in the JSON.
#include <string>
#include <utility>
#include <vector>

#include "meshwright/search/plan.hpp"

namespace meshwright::search {

/// What a page of a plan shows besides the plan.
struct PlanPage {
  std::vector<std::string> flags{};                          ///< of a launch configuration
  std::string run{};                                         ///< a section of HTML: days, money
  std::vector<std::pair<std::string, std::string>> notes{};  ///< a title and a sentence each
};

/// The recommended layout with its charts, the runners-up, how sure their order is, what would help and why not another
/// one.
std::string to_html(const Job& job, const Plan& plan, const PlanPage& page = {});

}  // namespace meshwright::search
