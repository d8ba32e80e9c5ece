// Model FLOPs of one token under the conventions that published rates use.
#include "workload/weights.hpp"

namespace meshwright::workload {
namespace {

// A recurrent mixer's scan, forward, per token, by its own recurrence (Dao and Gu 2024, sec. 6): state update and
// read-out, 2 FLOPs a multiply-add. The delta net reads and corrects the state once more (Yang et al. 2024).
double scan_flops(const Transformer& model, Mixer mixer) {
  const StateSpace& s = model.state_space;
  switch (mixer) {
    case Mixer::mamba:
    case Mixer::mamba2:
      return 6.0 * s.inner * s.state;
    case Mixer::gated_delta:
      return 8.0 * s.inner * s.state;
    case Mixer::attention:
    case Mixer::none:
      break;
  }
  return 0;
}

/// Scores and values, forward, for `pairs` keys a query.
double score_flops(const Transformer& model, double pairs) {
  return 2.0 * model.heads * (qk_head_dim(model) + v_head_dim(model)) * pairs;
}

struct Forward {
  double matrix = 0, score = 0;  ///< FLOPs of one token
};

Forward block(const Transformer& model, const LayerShape& shape, double seq_len, bool causal) {
  Forward f{.matrix = 2 * (mixer_weights(model, shape).matrix + feed_weights(model, shape, model.top_k).matrix)};
  if (shape.mixer == Mixer::attention) {
    f.score = score_flops(model, causal ? causal_pairs_per_query(model, shape, seq_len) : seq_len);
    if (model.sparse.top_k > 0) f.score += model.sparse.heads * model.sparse.head_dim * (causal ? 1.0 : 2.0) * seq_len;
  } else {
    f.score = scan_flops(model, shape.mixer);
  }
  return f;
}

}  // namespace

std::string_view name(FlopsConvention convention) {
  switch (convention) {
    case FlopsConvention::causal:
      return "causal";
    case FlopsConvention::full_attention:
      return "full_attention";
    case FlopsConvention::hardware_full_recompute:
      return "hardware_full_recompute";
  }
  return "";
}

double flops_per_token(const Transformer& model, int seq_len, FlopsConvention convention) {
  const bool causal = convention == FlopsConvention::causal;
  const double head = 2.0 * model.vocab * model.hidden;
  Forward layers;
  const auto add = [&](const LayerShape& shape, double count) {
    const Forward f = block(model, shape, seq_len, causal);
    layers.matrix += count * f.matrix;
    layers.score += count * f.score;
  };
  for (const auto& [shape, count] : layer_classes(model)) add(shape, count);
  double heads = head;
  if (model.mtp_layers > 0) {
    add(mtp_shape(model), model.mtp_layers);
    layers.matrix += model.mtp_layers * 4.0 * model.hidden * model.hidden;
    heads += model.mtp_layers * head;
  }
  const double passes = convention == FlopsConvention::hardware_full_recompute ? 4 : 3;
  return passes * (layers.matrix + layers.score) + 3 * heads;
}

}  // namespace meshwright::workload
