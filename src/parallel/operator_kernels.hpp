#pragma once
// Kernel times of one operator on a job's device, as its stack runs it.
#include <string_view>
#include <vector>

#include "meshwright/parallel/job.hpp"
#include "meshwright/workload/operators.hpp"

namespace meshwright::parallel {

struct Kernels {
  Seconds forward, data_gradient, weight_gradient;
};
Kernels kernels(const Operator& op, const Job& job);
/// Whether the experts' product does the operator on its way out.
bool inside_product(const Operator& op, const RecipeKernels& recipe);
/// Products of the operator at the most that the device sustains: no cut of its experts takes less.
Seconds least_time(const Operator& op, const Job& job);

/// Whether selective recompute does the operator again, by the modules of the job's recipe.
bool redone_selectively(const Operator& op, const Job& job);
/// Names of the operators that a module does again or drops: operators of some model, or nothing would be redone.
std::vector<std::string_view> operators_of(RecomputeModule module);
/// Of what the operator keeps without recompute, the bytes that those modules need not keep.
Bytes dropped_selectively(const Operator& op, const Job& job);

}  // namespace meshwright::parallel
