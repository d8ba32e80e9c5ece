// Operators of the dense MLP and of mixture-of-experts layers.
#include <cmath>

#include "workload/operator_list.hpp"
#include "workload/weights.hpp"

namespace meshwright::workload {
namespace {

struct MlpNames {
  std::string_view up, activation, down;
};

/// An MLP over all rows, cut by tp. `saved_rows` of its input are kept here.
void mlp(OperatorList& list, const MlpNames& names, double inner, double saved_rows) {
  const Transformer& m = list.model;
  const double local = inner / list.shard.tp;
  list.gemm(names.up, Cut::column, list.rows, (m.gated_mlp ? 2 : 1) * local, m.hidden, saved_rows, m.mlp_bias);
  list.activation(names.activation, list.rows, local);
  list.gemm(names.down, Cut::row, list.rows, m.hidden, local, list.rows, m.mlp_bias);
}

void route(OperatorList& list) {
  list.part = OperatorPart::router;
  const Transformer& m = list.model;
  const double rows = list.norm_rows, scores = rows * m.experts;
  // The shared expert's gate is one more column.
  const double columns = m.experts + (m.shared_expert_gate ? 1 : 0);
  Operator& router = list.gemm("router", Cut::none, rows, columns, m.hidden, rows, m.router_bias);
  router.low_precision = false;
  router.saved_bytes = list.element * rows * m.hidden;
  // fp32 scores: softmax or sigmoid, bias, top-k, normalisation.
  list.stream("top_k", 4 * 4 * scores, 4 * scores).kernels = 4;
}

// The bias of the second product counts by the token's weight, so that it is no part of the product. One pass at best;
// apart, expert by expert, it is bias times weight, the sum, all of them joined, all in fp32, and the cast back
// (Megatron Core, transformer/moe/experts.py, _apply_bias).
void expert_bias(OperatorList& list, double elements, double groups) {
  if (!list.model.mlp_bias) return;
  const double e = list.element, fp32 = 4;
  Operator& row = list.stream("expert_bias", 2 * e * elements);
  row.unfused_bytes = (fp32 + (e + 2 * fp32) + 2 * fp32 + (fp32 + e)) * elements;
  row.apart = 2 * groups + 2;
}

// Copies into the order of experts. Sent to experts one by one, a token is copied before the exchange and, where a rank
// holds several experts, once more after it; sent to ranks, it is copied only there, from what came (Megatron Core,
// transformer/moe/token_dispatcher.py: all-to-all against flex).
void sorted_tokens(OperatorList& list, std::string_view name, double source_rows, double rows, double groups) {
  const double ep = list.shard.ep, k = list.model.top_k;
  const double vector = list.element * expert_width(list.model);
  const double before = list.rows / list.shard.tp + source_rows;
  Operator& row = list.stream(name, vector * before);
  row.sorts = true;
  if (ep <= 1 || groups <= 1) return;
  const double came = rows / k * ep * (1 - std::pow(1 - 1 / ep, k));
  row.bytes = vector * (came + rows);
  row.unfused_bytes = vector * (before + 2 * rows);
  row.kernels = 2;
}

// Experts spread over ep x etp ranks, which take their tokens from as many ranks: rows of one rank are
// tokens * top_k * etp / tp, in experts / ep groups (Megatron-Core MoE, parallel folding, arXiv 2504.14960).
void experts(OperatorList& list) {
  list.part = OperatorPart::experts;
  const Transformer& m = list.model;
  const Shard& cut = list.shard;
  const double source_rows = list.rows / cut.tp * m.top_k;
  const double groups = static_cast<double>(m.experts) / cut.ep;
  const double rows = source_rows * cut.etp * cut.imbalance, per_expert = rows / groups;
  const double inner = static_cast<double>(m.moe_ffn_hidden) / cut.etp;
  const double h = expert_width(m);
  // A latent space for the experts: down before the dispatch, up after the combination, on sharded rows.
  if (m.expert_hidden > 0) list.gemm("expert_latent_down", Cut::none, list.rows / cut.tp, h, m.hidden, 0);
  const auto sorted = [&](std::string_view name) { sorted_tokens(list, name, source_rows, rows, groups); };
  sorted("permute");
  list.grouped_gemm("expert_up", Cut::column, per_expert, (m.gated_mlp ? 2 : 1) * inner, h, groups);
  list.activation("expert_activation", rows, inner);
  list.grouped_gemm("expert_down", Cut::row, per_expert, h, inner, groups);
  expert_bias(list, rows * h, groups);
  sorted("unpermute");
  if (m.expert_hidden > 0)
    list.gemm("expert_latent_up", Cut::none, list.rows / cut.tp, m.hidden, h, list.rows / cut.tp);
}

void mixture(OperatorList& list) {
  const Transformer& m = list.model;
  route(list);
  experts(list);
  list.part = OperatorPart::mlp;
  if (m.shared_expert_ffn_hidden == 0) return;
  // Its input is the router's; a recipe with its own format keeps a copy.
  const bool own_copy = list.precision.stored_input_bytes != list.element;
  mlp(list, {"shared_expert_up", "shared_expert_activation", "shared_expert_down"}, m.shared_expert_ffn_hidden,
      own_copy ? list.norm_rows : 0);
}

}  // namespace

void append_feed_forward(OperatorList& list, const LayerShape& shape) {
  const Transformer& m = list.model;
  if (shape.feed == FeedForward::none) return;
  list.part = OperatorPart::mlp;
  const bool parallel = m.parallel_block && shape.mixer != Mixer::none;
  const bool shares_input = parallel && m.norms_per_layer < 2;
  if (!shares_input) list.norm("mlp_norm", list.norm_rows, m.hidden);
  if (shape.feed == FeedForward::moe) {
    mixture(list);
  } else {
    mlp(list, {"mlp_up", "activation", "mlp_down"}, ffn_of(m, shape), shares_input ? 0 : list.norm_rows);
  }
  list.casts("mlp_casts");
  if (m.norms_per_layer >= 4) list.norm("mlp_post_norm", list.norm_rows, m.hidden);
  const bool shared = shape.feed == FeedForward::moe && m.shared_expert_ffn_hidden > 0;
  list.residual("mlp_residual", 2 + (parallel ? 1 : 0) + (shared ? 1 : 0));
}

}  // namespace meshwright::workload
