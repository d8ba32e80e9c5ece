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

/// One exchange of expert tokens over ep, `one` byte count for one copy of the rank's tokens. By rank: an all-to-all of
/// top_k copies a token. By node: one copy to each node that has an expert of it, over the network, and from there
/// top_k copies inside; the two run as a pipeline (DeepEP).
Seconds exchange(const BlockContext& x, Bytes one) {
  const Bytes sent = one * x.job.model.top_k;
  const Group all = groups(x.layout).expert;
  const int inside = x.communication.ranks_inside(all);
  if (!by_node(x.job.recipe.kernels.dispatcher) || inside == all.size) {
    return x.communication.time(Collective::all_to_all, sent, all);
  }
  const int nodes = all.size / inside;
  const Group across{nodes, all.stride * inside}, within{inside, all.stride};
  // all_to_all keeps 1/nodes of the buffer at home.
  const Bytes network = one * remote_nodes(x.job.model, nodes) * (nodes / (nodes - 1.0));
  return std::max(x.communication.time(Collective::all_to_all, network, across),
                  x.communication.time(Collective::all_to_all, sent, within));
}

}  // namespace

double tokens(const BlockContext& x) { return static_cast<double>(x.layout.micro_batch) * x.job.seq_len / x.layout.cp; }

Bytes activation_bytes(const BlockContext& x, double width) {
  return Bytes::base(tokens(x) * width * bytes_per_element(x.job.precision.rest));
}

void Windows::add(const Operator& op, const Kernels& t) {
  if (op.kind == OperatorKind::attention) {
    attention_forward += t.forward, attention_backward += t.data_gradient;
    key_value_elements += op.batch * op.seq_q * op.kv_heads * (op.head_dim + op.v_head_dim);
  }
  if (op.expert) return;  // cut over a group of its own
  if (op.cut == Cut::column) column.add(op.k, t);
  if (op.cut == Cut::row) row.add(op.n, t);
}

void add_tensor(BlockCost& cost, const BlockContext& x, const Windows& w) {
  if (x.layout.tp <= 1) return;
  const Framework& f = x.job.framework;
  const Group group = groups(x.layout).tensor;
  const auto run = [&](Collective c, const CutGemms& gemms) {
    if (gemms.count == 0) return Seconds{};
    return gemms.count * x.communication.time(c, activation_bytes(x, gemms.width / gemms.count), group);
  };
  // Userbuffers map peers' memory: they exist inside a scale-up domain only (Transformer Engine user guide,
  // "communication overlap").
  const bool inside = x.communication.ranks_inside(group) == group.size;
  const bool userbuffers = x.layout.tp_comm_overlap && x.layout.sequence_parallel && inside;
  const auto put = [&](Pass& pass, Seconds window, Seconds transfer, bool beside) {
    const Overlap o = beside ? overlap(window, transfer, f.overlap.tp_exposed) : Overlap{transfer, {}};
    pass.tensor += o.exposed, pass.tensor_hidden += o.hidden;
  };
  if (x.layout.sequence_parallel) {
    const Seconds gather = run(Collective::all_gather, w.column);
    put(cost.forward, w.column.forward, gather, userbuffers);
    put(cost.forward, w.row.forward, run(Collective::reduce_scatter, w.row), userbuffers);
    put(cost.backward, w.row.data, run(Collective::all_gather, w.row), userbuffers);
    put(cost.backward, w.column.data, gather, f.overlap.tp_backward || userbuffers);
    put(cost.backward, w.column.weight, run(Collective::reduce_scatter, w.column),
        f.overlap.tp_backward || userbuffers);
  } else {
    put(cost.forward, {}, run(Collective::all_reduce, w.row), false);
    put(cost.backward, w.column.weight, run(Collective::all_reduce, w.column), f.overlap.tp_backward);
  }
}

void add_context(BlockCost& cost, const BlockContext& x, const Windows& w) {
  const int cp = x.layout.cp;
  if (cp <= 1 || w.key_value_elements <= 0) return;
  const Bytes all = Bytes::base(w.key_value_elements * bytes_per_element(x.job.precision.rest) * cp);
  const Seconds ring = x.communication.time(Collective::all_gather, all, groups(x.layout).context);
  const double beside = (cp - 1.0) / cp, slowdown = x.job.framework.overlap.slowdown;
  cost.forward.context += overlap(beside * w.attention_forward, ring, slowdown).exposed;
  cost.backward.context += overlap(beside * w.attention_backward, 2 * ring, slowdown).exposed;
  if (cost.recompute[1].compute.value() > 0) cost.recompute[1].context += cost.forward.context;
}

void add_expert(BlockCost& cost, const BlockContext& x) {
  const Transformer& model = x.job.model;
  const int etp = expert_tensor_parallel(x.layout);
  if (x.layout.ep <= 1 && etp <= 1) return;
  const double width = model.expert_hidden > 0 ? model.expert_hidden : model.hidden;
  const double element = bytes_per_element(x.job.precision.rest);
  const double vectors = tokens(x) / x.layout.tp * x.job.moe_imbalance;
  const auto one = [&](double bytes) { return Bytes::base(vectors * width * bytes); };
  const auto over_etp = [&](Collective c, double bytes) {
    return x.communication.time(c, etp * model.top_k * one(bytes), {etp, 1});
  };
  // Tokens go out in the format of the experts' GEMMs where the stack quantises them first; sums come back whole.
  const double out = x.job.framework.overlap.dispatch_low_precision ? bytes_per_element(x.job.precision.gemm) : element;
  const Seconds dispatch = exchange(x, one(out)) + over_etp(Collective::all_gather, out);
  const Seconds combine = exchange(x, one(element)) + over_etp(Collective::reduce_scatter, element);
  const bool beside = x.layout.ep_comm_overlap || effective_schedule(x.layout) == PipelineSchedule::dual_pipe;
  const auto put = [&](Pass& pass) {
    const Overlap o = beside ? overlap(pass.compute, dispatch + combine, x.job.framework.overlap.slowdown)
                             : Overlap{dispatch + combine, {}};
    pass.expert += o.exposed, pass.expert_hidden += o.hidden;
  };
  put(cost.forward), put(cost.backward);
}

}  // namespace meshwright::parallel
