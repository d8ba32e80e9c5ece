#include "parallel/block_cost.hpp"

#include <algorithm>
#include <cmath>

#include "meshwright/cost/kernel.hpp"
#include "meshwright/parallel/overlap.hpp"

namespace meshwright::parallel {
namespace {

/// Backward of a streaming kernel reads the gradient and what was saved and writes the gradient: half as much again to
/// twice the forward's bytes.
constexpr double memory_backward = 1.7;

/// Kernel times of one operator.
struct Kernels {
  Seconds forward, data_gradient, weight_gradient;
};

/// What the stack's matrix products reach of the device's sustained rate.
double gemm_efficiency(const Operator& op, const Job& job) {
  const Framework& f = job.framework;
  const double grouped = op.kind == OperatorKind::grouped_gemm ? f.grouped_gemm_efficiency : 1;
  const double hopper = job.cluster.accelerator.architecture == "hopper" ? f.gemm_efficiency_hopper : 1;
  return f.gemm_efficiency * grouped * hopper;
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
  // Context parallelism gives every rank an early and a late piece of each sequence: the mean of the causal triangle.
  const AttentionShape shape{.batch = op.batch * op.seq_q / op.seq_kv,
                             .heads = op.heads,
                             .kv_heads = op.kv_heads,
                             .seq_q = op.seq_kv,
                             .seq_kv = op.seq_kv,
                             .head_dim = op.head_dim,
                             .v_head_dim = op.v_head_dim,
                             .window = op.window,
                             .fused = job.framework.fused_attention};
  const double efficiency = job.framework.fused_attention ? job.framework.attention_efficiency : 1;
  return {attention_forward_time(shape, job.cluster.accelerator, job.precision.rest) / efficiency,
          attention_backward_time(shape, job.cluster.accelerator, job.precision.rest) / efficiency,
          {}};
}

Kernels memory_kernels(const Operator& op, const Job& job) {
  double bytes = job.framework.fused_norms || op.unfused_bytes == 0 ? op.bytes : op.unfused_bytes;
  // Stacks that fuse norms and activations quantise in the same kernels, which half of the inputs come from.
  if (job.framework.fused_norms && op.name.ends_with("casts")) bytes *= 0.5;
  const Seconds forward =
      memory_bound_time(Bytes::base(bytes * job.framework.memory_traffic), job.cluster.accelerator, op.kernels);
  return {forward, memory_backward * forward, {}};
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

/// Windows that communication of a block can hide behind.
struct Windows {
  Seconds column_forward, column_data, column_weight;  ///< column-parallel GEMMs: their input is gathered
  Seconds row_forward, row_data;                       ///< row-parallel GEMMs: their output is scattered
  Seconds attention_forward, attention_backward;
  double key_value_bytes = 0;  ///< of this rank's tokens
};

bool is_gemm(const Operator& op) { return op.kind == OperatorKind::gemm || op.kind == OperatorKind::grouped_gemm; }

/// Sums the operators' kernels into `cost` and collects the windows.
Windows add_kernels(BlockCost& cost, std::span<const Operator> operators, const Job& job) {
  Windows windows;
  for (const Operator& op : operators) {
    const Kernels t = kernels(op, job);
    cost.forward.compute += t.forward;
    cost.backward.compute += t.data_gradient + t.weight_gradient;
    cost.weight_gradient += t.weight_gradient;
    if (op.in_selective) cost.recompute[1].compute += t.forward;
    const bool column = is_gemm(op) && op.k == job.model.hidden, row = is_gemm(op) && op.n == job.model.hidden;
    if (column) {
      windows.column_forward += t.forward, windows.column_data += t.data_gradient;
      windows.column_weight += t.weight_gradient;
    } else if (row) {
      windows.row_forward += t.forward, windows.row_data += t.data_gradient;
    }
    if (op.kind == OperatorKind::attention) {
      windows.attention_forward += t.forward, windows.attention_backward += t.data_gradient;
      windows.key_value_bytes += op.batch * op.seq_q * op.kv_heads * (op.head_dim + op.v_head_dim) * 2;
    }
    (op.kind == OperatorKind::grouped_gemm ? cost.expert_parameters : cost.parameters) += op.weight_elements;
  }
  const Bytes added = Bytes::base((cost.parameters + cost.expert_parameters) * job.framework.accumulation_traffic);
  cost.backward.compute += memory_bound_time(added, job.cluster.accelerator);
  return windows;
}

double tokens(const BlockContext& x) { return static_cast<double>(x.layout.micro_batch) * x.job.seq_len / x.layout.cp; }
Bytes activation_bytes(const BlockContext& x) { return Bytes::base(tokens(x) * x.job.model.hidden * 2); }

/// Tensor parallelism of `regions` column-row pairs. With sequence parallelism a gather before and a scatter after each
/// (and their conjugates in backward, which gathers the saved input once more); without, one all-reduce each way
/// (Korthikanti et al. 2022, section 4.2). Megatron runs the backward gather of the input and the scatter of its
/// gradient beside the column GEMMs' gradients; userbuffers put the rest beside the GEMMs as well.
void add_tensor(BlockCost& cost, const BlockContext& x, const Windows& w, double regions) {
  if (x.layout.tp <= 1 || regions <= 0) return;
  const Framework& f = x.job.framework;
  const Group group = groups(x.layout).tensor;
  const auto run = [&](Collective c) { return x.communication.time(c, activation_bytes(x), group); };
  // Userbuffers map peers' memory: they exist inside a scale-up domain only (Transformer Engine user guide,
  // "communication overlap").
  const bool inside = x.communication.ranks_inside(group) == group.size;
  const bool userbuffers = x.layout.tp_comm_overlap && x.layout.sequence_parallel && inside;
  const auto put = [&](Pass& pass, Seconds window, Seconds transfer, bool beside) {
    const Overlap o = beside ? overlap(window, transfer, f.tp_overlap_exposed) : Overlap{transfer, {}};
    pass.tensor += o.exposed, pass.tensor_hidden += o.hidden;
  };
  if (x.layout.sequence_parallel) {
    const Seconds gather = regions * run(Collective::all_gather), scatter = regions * run(Collective::reduce_scatter);
    put(cost.forward, w.column_forward, gather, userbuffers);
    put(cost.forward, w.row_forward, scatter, userbuffers);
    put(cost.backward, w.row_data, gather, userbuffers);
    put(cost.backward, w.column_data, gather, f.tp_backward_overlap || userbuffers);
    put(cost.backward, w.column_weight, scatter, f.tp_backward_overlap || userbuffers);
  } else {
    const Seconds reduce = regions * run(Collective::all_reduce);
    put(cost.forward, {}, reduce, false);
    put(cost.backward, w.column_weight, reduce, f.tp_backward_overlap);
  }
}

/// Ring attention: keys and values pass round once in forward, twice (with their gradients) in backward, beside all but
/// one of the ring's attention steps.
void add_context(BlockCost& cost, const BlockContext& x, const Windows& w) {
  const int cp = x.layout.cp;
  if (cp <= 1 || w.key_value_bytes <= 0) return;
  const Seconds ring =
      x.communication.time(Collective::all_gather, Bytes::base(w.key_value_bytes * cp), groups(x.layout).context);
  const double beside = (cp - 1.0) / cp, slowdown = x.job.framework.overlap_slowdown;
  cost.forward.context += overlap(beside * w.attention_forward, ring, slowdown).exposed;
  cost.backward.context += overlap(beside * w.attention_backward, 2 * ring, slowdown).exposed;
  if (cost.recompute[1].compute.value() > 0) cost.recompute[1].context += cost.forward.context;
}

/// Nodes other than its own that a token's top_k experts are spread over, of `nodes`.
double remote_nodes(const Transformer& model, double nodes) {
  double reached = nodes * (1 - std::pow(1 - 1 / nodes, model.top_k));
  if (model.groups_per_token > 0) reached = std::min<double>(reached, model.groups_per_token);
  return reached * (nodes - 1) / nodes;
}

/// One exchange of expert tokens. By rank: an all-to-all of top_k copies a token. By node: one copy to each node that
/// has an expert of it, over the network, and from there top_k copies inside; the two run as a pipeline (DeepEP).
Seconds exchange(const BlockContext& x) {
  const int etp = expert_tensor_parallel(x.layout);
  const double vectors = tokens(x) / x.layout.tp * etp * x.job.moe_imbalance;
  const Bytes one = Bytes::base(vectors * x.job.model.hidden * 2), sent = one * x.job.model.top_k;
  const Group all = groups(x.layout).expert;
  const int inside = x.communication.ranks_inside(all);
  if (!x.job.framework.dispatch_by_node || inside == all.size) {
    return x.communication.time(Collective::all_to_all, sent, all);
  }
  const int nodes = all.size / inside;
  const Group across{nodes, all.stride * inside}, within{inside, all.stride};
  // all_to_all keeps 1/nodes of the buffer at home.
  const Bytes network = one * remote_nodes(x.job.model, nodes) * (nodes / (nodes - 1.0));
  return std::max(x.communication.time(Collective::all_to_all, network, across),
                  x.communication.time(Collective::all_to_all, sent, within));
}

/// Dispatch and combine, in forward and in backward.
void add_expert(BlockCost& cost, const BlockContext& x) {
  if (x.layout.ep <= 1) return;
  const Seconds both = 2 * exchange(x);
  const bool beside = x.layout.ep_comm_overlap || effective_schedule(x.layout) == PipelineSchedule::dual_pipe;
  const auto put = [&](Pass& pass) {
    const Overlap o = beside ? overlap(pass.compute, both, x.job.framework.overlap_slowdown) : Overlap{both, {}};
    pass.expert += o.exposed, pass.expert_hidden += o.hidden;
  };
  put(cost.forward), put(cost.backward);
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
  Seconds floor = f.host_per_layer + further_nodes * f.host_per_layer_tp;
  const double rows = static_cast<double>(x.layout.micro_batch) * x.job.model.heads / x.layout.tp;
  if (!f.fused_attention && std::fmod(rows, 4) != 0) floor += f.host_softmax_fallback;
  return std::max(floor, launches_of(x, operators) * f.kernel_launch);
}

}  // namespace

namespace {

BlockCost block_cost(const BlockContext& x, const LayerShape& shape, std::span<const Operator> operators) {
  BlockCost cost;
  const Windows windows = add_kernels(cost, operators, x.job);
  const bool moe = shape.feed == FeedForward::moe;
  const bool dense_feed = shape.feed == FeedForward::dense || (moe && x.job.model.shared_expert_ffn_hidden > 0);
  add_tensor(cost, x, windows, (shape.mixer != Mixer::none ? 1 : 0) + (dense_feed ? 1 : 0));
  add_context(cost, x, windows);
  if (moe) add_expert(cost, x);
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
    const bool scatter = x.layout.sequence_parallel;
    const Group group = groups(x.layout).tensor;
    cost.forward.tensor =
        x.communication.time(scatter ? Collective::reduce_scatter : Collective::all_reduce, activation_bytes(x), group);
    if (scatter) cost.backward.tensor = x.communication.time(Collective::all_gather, activation_bytes(x), group);
  }
  return cost;
}

BlockCost head_cost(const BlockContext& x) {
  const auto operators = head_operators(x.job.model, x.layout.micro_batch, x.job.seq_len, shard_of(x), x.job.precision,
                                        x.job.framework.vocab_multiple);
  BlockCost cost;
  const Windows windows = add_kernels(cost, operators, x.job);
  if (x.layout.tp > 1) {
    const Group group = groups(x.layout).tensor;
    const auto run = [&](Collective c) { return x.communication.time(c, activation_bytes(x), group); };
    const Seconds back = run(x.layout.sequence_parallel ? Collective::reduce_scatter : Collective::all_reduce);
    const Overlap o = x.job.framework.tp_backward_overlap
                          ? overlap(windows.column_weight, back, x.job.framework.tp_overlap_exposed)
                          : Overlap{back, {}};
    if (x.layout.sequence_parallel) cost.forward.tensor = run(Collective::all_gather);
    cost.backward.tensor = o.exposed, cost.backward.tensor_hidden = o.hidden;
  }
  return cost;
}

Bytes boundary_bytes(const BlockContext& x) {
  // With sequence parallelism, or Megatron's scatter-gather of sends, each tensor rank sends its own part.
  return activation_bytes(x) / x.layout.tp;
}

}  // namespace meshwright::parallel
