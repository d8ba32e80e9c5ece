#include "parallel/operator_kernels.hpp"

#include <algorithm>
#include <array>

#include "meshwright/cost/kernel.hpp"
#include "meshwright/hardware/gemm_format.hpp"
#include "meshwright/parallel/job_recipe.hpp"
#include "parallel/trainable.hpp"

namespace meshwright::parallel {
namespace {

/// Backward of a streaming kernel reads the gradient and what was saved and writes the gradient: half as much again to
/// twice the forward's bytes.
constexpr double memory_backward = 1.7;

/// What the stack's matrix products reach of the device's sustained rate.
double gemm_efficiency(const Operator& op, const Job& job) {
  const Framework& f = job.framework;
  // A rank with one expert has nothing to group.
  const bool many = op.kind == OperatorKind::grouped_gemm && op.groups > 1;
  const double grouped = many ? f.kernels.grouped_gemm_efficiency : 1;
  return f.kernels.gemm_efficiency * grouped;
}

/// Products of a rank's experts that run at once. Products over a few streams take as long as one after another:
/// Transformer Engine's timings by tokens of an expert (SimuMax, group_matmul) are met within a tenth from 128 up.
double at_once(const Operator& op, ExpertGemm form) { return form <= ExpertGemm::streams ? 1 : op.groups; }

/// Bytes of a weight gradient that its product reads and writes: added to the buffer inside it, or written beside.
double gradient_bytes(const Job& job) {
  const RecipeStates& s = job.recipe.states;
  const bool inside = job.framework.kernels.accumulation_traffic == 0 && s.accumulation == StateFormat::none;
  return inside ? 2 * bytes_of(s.gradients, job.precision.rest) : 0;
}

/// Bytes that rows of `elements` start at multiples of, at most 16: an undivided vocabulary, odd shards.
int alignment(double elements, double bytes) {
  const auto row = static_cast<long long>(elements) * static_cast<long long>(bytes);
  return static_cast<int>(std::min(16LL, row & -row));
}

bool in_gemm_format(const Operator& op, const Job& job) {
  return op.low_precision || (op.part == OperatorPart::head && job.recipe.precision.head == StateFormat::fp8);
}

/// What the operator's product runs in.
DType product_format(const Operator& op, const Job& job) {
  if (in_gemm_format(op, job)) return job.precision.gemm;
  return op.part == OperatorPart::head && job.recipe.precision.head == StateFormat::fp32 ? DType::fp32
                                                                                         : job.precision.rest;
}

Kernels gemm_kernels(const Operator& op, const Job& job) {
  const Accelerator& device = job.cluster.accelerator;
  const Precision& recipe = job.precision;
  const bool low = in_gemm_format(op, job);
  const bool experts = op.kind == OperatorKind::grouped_gemm;
  const double groups = experts ? at_once(op, job.recipe.kernels.expert_gemm) : op.groups;
  // Weights are stored n by k, activations m by k and m by n: m alone never lies along a row.
  const int aligned =
      low ? 16
          : std::min(alignment(op.n, bytes_per_element(recipe.rest)), alignment(op.k, bytes_per_element(recipe.rest)));
  const auto time = [&](double m, double n, double k, double result_bytes) {
    return op.groups / groups *
           gemm_time({.m = m,
                      .n = n,
                      .k = k,
                      .groups = groups,
                      .dtype = product_format(op, job),
                      .block_scaled = recipe.block_scaled,
                      .result_bytes = result_bytes,
                      .aligned = aligned},
                     device) /
           gemm_efficiency(op, job);
  };
  return {time(op.m, op.n, op.k, 0), time(op.m, op.k, op.n, 0), time(op.n, op.k, op.m, gradient_bytes(job))};
}

Kernels attention_kernels(const Operator& op, const Job& job) {
  const AttentionKernel& kernel = attention_kernel(job);
  // Context parallelism gives every rank an early and a late piece of each sequence: the mean of the causal triangle.
  const double attended = std::min<double>(op.seq_kv, job.document_len);
  const AttentionShape shape{.batch = op.batch * op.seq_q / attended,
                             .heads = op.heads,
                             .kv_heads = op.kv_heads,
                             .seq_q = attended,
                             .seq_kv = attended,
                             .head_dim = op.head_dim,
                             .v_head_dim = op.v_head_dim,
                             .window = op.window,
                             .fused = kernel.fused,
                             .flash = kernel.flash};
  const double efficiency = kernel.fused ? job.framework.kernels.attention_efficiency * kernel.share : 1;
  const DType dtype = job.recipe.precision.attention == StateFormat::fp8 ? DType::fp8 : job.precision.rest;
  return {attention_forward_time(shape, job.cluster.accelerator, dtype) / efficiency,
          attention_backward_time(shape, job.cluster.accelerator, dtype) / efficiency,
          {}};
}

/// A pass over what the experts' products give.
bool on_outputs(const Operator& op) { return op.apart > 0 && !op.cast; }

Kernels memory_kernels(const Operator& op, const Job& job) {
  if (inside_product(op, job.recipe.kernels)) return {};
  const bool apart = op.apart > 0 && job.recipe.kernels.expert_gemm <= ExpertGemm::streams;
  const bool fused = !job.recipe.kernels.unfused || job.recipe.kernels.compiled;
  const bool whole = on_outputs(op) ? !apart : op.sorts ? dispatcher(job.recipe.kernels.dispatcher).by_node : fused;
  double bytes = whole || op.unfused_bytes == 0 ? op.bytes : op.unfused_bytes;
  // Stacks that fuse norms and activations quantise in the same kernels, which half of the inputs come from.
  if (fused && op.cast) bytes *= 0.5;
  const Seconds forward = memory_bound_time(Bytes::base(bytes * job.framework.kernels.memory_traffic),
                                            job.cluster.accelerator, apart ? op.apart : op.kernels);
  return {forward, memory_backward * forward, {}};
}

/// What a module of selective recompute does again, and what it need not keep for that: its outputs, which are inputs
/// of what follows (Megatron Core, recompute_modules: output-discarding checkpoints of norms, up-projections and
/// nonlinearities; mlp and shared_experts keep their input alone).
struct ModuleOperator {
  RecomputeModule module;
  std::string_view name;
  bool again = false;
  enum { nothing, all, inputs } dropped = nothing;  ///< of what the operator keeps; `inputs`: q, k and v of attention
};
constexpr auto module_operators = std::to_array<ModuleOperator>({
    {RecomputeModule::core_attn, "attention", true},
    {RecomputeModule::mla_up_proj, "q_up", true, ModuleOperator::all},
    {RecomputeModule::mla_up_proj, "kv_up", true, ModuleOperator::all},
    {RecomputeModule::mla_up_proj, "rope", true},
    {RecomputeModule::mla_up_proj, "attention", false, ModuleOperator::inputs},
    {RecomputeModule::mlp, "mlp_up", true},
    {RecomputeModule::mlp, "activation", true, ModuleOperator::all},
    {RecomputeModule::mlp, "mlp_down", true, ModuleOperator::all},
    {RecomputeModule::moe_act, "expert_activation", true},
    {RecomputeModule::moe_act, "expert_down", false, ModuleOperator::all},
    {RecomputeModule::layernorm, "attention_norm", true},
    {RecomputeModule::layernorm, "qkv", false, ModuleOperator::all},
    {RecomputeModule::layernorm, "q", false, ModuleOperator::all},
    {RecomputeModule::layernorm, "q_down", false, ModuleOperator::all},
    {RecomputeModule::layernorm, "mlp_norm", true},
    {RecomputeModule::layernorm, "mlp_up", false, ModuleOperator::all},
    {RecomputeModule::layernorm, "router", false, ModuleOperator::all},
    {RecomputeModule::layernorm, "shared_expert_up", false, ModuleOperator::all},
    {RecomputeModule::shared_experts, "shared_expert_up", true},
    {RecomputeModule::shared_experts, "shared_expert_activation", true, ModuleOperator::all},
    {RecomputeModule::shared_experts, "shared_expert_down", true, ModuleOperator::all},
});

/// Whether the row holds for an operator of the job.
bool concerns(const ModuleOperator& row, const Operator& op, const Job& job) {
  return row.name == op.name && job.recipe.activations.recompute_modules.has(row.module) &&
         has_module(job.model, row.module);
}

}  // namespace

bool redone_selectively(const Operator& op, const Job& job) {
  return std::ranges::any_of(module_operators,
                             [&](const ModuleOperator& row) { return row.again && concerns(row, op, job); });
}

std::vector<std::string_view> operators_of(RecomputeModule module) {
  std::vector<std::string_view> names;
  for (const ModuleOperator& row : module_operators) {
    if (row.module == module) names.push_back(row.name);
  }
  return names;
}

Bytes dropped_selectively(const Operator& op, const Job& job) {
  double inputs = 0;
  for (const ModuleOperator& row : module_operators) {
    if (!concerns(row, op, job)) continue;
    if (row.dropped == ModuleOperator::all) return Bytes::base(op.saved_bytes);
    if (row.dropped == ModuleOperator::inputs) {
      inputs = op.batch * (op.seq_q * op.heads * op.head_dim + op.seq_q * op.kv_heads * (op.head_dim + op.v_head_dim));
    }
  }
  return Bytes::base(std::min(op.saved_bytes, inputs * bytes_per_element(job.precision.rest)));
}

bool inside_product(const Operator& op, const RecipeKernels& recipe) {
  return on_outputs(op) && recipe.expert_gemm == ExpertGemm::fused;
}

Seconds least_time(const Operator& op, const Job& job) {
  if (!is_gemm(op)) return {};
  const Accelerator& device = job.cluster.accelerator;
  const DType dtype = product_format(op, job);
  const GemmEfficiency& e = efficiency_of(device.efficiency, {dtype, job.precision.block_scaled});
  const double products = training_of(op, job).gradients ? 3 : 2;
  const Flops work = Flops::base(products * 2 * op.groups * op.m * op.n * op.k);
  // A cut that leaves one expert to a rank loses nothing to grouping.
  const StackKernels& k = job.framework.kernels;
  const double efficiency = k.gemm_efficiency * std::max(1.0, k.grouped_gemm_efficiency);
  return work / (device.peak(dtype) * e.ceiling * e.sustained) / efficiency;
}

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
