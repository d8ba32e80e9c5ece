#pragma once
// What is the same of a section's cost under every schedule, order and overlap.
#include <vector>

#include "parallel/block_cost.hpp"
#include "parallel/exchanges.hpp"

namespace meshwright::parallel {

struct SectionKernels {
  std::vector<Operator> operators;
  BlockCost cost;  ///< kernels alone
  Windows windows;
};

}  // namespace meshwright::parallel
