#include "workload/weights.hpp"

#include <algorithm>

namespace meshwright::workload {
namespace {

Weights standard_attention(const Transformer& m, const LayerShape& shape) {
  const double h = m.hidden, q = static_cast<double>(m.heads) * m.head_dim;
  const double kv = kv_heads_of(m, shape) * m.head_dim, values = kv_heads_of(m, shape) * v_head_dim(m);
  const double q_out = m.attention_gate ? 2 * q : q;
  Weights w{.matrix = h * (q_out + kv + values) + m.heads * v_head_dim(m) * h};
  if (m.qkv_bias) w.other += q_out + kv + values;
  if (m.attention_output_bias) w.other += h;
  if (m.qk_norm) w.other += m.qk_norm_full ? q + kv : 2.0 * m.head_dim * (m.layer_norm_bias ? 2 : 1);
  return w;
}

Weights latent_attention(const Transformer& m) {
  const LatentAttention& a = m.latent;
  const double h = m.hidden, heads = m.heads;
  const double q = heads * (a.qk_nope_head_dim + a.qk_rope_head_dim);
  Weights w;
  if (a.q_lora_rank > 0) {
    w = {.matrix = a.q_lora_rank * (h + q), .other = static_cast<double>(a.q_lora_rank)};
    if (m.qkv_bias) w.other += a.q_lora_rank;
  } else {
    w.matrix = h * q;
  }
  w.matrix += h * (a.kv_lora_rank + a.qk_rope_head_dim) + a.kv_lora_rank * heads * (a.qk_nope_head_dim + a.v_head_dim);
  w.other += a.kv_lora_rank;
  w.matrix += heads * a.v_head_dim * h;
  if (m.qkv_bias) w.other += a.kv_lora_rank + a.qk_rope_head_dim;
  if (m.attention_output_bias) w.other += h;
  return w;
}

// DeepSeek-V3.2's indexer: queries from the q latent, one shared key with a LayerNorm, a weight per head.
Weights indexer(const Transformer& m) {
  const SparseAttention& s = m.sparse;
  if (s.top_k == 0) return {};
  const double queries_from = m.latent.q_lora_rank > 0 ? m.latent.q_lora_rank : m.hidden;
  return {.matrix = queries_from * s.heads * s.head_dim + static_cast<double>(m.hidden) * (s.head_dim + s.heads),
          .other = 2.0 * s.head_dim};
}

Weights mamba(const Transformer& m) {
  const StateSpace& s = m.state_space;
  const double h = m.hidden, inner = s.inner;
  Weights w{.matrix = h * 2 * inner + inner * (s.dt_rank + 2.0 * s.state) + s.dt_rank * inner + inner * h};
  w.other = inner * s.conv_kernel + (s.conv_bias ? inner : 0) + inner /* dt bias */ + inner * s.state + inner /* D */;
  if (s.inner_norms) w.other += s.dt_rank + 2.0 * s.state;
  return w;
}

Weights mamba2(const Transformer& m) {
  const StateSpace& s = m.state_space;
  const double h = m.hidden, inner = s.inner, mixed = inner + 2.0 * s.groups * s.state;
  return {.matrix = h * (inner + mixed + s.heads) + inner * h,
          .other = mixed * (s.conv_kernel + (s.conv_bias ? 1 : 0)) + 3.0 * s.heads + inner};
}

Weights gated_delta(const Transformer& m) {
  const StateSpace& s = m.state_space;
  const double h = m.hidden, keys = static_cast<double>(s.groups) * s.state, values = s.inner;
  return {.matrix = h * (2 * keys + 2 * values + 2.0 * s.heads) + values * h,
          .other = (2 * keys + values) * s.conv_kernel + 2.0 * s.heads + s.head_dim};
}

}  // namespace

Weights mixer_weights(const Transformer& model, const LayerShape& shape) {
  switch (shape.mixer) {
    case Mixer::attention:
      return (model.attention == AttentionKind::latent ? latent_attention(model) : standard_attention(model, shape)) +
             indexer(model);
    case Mixer::mamba:
      return mamba(model);
    case Mixer::mamba2:
      return mamba2(model);
    case Mixer::gated_delta:
      return gated_delta(model);
    case Mixer::none:
      break;
  }
  return {};
}

namespace {
Weights mlp_of(const Transformer& model, double width, double inner) {
  const double up = model.gated_mlp ? 2 * inner : inner;
  return {.matrix = width * up + inner * width, .other = model.mlp_bias ? up + width : 0};
}
}  // namespace

Weights mlp_weights(const Transformer& model, double inner) { return mlp_of(model, model.hidden, inner); }
Weights expert_weights(const Transformer& model) { return mlp_of(model, expert_width(model), model.moe_ffn_hidden); }

Weights router_weights(const Transformer& model) {
  return {.matrix = static_cast<double>(model.hidden) * model.experts,
          .other = model.router_bias ? static_cast<double>(model.experts) : 0};
}

Weights feed_weights(const Transformer& model, const LayerShape& shape, double routed) {
  if (shape.feed == FeedForward::none) return {};
  if (shape.feed == FeedForward::dense) return mlp_weights(model, ffn_of(model, shape));
  Weights w = router_weights(model) + routed * expert_weights(model);
  if (model.expert_hidden > 0) w.matrix += 2.0 * model.hidden * model.expert_hidden;
  if (model.shared_expert_ffn_hidden > 0) w = w + mlp_weights(model, model.shared_expert_ffn_hidden);
  if (model.shared_expert_gate) w.matrix += model.hidden;
  return w;
}

double block_other(const Transformer& model, const LayerShape& shape) {
  const bool both = shape.mixer != Mixer::none && shape.feed != FeedForward::none;
  const int norms = both ? model.norms_per_layer : (model.norms_per_layer + 1) / 2;
  const double one = model.norm_weights ? model.hidden * (model.layer_norm_bias ? 2.0 : 1.0) : 0;
  return norms * one + model.extra_params_per_layer;
}

LayerShape mtp_shape(const Transformer& model) {
  return {.feed = model.is_moe() ? FeedForward::moe : FeedForward::dense};
}

double causal_pairs_per_query(const Transformer& model, const LayerShape& shape, double seq_len) {
  double window = shape.full_attention || model.sliding_window == 0 ? seq_len : model.sliding_window;
  if (model.sparse.top_k > 0) window = model.sparse.top_k;
  window = std::min(window, seq_len);
  if (seq_len <= 0) return 0;
  if (model.chunked_window && !shape.full_attention) return window / 2;
  return window - window * window / (2 * seq_len);
}

}  // namespace meshwright::workload
