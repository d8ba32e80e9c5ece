#include "parallel/block_cost.hpp"

#include <algorithm>
#include <cmath>

#include "meshwright/cost/kernel.hpp"
#include "meshwright/parallel/overlap.hpp"
#include "parallel/exchanges.hpp"

namespace meshwright::parallel {
namespace {

/// Sums the operators' kernels into `cost` and collects the windows.
Windows add_kernels(BlockCost& cost, std::span<const Operator> operators, const Job& job) {
  Windows windows;
  for (const Operator& op : operators) {
    const Kernels t = kernels(op, job);
    cost.forward.compute += t.forward;
    cost.backward.compute += t.data_gradient + t.weight_gradient;
    cost.weight_gradient += t.weight_gradient;
    cost.forward_kernels.of(op.kind) += t.forward;
    cost.backward_kernels.of(op.kind) += t.data_gradient + t.weight_gradient;
    if (op.in_selective) {
      cost.recompute[1].compute += t.forward;
      cost.selective_kernels.of(op.kind) += t.forward;
    }
    windows.add(op, t);
    (op.expert ? cost.expert_parameters : cost.parameters) += op.weight_elements;
  }
  const Bytes added =
      Bytes::base((cost.parameters + cost.expert_parameters) * job.framework.kernels.accumulation_traffic);
  const Seconds adding = memory_bound_time(added, job.cluster.accelerator);
  cost.backward.compute += adding;
  cost.backward_kernels.memory_bound += adding;
  return windows;
}

Shard shard_of(const BlockContext& x) {
  return {.tp = x.layout.tp,
          .cp = x.layout.cp,
          .ep = x.layout.ep,
          .etp = expert_tensor_parallel(x.layout),
          .sequence_parallel = x.layout.sequence_parallel && x.layout.tp > 1,
          .imbalance = x.job.moe_imbalance};
}

/// Launches of forward and backward: three products a GEMM (one launch an expert, where low precision keeps experts in
/// separate products), a streaming kernel forward and one or two backward.
double launches_of(const BlockContext& x, std::span<const Operator> operators) {
  double launches = 0;
  for (const Operator& op : operators) {
    const bool apart = op.kind == OperatorKind::grouped_gemm && x.job.precision.gemm != x.job.precision.rest;
    launches += is_gemm(op) ? 3 * (apart ? op.groups : 1) : 2.5 * op.kernels;
  }
  return launches;
}

Seconds host_floor(const BlockContext& x, std::span<const Operator> operators) {
  const Framework& f = x.job.framework;
  const double further_nodes = std::ceil(static_cast<double>(x.layout.tp) / x.job.cluster.node.accelerators) - 1;
  Seconds floor = f.host.per_layer + further_nodes * f.host.per_layer_tp;
  const double rows = static_cast<double>(x.layout.micro_batch) * x.job.model.heads / x.layout.tp;
  if (!f.kernels.fused_attention && std::fmod(rows, 4) != 0) floor += f.host.softmax_fallback;
  return std::max(floor, launches_of(x, operators) * f.launch.kernel);
}

BlockCost block_cost(const BlockContext& x, const LayerShape& shape, std::span<const Operator> operators) {
  BlockCost cost;
  const Windows windows = add_kernels(cost, operators, x.job);
  add_tensor(cost, x, windows);
  add_context(cost, x, windows);
  if (shape.feed == FeedForward::moe) add_expert(cost, x);
  cost.recompute[2] = cost.forward;
  cost.host = host_floor(x, operators);
  return cost;
}

}  // namespace

BlockCost layer_cost(const BlockContext& x, const LayerShape& shape) {
  return block_cost(
      x, shape, layer_operators(x.job.model, shape, x.layout.micro_batch, x.job.seq_len, shard_of(x), x.job.precision));
}

BlockCost mtp_cost(const BlockContext& x) {
  if (x.job.model.mtp_layers == 0) return {};
  return block_cost(x, layer_shape(x.job.model, x.job.model.layers - 1),
                    mtp_operators(x.job.model, x.layout.micro_batch, x.job.seq_len, shard_of(x), x.job.precision));
}

BlockCost embedding_cost(const BlockContext& x) {
  const auto operators =
      embedding_operators(x.job.model, x.layout.micro_batch, x.job.seq_len, shard_of(x), x.job.precision);
  BlockCost cost;
  add_kernels(cost, operators, x.job);
  if (x.layout.tp > 1) {
    const auto run = [&](Collective c) {
      return x.communication.time(c, activation_bytes(x, x.job.model.hidden), groups(x.layout).tensor);
    };
    const bool scatter = x.layout.sequence_parallel;
    cost.forward.tensor = run(scatter ? Collective::reduce_scatter : Collective::all_reduce);
    if (scatter) cost.backward.tensor = run(Collective::all_gather);
  }
  return cost;
}

BlockCost head_cost(const BlockContext& x) {
  const auto operators = head_operators(x.job.model, x.layout.micro_batch, x.job.seq_len, shard_of(x), x.job.precision,
                                        x.job.framework.rules.vocab_multiple);
  BlockCost cost;
  const Windows windows = add_kernels(cost, operators, x.job);
  if (x.layout.tp > 1) {
    const auto run = [&](Collective c) {
      return x.communication.time(c, activation_bytes(x, windows.column.width), groups(x.layout).tensor);
    };
    const Seconds back = run(x.layout.sequence_parallel ? Collective::reduce_scatter : Collective::all_reduce);
    const Overlap o = x.job.framework.overlap.tp_backward
                          ? overlap(windows.column.weight, back, x.job.framework.overlap.tp_exposed)
                          : Overlap{back, {}};
    if (x.layout.sequence_parallel) cost.forward.tensor = run(Collective::all_gather);
    cost.backward.tensor = o.exposed, cost.backward.tensor_hidden = o.hidden;
  }
  return cost;
}

Bytes boundary_bytes(const BlockContext& x) {
  // With sequence parallelism, or Megatron's scatter-gather of sends, each tensor rank sends its own part.
  return activation_bytes(x, x.job.model.hidden) / x.layout.tp;
}

}  // namespace meshwright::parallel
