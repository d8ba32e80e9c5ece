#include "parallel/exchanges.hpp"

#include <algorithm>
#include <cmath>

#include "meshwright/parallel/overlap.hpp"

namespace meshwright::parallel {
namespace {

/// Nodes other than its own that a token's top_k experts are spread over, of `nodes`.
double remote_nodes(const Transformer& model, double nodes) {
  double reached = nodes * (1 - std::pow(1 - 1 / nodes, model.top_k));
  if (model.groups_per_token > 0) reached = std::min<double>(reached, model.groups_per_token);
  return reached * (nodes - 1) / nodes;
}

/// Of `ranks`, those that hold an expert of a token: each gets one copy of it.
double ranks_reached(const Transformer& model, double ranks) {
  return ranks * (1 - std::pow(1 - 1 / ranks, model.top_k));
}

/// One exchange of expert tokens over ep, `one` byte count for one copy of the rank's tokens. By rank: an all-to-all of
/// top_k copies a token. By gathering: all tokens to all ranks, with `gather` or, on the way back, its inverse. By
/// node: one copy to each node that has an expert of it, over the network, and from there one to each rank that has;
/// the two run as a pipeline (DeepEP).
Seconds exchange(const BlockContext& x, Collective gather, double vectors, Bytes one) {
  const Group all = groups(x.layout, x.job.framework).expert;
  if (dispatcher(x.job.recipe.kernels.dispatcher).gathers)
    return x.communication.time(gather, all.size / x.job.moe_imbalance * one, all);
  const int inside = x.communication.ranks_inside(all);
  if (!dispatcher(x.job.recipe.kernels.dispatcher).by_node) {
    return x.communication.time(Collective::all_to_all, one * x.job.model.top_k, all);
  }
  const Bytes sent = one * ranks_reached(x.job.model, all.size);
  if (inside == all.size) return x.communication.time(Collective::all_to_all, sent, all);
  const int nodes = (all.size + inside - 1) / inside;
  const Group across{nodes, all.stride * inside}, within{inside, all.stride};
  // all_to_all keeps 1/nodes of the buffer at home.
  const double copies = remote_nodes(x.job.model, nodes);
  const Bytes network = one * copies * (nodes / (nodes - 1.0));
  Seconds messages;
  for (const DispatcherRow::Proxied& proxied : dispatcher(x.job.recipe.kernels.dispatcher).proxied) {
    if (proxied.medium == x.job.cluster.platform.scale_out.name) messages = vectors * copies * proxied.message;
  }
  return std::max({messages, x.communication.time(Collective::all_to_all, network, across),
                   x.communication.time(Collective::all_to_all, sent, within)});
}

/// Kernels beside an exchange run on the multiprocessors that it leaves them.
double slowdown_beside_experts(const Job& job) {
  const int all = job.cluster.accelerator.sm_count;
  const double taken = all > 0 ? static_cast<double>(dispatcher(job.recipe.kernels.dispatcher).sms) / all : 0;
  return std::clamp(taken, job.framework.overlap.slowdown, 1.0);
}

/// A layer's forward pass of one micro-batch beside its backward pass of another (Megatron Core,
/// model_chunk_schedule_plan.py, run; DeepSeek-V3's DualPipe, arXiv 2412.19437, fig. 4):
///
///     exchanges  combine's gradient | dispatch, dispatch's gradient | combine
///     compute    attention          | experts' gradients, experts   | attention's gradients
///
/// An exchange runs beside what stands over it alone, because the next kernels need what it brings. Gradients of
/// weights need nothing: where they are delayed, both exchanges of a kind share what is computed on their side.
void beside_other(BlockCost& cost, const BlockContext& x, const Windows& w, Seconds dispatch, Seconds combine) {
  const bool delayed = x.job.recipe.kernels.delay_wgrad || effective_schedule(x.layout)->overlaps_experts;
  const double slowdown = slowdown_beside_experts(x.job);
  Pass &forward = cost.forward, &backward = cost.backward;
  const Kernels& e = w.experts;
  const Seconds experts = e.data_gradient + e.weight_gradient;
  const Seconds before = forward.computing() - e.forward, after = backward.computing() - experts;
  const auto put = [](Pass& pass, const Overlap& o, double share) {
    pass.expert += share * o.exposed, pass.expert_hidden += share * o.hidden, pass.stretched += share * o.exposed;
  };
  if (delayed) {
    const Overlap both[] = {overlap(e.forward + experts, 2 * dispatch, slowdown),
                            overlap(before + after, 2 * combine, slowdown)};
    for (const Overlap& o : both) put(forward, o, 0.5), put(backward, o, 0.5);
    return;
  }
  const Overlap of_forward[] = {overlap(experts, dispatch, slowdown), overlap(after, combine, slowdown)};
  const Overlap of_backward[] = {overlap(e.forward, dispatch, slowdown), overlap(before, combine, slowdown)};
  for (const Overlap& o : of_forward) put(forward, o, 1);
  for (const Overlap& o : of_backward) put(backward, o, 1);
}

}  // namespace

Bytes activation_bytes(const BlockContext& x, double width) {
  return Bytes::base(rank_tokens(x.job, x.layout).all * width * bytes_per_element(x.job.precision.rest));
}

void Windows::add(const Operator& op, const Kernels& t, bool gradients) {
  if (op.kind == OperatorKind::attention) {
    const double rows = op.batch * op.seq_q;
    attention.forward += t.forward, attention.backward += t.data_gradient;
    attention.query += rows * op.heads * op.head_dim;
    attention.key_value += rows * op.kv_heads * (op.head_dim + op.v_head_dim);
    attention.output += rows * op.heads * op.v_head_dim;
    attention.kv_heads = op.kv_heads;
  }
  if (op.part == OperatorPart::experts) {
    experts.forward += t.forward, experts.data_gradient += t.data_gradient;
    experts.weight_gradient += t.weight_gradient;
  }
  if (op.expert) return;  // cut over a group of its own
  if (op.part == OperatorPart::mlp && op.cut != Cut::none) {
    mlp.forward += t.forward, mlp.data_gradient += t.data_gradient, mlp.weight_gradient += t.weight_gradient;
  }
  if (op.cut == Cut::column) column.add(op.k, t);
  if (op.cut == Cut::column && gradients) trained.add(op.k, t);
  if (op.cut == Cut::row) row.add(op.n, t);
}

void add_tensor(BlockCost& cost, const BlockContext& x, const Windows& w) {
  if (x.layout.tp <= 1) return;
  const Framework& f = x.job.framework;
  const Group group = groups(x.layout, x.job.framework).tensor;
  const auto run = [&](Collective c, const CutGemms& gemms) {
    if (gemms.count == 0) return Seconds{};
    return gemms.count * x.communication.time(c, activation_bytes(x, gemms.width / gemms.count), group);
  };
  // Inputs that are quantised before they are gathered; sums come back whole.
  const DType rest = x.job.precision.rest;
  const double narrowed = bytes_of(x.job.recipe.precision.tensor_gather, rest) / bytes_per_element(rest);
  const auto gathered = [&](CutGemms gemms) {
    gemms.width *= narrowed;
    return run(Collective::all_gather, gemms);
  };
  // Userbuffers map peers' memory: they exist inside a scale-up domain only (Transformer Engine user guide,
  // "communication overlap").
  const bool inside = x.communication.ranks_inside(group) == group.size;
  const bool userbuffers = x.layout.tp_comm_overlap && x.layout.sequence_parallel && inside;
  const auto put = [&](Pass& pass, Seconds window, Seconds transfer, bool beside) {
    const Overlap o = beside ? overlap(window, transfer, f.overlap.tp_exposed) : Overlap{transfer, {}};
    pass.tensor += o.exposed, pass.tensor_hidden += o.hidden;
    if (beside) pass.stretched += o.exposed;
  };
  if (x.layout.sequence_parallel) {
    put(cost.forward, w.column.forward, gathered(w.column), userbuffers);
    put(cost.forward, w.row.forward, run(Collective::reduce_scatter, w.row), userbuffers);
    put(cost.backward, w.row.data, gathered(w.row), userbuffers);
    put(cost.backward, w.column.data, gathered(w.trained), f.overlap.tp_backward || userbuffers);
    put(cost.backward, w.column.weight, run(Collective::reduce_scatter, w.column),
        f.overlap.tp_backward || userbuffers);
  } else {
    put(cost.forward, {}, run(Collective::all_reduce, w.row), false);
    put(cost.backward, w.column.weight, run(Collective::all_reduce, w.column), f.overlap.tp_backward);
  }
}

void add_context(BlockCost& cost, const BlockContext& x, const Windows& w) {
  if (x.layout.cp <= 1 || w.attention.key_value <= 0) return;
  const Group group = groups(x.layout, x.job.framework).context;
  const auto bytes = [&](double elements) { return Bytes::base(elements * bytes_per_element(x.job.precision.rest)); };
  const ContextLinks links{
      .ranks = group.size,
      .slowdown = x.job.framework.overlap.slowdown,
      .gather =
          [&](double elements) {
            return x.communication.time(Collective::all_gather, group.size * bytes(elements), group);
          },
      .exchange =
          [&](double elements) { return x.communication.time(Collective::all_to_all, bytes(elements), group); }};
  const ContextKind kind = context_kind(x.layout, x.job.framework);
  const ContextExposed exposed = kind->exposed(w.attention, links);
  cost.forward.context += exposed.forward;
  cost.backward.context += exposed.backward;
  const bool again = cost.recompute[1].compute > Seconds{};
  if (again) cost.recompute[1].context += exposed.forward;
  if (!kind->beside) return;
  cost.forward.stretched += exposed.forward;
  cost.backward.stretched += exposed.backward;
  if (again) cost.recompute[1].stretched += exposed.forward;
}

void add_expert(BlockCost& cost, const BlockContext& x, const Windows& w) {
  const Transformer& model = x.job.model;
  const Groups g = groups(x.layout, x.job.framework);
  const int etp = g.expert_tensor.size;
  if (x.layout.ep <= 1 && etp <= 1) return;
  const double width = model.expert_hidden > 0 ? model.expert_hidden : model.hidden;
  const double element = bytes_per_element(x.job.precision.rest);
  const double vectors = rank_tokens(x.job, x.layout).all / x.layout.tp * x.job.moe_imbalance;
  const auto one = [&](double bytes) { return Bytes::base(vectors * width * bytes); };
  const auto over_etp = [&](Collective c, double bytes) {
    return x.communication.time(c, etp * model.top_k * one(bytes), g.expert_tensor);
  };
  // Tokens go out in the format of the experts' GEMMs where the stack quantises them first; sums come back whole.
  const double out = x.job.framework.overlap.dispatch_low_precision ? bytes_per_element(x.job.precision.gemm) : element;
  const Seconds dispatch =
      exchange(x, Collective::all_gather, vectors, one(out)) + over_etp(Collective::all_gather, out);
  const Seconds combine =
      exchange(x, Collective::reduce_scatter, vectors, one(element)) + over_etp(Collective::reduce_scatter, element);
  // The overlap is of expert ranks (Megatron Core refuses it without them), not of what tensor ranks exchange.
  const bool asked = x.layout.ep_comm_overlap && x.layout.ep > 1;
  if (asked || effective_schedule(x.layout)->overlaps_experts) return beside_other(cost, x, w, dispatch, combine);
  const bool shared = x.job.recipe.kernels.shared_expert_overlap;
  const auto put = [&](Pass& pass, Seconds window) {
    const Overlap o = shared ? overlap(window, dispatch + combine, x.job.framework.overlap.slowdown)
                             : Overlap{dispatch + combine, {}};
    pass.expert += o.exposed, pass.expert_hidden += o.hidden;
  };
  put(cost.forward, w.mlp.forward), put(cost.backward, w.mlp.data_gradient + w.mlp.weight_gradient);
}

}  // namespace meshwright::parallel
