#include "parallel/trainable.hpp"

#include "meshwright/cost/kernel.hpp"

namespace meshwright::parallel {
namespace {

bool has(const ModelParts& parts, OperatorPart part) {
  const auto holds = [&](ModelPart p) { return parts.has(static_cast<std::size_t>(p)); };
  switch (part) {
    case OperatorPart::mixer:
      return holds(ModelPart::attention);
    case OperatorPart::mlp:
    case OperatorPart::router:
      return holds(ModelPart::mlp);
    case OperatorPart::experts:
      return holds(ModelPart::experts);
    case OperatorPart::embedding:
      return holds(ModelPart::embedding);
    case OperatorPart::head:
      break;
  }
  return holds(ModelPart::head);
}

/// y += B (A x), A of r x k and B of n x r: two products forward, two for the gradient of x, two for those of A and B,
/// and one pass over y and over the gradient of x to add to (Hu et al. 2021, arXiv 2106.09685, sec. 4).
Kernels adapter(const Operator& op, const Job& job) {
  const Accelerator& device = job.cluster.accelerator;
  const double r = job.recipe.trainable.rank, rows = op.m * op.groups;
  const auto product = [&](double m, double n, double k) {
    return gemm_time({.m = m, .n = n, .k = k, .groups = op.groups, .dtype = job.precision.rest}, device);
  };
  const auto add_to = [&](double width) {
    return memory_bound_time(Bytes::base(3 * rows * width * bytes_per_element(job.precision.rest)), device);
  };
  return {product(op.m, r, op.k) + product(op.m, op.n, r) + add_to(op.n),
          product(op.m, r, op.n) + product(op.m, op.k, r) + add_to(op.k),
          product(r, op.k, op.m) + product(op.n, r, op.m)};
}

/// Bytes that elementwise operators move to unpack one weight of `packed` bytes: shifted out of 4-byte words, narrowed
/// to `held` bytes, masked, less its gathered zero, times its gathered scale (AutoGPTQ, qlinear_cuda.py, forward).
double elementwise_traffic(double packed, DType compute) {
  const double word = 4, held = packed < 1 ? 1 : 2, scale = bytes_per_element(compute);
  const double shifted = packed + word, narrowed = word + held, masked = 2 * held, gathered = scale + held;
  return shifted + narrowed + masked + gathered + 3 * held + (held + 2 * scale);
}

/// Frozen weights at rest in 4 or 8 bits are written out in the format of compute before each product; autograd keeps
/// what elementwise operators made for the backward pass.
Kernels dequantised(const Operator& op, const Job& job) {
  const StateFormat base = job.recipe.trainable.base;
  if (!is_packed(job.recipe.trainable) || !is_linear_layer(op)) return {};  // the head stays as it is
  const DType compute = job.precision.rest;
  const double packed = bytes_of(base, compute);
  const auto moved = [&](double bytes) {
    return memory_bound_time(Bytes::base(op.weight_elements * bytes), job.cluster.accelerator);
  };
  if (unpacks_elementwise(job.recipe.trainable)) return {moved(elementwise_traffic(packed, compute)), {}, {}};
  const Seconds once = moved(packed + bytes_per_element(compute));
  return {once, once, {}};
}

}  // namespace

Training training_of(const Operator& op, const Job& job) {
  const RecipeTrainable& t = job.recipe.trainable;
  Training training{.trained = op.weight_elements, .gradients = true, .added = {}};
  if (t.kind == TrainableKind::all) {
    if (has(t.frozen, op.part)) training.trained = 0, training.gradients = false;
    return training;
  }
  if (has(t.whole, op.part)) return training;
  training.trained = 0, training.gradients = false;
  if (!is_gemm(op) || op.weight_elements <= 0) return training;
  if (op.part != OperatorPart::router && has(t.targets, op.part)) {
    training.added = adapter(op, job);
    training.trained = t.rank * (op.k + op.n) * op.groups;
  }
  const Kernels unpacked = dequantised(op, job);
  training.added.forward += unpacked.forward, training.added.data_gradient += unpacked.data_gradient;
  return training;
}

}  // namespace meshwright::parallel
