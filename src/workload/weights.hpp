#pragma once
// Weight elements of the parts of a block, shared by parameter counts, FLOPs and operators.
#include "meshwright/workload/transformer.hpp"

namespace meshwright::workload {

/// Elements of matrices that multiply activations, and of everything else (biases, norms, convolutions, ...).
struct Weights {
  double matrix = 0, other = 0;
  double total() const { return matrix + other; }
  friend Weights operator+(Weights a, Weights b) { return {a.matrix + b.matrix, a.other + b.other}; }
  friend Weights operator*(double factor, Weights w) { return {factor * w.matrix, factor * w.other}; }
};

inline double kv_heads_of(const Transformer& model, const LayerShape& shape) {
  return shape.kv_heads > 0 ? shape.kv_heads : model.kv_heads;
}
inline double ffn_of(const Transformer& model, const LayerShape& shape) {
  return shape.ffn_hidden > 0 ? shape.ffn_hidden : model.ffn_hidden;
}
/// Width of v per head: another than of q.k in latent attention.
inline double v_head_dim(const Transformer& model) {
  if (model.attention == AttentionKind::latent) return model.latent.v_head_dim;
  return model.value_head_dim > 0 ? model.value_head_dim : model.head_dim;
}

Weights mixer_weights(const Transformer& model, const LayerShape& shape);
/// One MLP of that inner width over the hidden size: a dense one or the shared expert.
Weights mlp_weights(const Transformer& model, double inner);
Weights expert_weights(const Transformer& model);
/// Width of an expert's input and output.
inline double expert_width(const Transformer& model) {
  return model.expert_hidden > 0 ? model.expert_hidden : model.hidden;
}
Weights router_weights(const Transformer& model);
/// Norms and whatever else a block has outside mixer and feed-forward.
double block_other(const Transformer& model, const LayerShape& shape);
/// Feed-forward with `routed` experts counted (all of them, or top_k), without block norms.
Weights feed_weights(const Transformer& model, const LayerShape& shape, double routed);
/// The block of a multi-token-prediction module: like the last layer, with full attention.
LayerShape mtp_shape(const Transformer& model);
/// Key-value pairs that one query sees on average, over a causal sequence.
double causal_pairs_per_query(const Transformer& model, const LayerShape& shape, double seq_len);

}  // namespace meshwright::workload
