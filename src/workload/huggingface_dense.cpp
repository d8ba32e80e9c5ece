// Quirks of dense families.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "workload/huggingface.hpp"
#include "workload/huggingface_quirks.hpp"

namespace meshwright::workload {

void learned(const Reader& config, Transformer& m) {
  const int given = first_integer(config, {"n_positions", "max_position_embeddings", "n_ctx"}, 0);
  if (given > 0) {
    m.position_embeddings = given;
  } else {
    m.assumptions.push_back(
        fmt::format("n_positions is missing: {} learned positions, the class's default", m.position_embeddings));
  }
}

void openai_gpt(const Reader& config, Transformer& m) {
  learned(config, m);
  m.extra_params -= 2.0 * m.hidden;
}

void bigcode(const Reader& config, Transformer& m) {
  learned(config, m);
  if (!config.has("num_key_value_heads")) m.kv_heads = config.boolean_or("multi_query", true) ? 1 : m.heads;
}

void gpt_neo(const Reader& config, Transformer& m) {
  learned(config, m);
  m.qkv_bias = false;
  // "global" and "local" blocks in turn.
  m.sliding_window = config.integer_or("window_size", 256);
  m.full_attention_every = 2;
}

void head_bias(const Reader&, Transformer& m) { m.extra_params += m.vocab; }

void neox(const Reader& config, Transformer& m) { m.parallel_block = config.boolean_or("use_parallel_residual", true); }

void opt(const Reader& config, Transformer& m) {
  m.position_embeddings = config.integer_or("max_position_embeddings", m.position_embeddings) + 2;
  const double h = m.hidden, narrow = config.integer_or("word_embed_proj_dim", m.hidden);
  if (narrow != h) m.extra_params += m.vocab * (narrow - h) + 2 * narrow * h;  // projections in and out (OPT-350m)
  const bool final_norm =
      config.boolean_or("do_layer_norm_before", true) && !config.boolean_or("_remove_final_layer_norm", false);
  if (!final_norm) m.extra_params -= 2 * h;
  if (!config.boolean_or("enable_bias", true)) m.qkv_bias = m.attention_output_bias = m.mlp_bias = false;
}

// A LayerNorm behind the embedding.
void bloom(const Reader&, Transformer& m) { m.extra_params += 2.0 * m.hidden; }

void stablelm(const Reader& config, Transformer& m) {
  if (!config.boolean_or("use_parallel_residual", false)) return;
  m.parallel_block = true;
  m.norms_per_layer = 1;
}

// Three generations: multi-query with one norm (7B), grouped with two parallel norms (40B, 180B) or one (11B).
void falcon(const Reader& config, Transformer& m) {
  const bool grouped_file = config.string_or("model_type", "") == "RefinedWeb";
  const bool grouped = config.boolean_or("new_decoder_architecture", grouped_file);
  const auto kv = first_of(config, {"num_kv_heads", "n_head_kv", "num_key_value_heads"});
  if (!grouped) m.kv_heads = config.boolean_or("multi_query", true) ? 1 : m.heads;
  if (!kv && !config.has("multi_query")) {
    m.assumptions.push_back(fmt::format(
        "num_kv_heads is missing: {} key-value heads, the default of Falcon's configuration class; Falcon-40B has 8",
        m.kv_heads));
  }
  m.parallel_block = grouped || config.boolean_or("parallel_attn", true);
  const int parallel_norms = config.integer_or("num_ln_in_parallel_attn", grouped ? 2 : 1);
  m.norms_per_layer = m.parallel_block ? parallel_norms : 2;
  m.rotary = !config.boolean_or("alibi", false);
}

void mpt(const Reader& config, Transformer& m) {
  const double ratio = config.number_or("expansion_ratio", 4);
  m.ffn_hidden = size_product(config, ratio, m.hidden);
  if (!config.boolean_or("no_bias", true)) {
    m.qkv_bias = m.attention_output_bias = m.mlp_bias = m.layer_norm_bias = true;
  }
  const auto attention = config.find("attn_config");
  if (!attention) return;
  const std::string type = attention->string_or("attn_type", "multihead_attention");
  m.kv_heads = type == "multiquery_attention" ? 1 : attention->integer_or("kv_n_heads", m.heads);
  m.rotary = attention->boolean_or("rope", false);
  m.qk_norm = m.qk_norm_full = attention->boolean_or("qk_ln", false);
  if (!attention->boolean_or("alibi", false) && !m.rotary && config.boolean_or("learned_pos_emb", true)) {
    m.position_embeddings = config.integer_or("max_seq_len", 2048);
  }
}

void phi3small(const Reader& config, Transformer& m) { m.ffn_hidden = config.at("ff_intermediate_size").integer(1); }

// ChatGLM2, 3 and GLM-4 share one class; the first ChatGLM has other keys, plain MLPs and LayerNorm.
void chatglm(const Reader& config, Transformer& m) {
  if (const auto inner = config.find("inner_hidden_size")) {
    m.ffn_hidden = inner->integer(1);
    m.gated_mlp = false;
    m.tied_embeddings = true;
    m.qkv_bias = m.attention_output_bias = m.mlp_bias = m.layer_norm_bias = true;
    return;
  }
  if (!config.boolean_or("multi_query_attention", true)) m.kv_heads = m.heads;
  m.attention_output_bias = m.mlp_bias = config.boolean_or("add_bias_linear", false);
  m.qkv_bias = m.mlp_bias || config.boolean_or("add_qkv_bias", true);
  m.layer_norm_bias = !config.boolean_or("rmsnorm", true);
}

// AI2's own format: the MLP's width counts gate and input together.
void hf_olmo(const Reader& config, Transformer& m) {
  const double ratio = config.number_or("mlp_ratio", 4);
  const int both = config.integer_or("mlp_hidden_size", size_product(config, ratio, m.hidden));
  m.gated_mlp = config.string_or("activation_type", "swiglu") == "swiglu";
  m.ffn_hidden = m.gated_mlp ? both / 2 : both;
  m.vocab = config.integer_or("embedding_size", m.vocab);
  m.tied_embeddings = config.boolean_or("weight_tying", true);
  m.norm_weights = config.boolean_or("layer_norm_with_affine", true);
  if (config.boolean_or("multi_query_attention", false)) m.kv_heads = 1;
}

void exaone4(const Reader& config, Transformer& m) {
  // "LLLG": local blocks and a global one in turn.
  const auto pattern = config.find("sliding_window_pattern");
  if (pattern && pattern->is_string() && m.sliding_window > 0) {
    m.full_attention_every = static_cast<int>(pattern->string().size());
  }
}

void qwen1(const Reader&, Transformer& m) { m.ffn_hidden /= 2; }

// The window is off unless the file switches it on, and then only from max_window_layers on.
void qwen2_window(const Reader& config, Transformer& m) {
  const bool on = config.boolean_or("use_sliding_window", false);
  if (!on) {
    m.sliding_window = m.full_attention_every = 0;
    for (LayerShape& shape : m.pattern) shape.full_attention = true;
  }
  if (!on || m.sliding_window == 0 || config.has("layer_types")) return;
  const int first = config.integer_or("max_window_layers", m.layers);
  std::vector<LayerShape> pattern;
  for (int i = 0; i < m.layers; ++i) {
    pattern.push_back(layer_shape(m, i));
    pattern.back().full_attention = i < first;
  }
  m.pattern = pattern;
}

namespace {

/// Two thirds of mult * hidden, rounded up to a multiple of 256 (DeciLM's modelling code).
int deci_width(const Reader& config, double mult, int hidden) {
  const int width = size_product(config, 2 * mult / 3, hidden);
  return (width + 255) / 256 * 256;
}

LayerShape deci_block(const Reader& block, Transformer& m) {
  const Reader attention = block.at("attention"), feed = block.at("ffn");
  for (const Reader& part : {attention, feed}) {
    if (part.boolean_or("replace_with_linear", false)) part.fail("replace_with_linear is not modelled");
  }
  LayerShape shape;
  if (attention.boolean_or("no_op", false)) {
    shape.mixer = Mixer::none;
  } else {
    shape.kv_heads = m.heads / attention.at("n_heads_in_group").integer(1, m.heads);
  }
  if (feed.boolean_or("no_op", false)) {
    shape.feed = FeedForward::none;
  } else {
    const auto width = feed.find("intermediate_size");
    shape.ffn_hidden = width ? width->integer(1) : deci_width(feed, feed.at("ffn_mult").number(), m.hidden);
  }
  return shape;
}

}  // namespace

void deci(const Reader& config, Transformer& m) {
  std::vector<LayerShape> pattern;
  if (const auto blocks = config.find("block_configs")) {
    for (const Reader& block : blocks->items()) pattern.push_back(deci_block(block, m));
  } else {
    for (const Reader& kv : config.at("num_key_value_heads_per_layer").items()) {
      pattern.push_back({.kv_heads = kv.integer(1, m.heads), .ffn_hidden = m.ffn_hidden});
    }
  }
  m.pattern = pattern;
  int widest = 0, most_kv = 1;
  for (const LayerShape& shape : m.pattern) {
    widest = std::max(widest, shape.ffn_hidden);
    most_kv = std::max(most_kv, shape.kv_heads);
  }
  m.ffn_hidden = widest;
  m.kv_heads = most_kv;
}

}  // namespace meshwright::workload
