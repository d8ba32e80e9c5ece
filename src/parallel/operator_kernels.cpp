#include "parallel/operator_kernels.hpp"

#include "meshwright/cost/kernel.hpp"
#include "meshwright/parallel/job_recipe.hpp"

namespace meshwright::parallel {
namespace {

/// Backward of a streaming kernel reads the gradient and what was saved and writes the gradient: half as much again to
/// twice the forward's bytes.
constexpr double memory_backward = 1.7;

/// What the stack's matrix products reach of the device's sustained rate.
double gemm_efficiency(const Operator& op, const Job& job) {
  const Framework& f = job.framework;
  const double grouped = op.kind == OperatorKind::grouped_gemm ? f.kernels.grouped_gemm_efficiency : 1;
  const double hopper = job.cluster.accelerator.architecture == "hopper" ? f.kernels.gemm_efficiency_hopper : 1;
  return f.kernels.gemm_efficiency * grouped * hopper;
}

Kernels gemm_kernels(const Operator& op, const Job& job) {
  const Accelerator& device = job.cluster.accelerator;
  const Precision& recipe = job.precision;
  const DType dtype = op.low_precision ? recipe.gemm : recipe.rest;
  const auto time = [&](double m, double n, double k) {
    return gemm_time({.m = m,
                      .n = n,
                      .k = k,
                      .groups = op.groups,
                      .dtype = dtype,
                      .block_scaled = recipe.name == "fp8-block"},
                     device) /
           gemm_efficiency(op, job);
  };
  return {time(op.m, op.n, op.k), time(op.m, op.k, op.n), time(op.n, op.k, op.m)};
}

Kernels attention_kernels(const Operator& op, const Job& job) {
  const AttentionKernel& kernel = attention_kernel(job);
  // Context parallelism gives every rank an early and a late piece of each sequence: the mean of the causal triangle.
  const AttentionShape shape{.batch = op.batch * op.seq_q / op.seq_kv,
                             .heads = op.heads,
                             .kv_heads = op.kv_heads,
                             .seq_q = op.seq_kv,
                             .seq_kv = op.seq_kv,
                             .head_dim = op.head_dim,
                             .v_head_dim = op.v_head_dim,
                             .window = op.window,
                             .fused = kernel.fused,
                             .flash = kernel.flash};
  const double efficiency = kernel.fused ? job.framework.kernels.attention_efficiency : 1;
  return {attention_forward_time(shape, job.cluster.accelerator, job.precision.rest) / efficiency,
          attention_backward_time(shape, job.cluster.accelerator, job.precision.rest) / efficiency,
          {}};
}

Kernels memory_kernels(const Operator& op, const Job& job) {
  double bytes = job.framework.kernels.fused_norms || op.unfused_bytes == 0 ? op.bytes : op.unfused_bytes;
  // Stacks that fuse norms and activations quantise in the same kernels, which half of the inputs come from.
  if (job.framework.kernels.fused_norms && op.name.ends_with("casts")) bytes *= 0.5;
  const Seconds forward =
      memory_bound_time(Bytes::base(bytes * job.framework.kernels.memory_traffic), job.cluster.accelerator, op.kernels);
  return {forward, memory_backward * forward, {}};
}

}  // namespace

Kernels kernels(const Operator& op, const Job& job) {
  switch (op.kind) {
    case OperatorKind::gemm:
    case OperatorKind::grouped_gemm:
      return gemm_kernels(op, job);
    case OperatorKind::attention:
      return attention_kernels(op, job);
    case OperatorKind::memory_bound:
      break;
  }
  return memory_kernels(op, job);
}

}  // namespace meshwright::parallel
