#pragma once
// Every point of a scenario on several threads, with results written to a store as they come.
#include <vector>

#include "meshwright/capacity/whatif.hpp"

namespace meshwright::capacity {

struct Swept {
  std::vector<Result> results;  ///< by index; those that the sweep came to
  bool interrupted = false;
};
Swept sweep(const Scenario& scenario, const hardware::Catalog& catalog, const WhatIfOptions& options,
            const std::shared_ptr<PlanCache>& plans);

}  // namespace meshwright::capacity
