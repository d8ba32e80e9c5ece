#pragma once
// What a job trains of an operator's weights, and what frozen weights and adapters cost.
#include "parallel/operator_kernels.hpp"

namespace meshwright::parallel {

/// How an operator's weights take part in training.
struct Training {
  double trained = 0;     ///< parameters with gradients: the weights, or an adapter's beside them
  bool gradients = true;  ///< of the weights themselves
  Kernels added;          ///< an adapter's products, and making frozen weights whole where they are quantised
};
Training training_of(const Operator& op, const Job& job);

}  // namespace meshwright::parallel
