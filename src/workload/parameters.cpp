#include "workload/weights.hpp"

namespace meshwright::workload {
namespace {

double final_norm(const Transformer& model) {
  return model.norm_weights ? model.hidden * (model.layer_norm_bias ? 2.0 : 1.0) : 0;
}

// DeepSeek-V3's module: two norms, the 2h -> h projection, one block, a norm before the shared head.
// Embedding and head are shared with the main model (arXiv 2412.19437, sec. 2.2).
double mtp_module(const Transformer& model) {
  const double h = model.hidden;
  return 2 * h * h + 3 * h + layer_parameters(model, mtp_shape(model));
}

}  // namespace

double layer_parameters(const Transformer& model, const LayerShape& shape) {
  return mixer_weights(model, shape).total() + feed_weights(model, shape, model.experts).total() +
         block_other(model, shape);
}

double active_layer_parameters(const Transformer& model, const LayerShape& shape) {
  return mixer_weights(model, shape).total() + feed_weights(model, shape, model.top_k).total() +
         block_other(model, shape);
}

ParameterCounts parameter_counts(const Transformer& model) {
  const double table = static_cast<double>(model.vocab) * model.hidden;
  ParameterCounts counts{.embedding = table + static_cast<double>(model.position_embeddings) * model.hidden,
                         .head = model.tied_embeddings ? 0 : table,
                         .final_norm = final_norm(model)};
  if (model.is_moe()) counts.expert = expert_weights(model).total();
  counts.total = counts.active = counts.embedding + counts.head + counts.final_norm + model.extra_params;
  for (const auto& [shape, layers] : layer_classes(model)) {
    const double all = layer_parameters(model, shape);
    counts.total += layers * all;
    counts.active += layers * active_layer_parameters(model, shape);
    double& kind = shape.feed == FeedForward::moe ? counts.moe_layer : counts.dense_layer;
    if (kind == 0) kind = all;
    if (counts.attention == 0 && shape.mixer == Mixer::attention)
      counts.attention = mixer_weights(model, shape).total();
  }
  counts.mtp = model.mtp_layers * mtp_module(model);
  return counts;
}

}  // namespace meshwright::workload
