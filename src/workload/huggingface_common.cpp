// The keys that mean the same in every family, under all their spellings.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "meshwright/core/limits.hpp"
#include "meshwright/core/text.hpp"
#include "meshwright/workload/presets.hpp"
#include "workload/huggingface.hpp"

namespace meshwright::workload {
namespace {

using Keys = std::initializer_list<std::string_view>;

constexpr int most = 1 << 28;  ///< of a size; what a model may have is checked when it is whole

/// A size that the file must give unless the family's configuration class has a default for it.
int size(const Reader& config, const char* what, Keys keys, int fallback, Transformer& model, int largest = most) {
  if (const auto found = first_of(config, keys)) return found->integer(1, largest);
  std::string spellings;
  for (const std::string_view key : keys) spellings += (spellings.empty() ? "" : ", ") + std::string(key);
  if (fallback == 0) config.fail(fmt::format("{} is missing, expected one of {}", what, spellings));
  model.assumptions.push_back(
      fmt::format("{} is missing ({}): {}, the default of the family's configuration class, is assumed", what,
                  spellings, fallback));
  return fallback;
}

void flag(const Reader& config, std::string_view key, bool& value) {
  if (!key.empty()) value = config.boolean_or(key, value);
}

void read_sizes(const Reader& config, const Family& family, Transformer& m) {
  m.layers = size(config, "number of layers", {"num_hidden_layers", "n_layer", "n_layers", "num_layers"}, m.layers, m,
                  largest_layers);
  m.hidden = size(config, "hidden size", {"hidden_size", "n_embd", "n_embed", "d_model"}, m.hidden, m);
  m.heads =
      size(config, "number of attention heads", {"num_attention_heads", "n_head", "n_heads", "num_heads"}, m.heads, m);
  m.vocab = size(config, "vocabulary size", {"vocab_size", "padded_vocab_size"}, m.vocab, m);
  const int given = first_integer(config, {"head_dim", "attention_head_dim", "kv_channels"}, m.head_dim);
  if (given == 0 && m.hidden % m.heads != 0) {
    config.fail(
        fmt::format("head_dim is missing, and the {} heads do not divide the hidden size {}", m.heads, m.hidden));
  }
  m.head_dim = given > 0 ? given : m.hidden / m.heads;
  const auto ffn = first_of(config, {"intermediate_size", "ffn_dim", "n_inner", "ffn_hidden_size", "d_ff"});
  if (ffn) {
    m.ffn_hidden = ffn->integer(1, most);
  } else if (m.ffn_hidden == 0) {
    m.ffn_hidden = size_product(config, family.ffn_over_hidden, m.hidden);
  }
}

/// A published model of just these sizes, alike in all layers; null where there is none.
const Transformer* twin_of(const Transformer& m) {
  const auto& all = model_presets();
  const auto twin = std::find_if(all.begin(), all.end(), [&](const Transformer& p) {
    return p.attention != AttentionKind::latent && p.pattern.empty() && p.layers == m.layers && p.hidden == m.hidden &&
           p.heads == m.heads && p.ffn_hidden == m.ffn_hidden && p.vocab == m.vocab;
  });
  return twin == all.end() ? nullptr : &*twin;
}

/// Without the key, configuration classes take a default or as many as heads; but exports of models that are known to
/// have fewer leave the key out too (Llama-2 70B), and then every shape is wrong by the difference.
void read_kv_heads(const Reader& config, const Family& family, Transformer& m) {
  const Keys keys = {"num_key_value_heads", "num_kv_heads", "n_head_kv", "multi_query_group_num", "kv_n_heads"};
  if (first_of(config, keys)) {
    m.kv_heads = first_integer(config, keys, 0);
    if (m.kv_heads == 0) m.kv_heads = m.heads;
    return;
  }
  const bool stated = !family.multi_head && !config.has("kv_lora_rank");
  const auto assume = [&](int heads, std::string_view why) {
    m.kv_heads = heads;
    if (stated) m.assumptions.push_back(fmt::format("num_key_value_heads is missing: {} is assumed, {}", heads, why));
  };
  if (family.traits.kv_heads > 0)
    assume(family.traits.kv_heads, "the default of the family's configuration class");
  else if (const Transformer* twin = stated ? twin_of(m) : nullptr)
    assume(twin->kv_heads, fmt::format("as {} of the same sizes has", twin->name));
  else
    assume(m.heads, "as many as heads");
}

/// One entry a layer where the MoE layers follow no rule of `dense_layers` and `moe_every`; empty where they do.
std::vector<bool> read_moe_layers(const Reader& config, Transformer& m) {
  m.dense_layers = first_integer(config, {"first_k_dense_replace", "moe_layer_start_index"}, m.dense_layers);
  m.moe_every = first_integer(
      config, {"decoder_sparse_step", "interleave_moe_layer_step", "moe_layer_interval", "moe_layer_frequency"}, 1);
  if (m.moe_every < 1) config.fail("experts in every 0th layer, expected a step of at least 1");
  const auto frequency = config.find("moe_layer_freq");
  if (frequency && frequency->is_number()) m.moe_every = frequency->integer(1, most);
  std::vector<bool> is_moe;
  if (frequency && frequency->is_array()) {
    for (const Reader& one : frequency->items()) is_moe.push_back(one.integer() > 0);
    if (static_cast<int>(is_moe.size()) != m.layers) frequency->fail(fmt::format("expected {} entries", m.layers));
    const auto first = std::find(is_moe.begin(), is_moe.end(), true);
    m.dense_layers = static_cast<int>(first - is_moe.begin());
    return std::find(first, is_moe.end(), false) == is_moe.end() ? std::vector<bool>{} : is_moe;
  }
  const auto dense_only = config.find("mlp_only_layers");
  if (!dense_only || dense_only->items().empty()) return {};
  for (int i = 0; i < m.layers; ++i) is_moe.push_back(m.is_moe_layer(i));
  for (const Reader& one : dense_only->items()) is_moe[static_cast<std::size_t>(one.integer(0, m.layers - 1))] = false;
  return is_moe;
}

/// The number, or the first entry of a list with one a layer.
int scalar(const Reader& value) {
  if (!value.is_array()) return value.integer(0, most);
  const std::vector<Reader> items = value.items();
  if (items.empty()) value.fail("found an empty list, expected an entry a layer");
  return items.front().integer(0, most);
}

std::vector<bool> read_experts(const Reader& config, Transformer& m) {
  const auto experts = first_of(config, {"num_local_experts", "num_experts", "n_routed_experts", "moe_num_experts"});
  if (experts) m.experts = scalar(*experts);
  if (m.experts <= 1) {
    m.experts = 0;
    return {};
  }
  const auto top_k = first_of(
      config, {"num_experts_per_tok", "num_experts_per_token", "experts_per_token", "moe_top_k", "moe_topk", "moe_k"});
  if (top_k) m.top_k = scalar(*top_k);
  if (m.top_k == 0) config.fail("experts per token are missing, expected num_experts_per_tok");
  const auto width = first_of(config, {"moe_intermediate_size", "moe_ffn_hidden_size", "expert_intermediate_size"});
  if (width) m.moe_ffn_hidden = scalar(*width);
  if (m.moe_ffn_hidden == 0) m.moe_ffn_hidden = m.ffn_hidden;
  const auto shared_width = first_of(
      config, {"shared_expert_intermediate_size", "shared_intermediate_size", "moe_shared_expert_intermediate_size"});
  const auto shared =
      first_of(config, {"n_shared_experts", "num_shared_experts", "num_shared_expert", "moe_num_shared_experts"});
  if (shared_width) {
    m.shared_expert_ffn_hidden = shared_width->integer(0, most);
  } else if (shared) {
    m.shared_expert_ffn_hidden = size_product(config, scalar(*shared), m.moe_ffn_hidden);
  }
  m.expert_groups = first_integer(config, {"n_group"}, 0);
  m.groups_per_token = first_integer(config, {"topk_group"}, 0);
  if (m.expert_groups <= 1) m.expert_groups = m.groups_per_token = 0;
  return read_moe_layers(config, m);
}

/// One entry a layer where "layer_types" follows no rule of "every n-th is full"; empty where it does.
std::vector<bool> read_layer_types(const Reader& types, Transformer& m) {
  std::vector<bool> full;
  for (const Reader& type : types.items()) {
    const std::string kind = type.string();
    if (kind != "full_attention" && kind != "sliding_attention" && kind != "chunked_attention") return {};
    full.push_back(kind == "full_attention");
  }
  if (static_cast<int>(full.size()) != m.layers) types.fail(fmt::format("expected {} entries", m.layers));
  const auto first = std::find(full.begin(), full.end(), true);
  m.full_attention_every = first == full.end() ? 0 : static_cast<int>(first - full.begin()) + 1;
  for (int i = 0; i < m.layers; ++i) {
    if (full[static_cast<std::size_t>(i)] != layer_shape(m, i).full_attention) return full;
  }
  return {};
}

std::vector<bool> read_window(const Reader& config, Transformer& m) {
  const auto keys = config.keys();
  for (const char* key : {"sliding_window", "sliding_window_size", "attention_chunk_size"}) {
    // null switches the window off; a missing key leaves the class's default.
    if (std::find(keys.begin(), keys.end(), key) != keys.end()) m.sliding_window = config.integer_or(key, 0, 0, most);
  }
  if (!config.boolean_or("use_sliding_window", true)) m.sliding_window = 0;
  const auto every = config.find("sliding_window_pattern");
  if (every && every->is_number()) m.full_attention_every = every->integer(1, most);
  if (m.sliding_window == 0) m.full_attention_every = 0;
  const auto types = config.find("layer_types");
  return types && m.sliding_window > 0 ? read_layer_types(*types, m) : std::vector<bool>{};
}

void set_pattern(Transformer& m, const std::vector<bool>& full, const std::vector<bool>& moe) {
  if (full.empty() && moe.empty()) return;
  std::vector<LayerShape> pattern;
  for (int i = 0; i < m.layers; ++i) {
    const auto at = static_cast<std::size_t>(i);
    LayerShape shape = layer_shape(m, i);
    if (!full.empty()) shape.full_attention = full[at];
    if (!moe.empty()) shape.feed = moe[at] ? FeedForward::moe : FeedForward::dense;
    pattern.push_back(shape);
  }
  m.pattern = pattern;
}

}  // namespace

std::optional<Reader> first_of(const Reader& config, Keys keys) {
  for (const std::string_view key : keys) {
    if (auto found = config.find(key)) return found;
  }
  return std::nullopt;
}

int size_product(const Reader& config, double a, double b) {
  const double product = std::floor(a * b);
  if (!(product >= 0 && product <= most))
    config.fail(fmt::format("sizes of {:g} times {:g}, expected at most {}", a, b, most));
  return static_cast<int>(product);
}

int first_integer(const Reader& config, Keys keys, int fallback) {
  const auto found = first_of(config, keys);
  return found ? found->integer(0, most) : fallback;
}

void refuse_by_layer(const Reader& config) {
  for (const std::string& key : config.keys()) {
    const auto has = [&](std::string_view part) { return key.find(part) != std::string::npos; };
    const bool size = has("head") || has("hidden") || has("intermediate") || has("ffn") || has("d_model");
    const bool by_layer = has("per_layer") || has("by_layer") || has("layerwise") || has("per_block");
    const auto value = config.find(key);
    if (!size || !value) continue;
    bool differs = by_layer && !value->is_number() && !value->is_boolean();
    if (value->is_array() && !value->items().empty() && value->items().front().is_number())
      for (const Reader& one : value->items()) differs = differs || one.dump() != value->items().front().dump();
    if (differs)
      value->fail(
          fmt::format("'{}' differs by layer, which can't be read: every layer of a family that is supported has "
                      "the same heads and widths",
                      printable(key)));
  }
}

void read_common(const Reader& config, const Family& family, Transformer& model) {
  read_sizes(config, family, model);
  read_kv_heads(config, family, model);
  flag(config, "tie_word_embeddings", model.tied_embeddings);
  flag(config, family.bias.qkv, model.qkv_bias);
  flag(config, family.bias.output, model.attention_output_bias);
  flag(config, family.bias.mlp, model.mlp_bias);
  flag(config, family.qk_norm_key, model.qk_norm);
  const std::vector<bool> moe = read_experts(config, model), full = read_window(config, model);
  set_pattern(model, full, moe);
  model.mtp_layers = first_integer(config, {"num_nextn_predict_layers", "mtp_num_hidden_layers"}, 0);
}

}  // namespace meshwright::workload
