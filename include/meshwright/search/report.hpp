#pragma once
// A plan as a page to mail or print: no scripts, nothing from elsewhere, every figure as in the JSON.
#include <string>

#include "meshwright/search/plan.hpp"

namespace meshwright::search {

/// The recommended layout with its charts, the runners-up, what would help and why not another one. `flags` are those
/// of a launch configuration, if any.
std::string to_html(const Job& job, const Plan& plan, const std::vector<std::string>& flags = {});

}  // namespace meshwright::search
