#include "meshwright/workload/transformer.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "meshwright/core/error.hpp"
#include "meshwright/core/limits.hpp"
#include "workload/fields.hpp"

namespace meshwright::workload {
namespace {

/// Far beyond any model there is, and small enough that a product of three is a number one can reckon with.
constexpr int most_experts = 65'536, most_heads = 65'536, most_width = 1 << 24;
constexpr int most_tokens = 1 << 28;     ///< of a window or of learned positions
constexpr std::size_t most_kinds = 256;  ///< of blocks
constexpr double most_parameters = 1e18;

int most_of(std::string_view field) {
  for (const std::string_view counts_layers :
       {"layers", "dense_layers", "moe_every", "full_attention_every", "mtp_layers"})
    if (field == counts_layers) return largest_layers;
  for (const std::string_view counts_experts : {"experts", "top_k", "expert_groups", "groups_per_token"})
    if (field == counts_experts) return most_experts;
  if (field == "heads" || field == "kv_heads" || field == "groups") return most_heads;
  if (field == "norms_per_layer") return 64;
  return field == "sliding_window" || field == "position_embeddings" ? most_tokens : most_width;
}

/// Refuses a field that is negative or out of all proportion.
struct Bounds {
  const Transformer& model;
  const std::string& where;
  std::string_view part = "";

  void operator()(std::string_view field, bool) const { static_cast<void>(field); }
  void operator()(std::string_view field, int value) const {
    // The sparse indexer's top_k counts tokens.
    const int most = part == "sparse/" && field == "top_k" ? most_tokens : most_of(field);
    if (value < 0 || value > most)
      refuse(field, fmt::format("{}", value), fmt::format("a whole number from 0 to {}", most));
  }
  void operator()(std::string_view field, double value) const {
    // A narrower embedding has fewer parameters than the sizes say (OPT-350M), never fewer than none.
    const double least = field == "extra_params" ? -1.0 * model.vocab * model.hidden : 0;
    if (!(value >= least && value <= most_parameters))
      refuse(field, fmt::format("{}", value), fmt::format("a number from {:g} to {:g}", least, most_parameters));
  }
  void refuse(std::string_view field, const std::string& found, const std::string& expected) const {
    throw Error(where, fmt::format("model '{}': {}{} is {}, expected {}", model.name, part, field, found, expected));
  }
};

void check_bounds(const Transformer& m, const std::string& where) {
  visit_fields(m, Bounds{m, where});
  visit_latent(m.latent, Bounds{m, where, "latent/"});
  visit_sparse(m.sparse, Bounds{m, where, "sparse/"});
  visit_state_space(m.state_space, Bounds{m, where, "state_space/"});
  for (const LayerShape& shape : m.pattern) {
    Bounds{m, where, "pattern/"}("kv_heads", shape.kv_heads);
    Bounds{m, where, "pattern/"}("ffn_hidden", shape.ffn_hidden);
  }
}

struct Rule {
  bool broken;
  std::string_view field;
  std::string what;
};

std::vector<Rule> size_rules(const Transformer& m) {
  const auto positive = [](int value) { return fmt::format("is {}, expected a positive number", value); };
  return {{m.layers <= 0, "layers", positive(m.layers)},
          {m.hidden <= 0, "hidden", positive(m.hidden)},
          {m.heads <= 0, "heads", positive(m.heads)},
          {m.vocab <= 0, "vocab", positive(m.vocab)},
          {m.head_dim <= 0, "head_dim", positive(m.head_dim)},
          {m.kv_heads <= 0, "kv_heads", positive(m.kv_heads)},
          {m.kv_heads > 0 && m.heads % std::max(m.kv_heads, 1) != 0, "kv_heads",
           fmt::format("is {}, expected a divisor of the {} heads", m.kv_heads, m.heads)},
          {m.ffn_hidden < 0, "ffn_hidden", positive(m.ffn_hidden)},
          {m.norms_per_layer < 0, "norms_per_layer", positive(m.norms_per_layer)},
          {m.sliding_window < 0, "sliding_window", positive(m.sliding_window)}};
}

std::vector<Rule> moe_rules(const Transformer& m) {
  const bool needs_dense = m.pattern.empty() && m.moe_every > 0 && m.moe_layers() < m.layers && m.ffn_hidden <= 0;
  return {{m.experts < 0, "experts", fmt::format("is {}, expected 0 (dense) or more", m.experts)},
          {m.is_moe() && (m.top_k <= 0 || m.top_k > m.experts), "top_k",
           fmt::format("is {}, expected 1 to {} (the experts)", m.top_k, m.experts)},
          {m.is_moe() && m.moe_ffn_hidden <= 0, "moe_ffn_hidden", "is missing, expected the inner width of one expert"},
          {m.moe_every < 1, "moe_every", fmt::format("is {}, expected 1 or more", m.moe_every)},
          {m.dense_layers < 0 || m.dense_layers > m.layers, "dense_layers",
           fmt::format("is {}, expected at most the {} layers", m.dense_layers, m.layers)},
          {needs_dense, "ffn_hidden", "is missing, expected the inner width of the dense layers' MLP"},
          {m.is_moe() && m.expert_groups > 0 && m.experts % std::max(m.expert_groups, 1) != 0, "expert_groups",
           fmt::format("is {}, expected a divisor of the {} experts", m.expert_groups, m.experts)}};
}

std::vector<Rule> attention_rules(const Transformer& m) {
  const LatentAttention& a = m.latent;
  const bool latent = m.attention == AttentionKind::latent;
  const bool recurrent = std::any_of(m.pattern.begin(), m.pattern.end(), [](const LayerShape& s) {
    return s.mixer != Mixer::attention && s.mixer != Mixer::none;
  });
  return {{latent && a.kv_lora_rank <= 0, "latent/kv_lora_rank", "is missing, expected the rank of latent attention"},
          {latent && (a.qk_nope_head_dim <= 0 || a.v_head_dim <= 0), "latent/qk_nope_head_dim",
           "or v_head_dim is missing, expected the head sizes of latent attention"},
          {!m.pattern.empty() && static_cast<int>(m.pattern.size()) != m.layers, "pattern",
           fmt::format("has {} entries, expected one for each of the {} layers", m.pattern.size(), m.layers)},
          {recurrent && m.state_space.inner <= 0, "state_space", "is missing, expected the sizes of the mixers"}};
}

}  // namespace

bool Transformer::is_moe_layer(int layer) const {
  if (!pattern.empty()) return pattern[static_cast<std::size_t>(layer)].feed == FeedForward::moe;
  return is_moe() && layer >= dense_layers && (layer - dense_layers + 1) % moe_every == 0;
}

int Transformer::moe_layers() const {
  if (!is_moe()) return 0;
  if (pattern.empty()) return (layers - dense_layers) / moe_every;
  return static_cast<int>(std::count_if(pattern.begin(), pattern.end(),
                                        [](const LayerShape& shape) { return shape.feed == FeedForward::moe; }));
}

LayerShape layer_shape(const Transformer& model, int layer) {
  if (!model.pattern.empty()) return model.pattern[static_cast<std::size_t>(layer)];
  const int every = model.full_attention_every;
  return {.feed = model.is_moe_layer(layer) ? FeedForward::moe : FeedForward::dense,
          .full_attention = model.sliding_window == 0 || (every > 0 && (layer + 1) % every == 0)};
}

std::vector<LayerClass> layer_classes(const Transformer& model) {
  std::vector<LayerClass> classes;
  for (int layer = 0; layer < model.layers; ++layer) {
    const LayerShape shape = layer_shape(model, layer);
    const auto same =
        std::find_if(classes.begin(), classes.end(), [&](const LayerClass& c) { return c.shape == shape; });
    if (same == classes.end()) {
      classes.push_back({shape, 1});
    } else {
      ++same->layers;
    }
  }
  return classes;
}

void check(const Transformer& model, const std::string& where) {
  check_bounds(model, where);
  for (const auto& rules : {size_rules(model), moe_rules(model), attention_rules(model)}) {
    for (const Rule& rule : rules) {
      if (rule.broken) {
        throw Error(where, fmt::format("model '{}': {} {}", model.name, rule.field, rule.what));
      }
    }
  }
  const std::size_t kinds = layer_classes(model).size();
  if (kinds > most_kinds)
    throw Error(where, fmt::format("model '{}': pattern has {} kinds of blocks, expected at most {}", model.name, kinds,
                                   most_kinds));
}

}  // namespace meshwright::workload
