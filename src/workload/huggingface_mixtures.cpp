// Quirks of mixtures of experts, latent attention and hybrids.
#include <fmt/format.h>

#include <algorithm>

#include "workload/huggingface.hpp"
#include "workload/huggingface_quirks.hpp"

namespace meshwright::workload {

void latent(const Reader& config, Transformer& m) {
  m.attention = AttentionKind::latent;
  LatentAttention& a = m.latent;
  const auto keys = config.keys();
  a.q_lora_rank = config.integer_or("q_lora_rank", 0);
  if (std::find(keys.begin(), keys.end(), "q_lora_rank") == keys.end()) {
    m.assumptions.push_back("q_lora_rank is missing: a full query projection is assumed");
  }
  a.kv_lora_rank = config.at("kv_lora_rank").integer(1);
  a.qk_nope_head_dim = config.at("qk_nope_head_dim").integer(1);
  a.qk_rope_head_dim = config.at("qk_rope_head_dim").integer(0);
  a.v_head_dim = config.integer_or("v_head_dim", m.hidden / m.heads);
  m.kv_heads = m.heads;
  m.head_dim = a.qk_nope_head_dim + a.qk_rope_head_dim;
  if (config.has("index_topk")) {
    m.sparse = {.heads = config.at("index_n_heads").integer(1),
                .head_dim = config.at("index_head_dim").integer(1),
                .top_k = config.at("index_topk").integer(1)};
  }
}

// "intermediate_size" is the experts' and the shared expert's width, "intermediate_size_mlp" the dense layers'.
void llama4(const Reader& config, Transformer& m) {
  if (!m.is_moe()) return;
  m.shared_expert_ffn_hidden = m.moe_ffn_hidden;
  m.ffn_hidden = config.integer_or("intermediate_size_mlp", 16384);
}

// One learned attention sink a head.
void gpt_oss(const Reader&, Transformer& m) { m.extra_params_per_layer = m.heads; }

void minimax_m2(const Reader& config, Transformer& m) {
  if (!config.boolean_or("use_mtp", false)) return;
  m.mtp_layers =
      size_product(config, config.integer_or("num_mtp_modules", 0), config.integer_or("mtp_transformer_layers", 1));
}

void dbrx(const Reader& config, Transformer& m) {
  m.kv_heads = config.at("attn_config").integer_or("kv_n_heads", 1, 1);
  const Reader feed = config.at("ffn_config");
  m.moe_ffn_hidden = feed.at("ffn_hidden_size").integer(1);
  m.experts = feed.at("moe_num_experts").integer(1);
  m.top_k = feed.at("moe_top_k").integer(1);
}

// Every MoE block also has a dense MLP beside it, as wide as the hidden size, with a norm of its own.
void arctic(const Reader& config, Transformer& m) {
  if (!config.boolean_or("parallel_attn_mlp_res", true)) return;
  m.shared_expert_ffn_hidden = m.hidden;
  m.norms_per_layer = 3;
}

// Window layers have key-value heads of their own; 1 in the pattern stands for a window.
void mimo_v2(const Reader& config, Transformer& m) {
  m.value_head_dim = config.integer_or("v_head_dim", m.head_dim, 1);
  for (const auto& [window, full] : {std::pair{"swa_num_attention_heads", m.heads}, {"swa_head_dim", m.head_dim}}) {
    if (config.integer_or(window, full) != full) config.at(window).fail("other query heads in window layers");
  }
  const Reader pattern = config.at("hybrid_layer_pattern");
  const auto windows = pattern.items();
  if (static_cast<int>(windows.size()) != m.layers) pattern.fail(fmt::format("expected {} entries", m.layers));
  std::vector<LayerShape> shapes;
  for (int i = 0; i < m.layers; ++i) {
    LayerShape shape = layer_shape(m, i);
    shape.full_attention = windows[static_cast<std::size_t>(i)].integer() == 0;
    if (!shape.full_attention) shape.kv_heads = config.integer_or("swa_num_key_value_heads", m.kv_heads, 1);
    shapes.push_back(shape);
  }
  m.pattern = shapes;
}

void phimoe(const Reader& config, Transformer& m) {
  if (config.boolean_or("lm_head_bias", false)) m.extra_params += m.vocab;
}

void hunyuan(const Reader& config, Transformer& m) {
  if (config.boolean_or("use_cla", false)) {
    config.at("use_cla").fail("family 'hunyuan' with keys and values shared between layers is not supported");
  }
  if (!m.is_moe()) return;
  const auto shared = config.find("num_shared_expert");
  const std::vector<Reader> by_layer = shared && shared->is_array() ? shared->items() : std::vector<Reader>{};
  if (shared && shared->is_array() && by_layer.empty()) shared->fail("found an empty list, expected an entry a layer");
  const int count = !shared ? 1 : (by_layer.empty() ? *shared : by_layer.front()).integer();
  m.shared_expert_ffn_hidden =
      config.boolean_or("use_mixed_mlp_moe", true) ? size_product(config, count, m.ffn_hidden) : 0;
}

void qwen3_next(const Reader& config, Transformer& m) {
  qwen2_window(config, m);
  StateSpace& s = m.state_space;
  s.state = config.integer_or("linear_key_head_dim", 128, 1);
  s.groups = config.integer_or("linear_num_key_heads", 16, 1);
  s.heads = config.integer_or("linear_num_value_heads", 32, 1);
  s.head_dim = config.integer_or("linear_value_head_dim", 128, 1);
  s.inner = size_product(config, s.heads, s.head_dim);
  s.conv_kernel = config.integer_or("linear_conv_kernel_dim", 4, 1);
  s.conv_bias = false;
  const int every = config.integer_or("full_attention_interval", 4, 1);
  const auto types = config.find("layer_types");
  const std::vector<Reader> kinds = types ? types->items() : std::vector<Reader>{};
  if (types && static_cast<int>(kinds.size()) != m.layers) types->fail(fmt::format("expected {} entries", m.layers));
  std::vector<LayerShape> pattern;
  for (int i = 0; i < m.layers; ++i) {
    LayerShape shape = layer_shape(m, i);
    const bool full = types ? kinds[static_cast<std::size_t>(i)].string() == "full_attention" : (i + 1LL) % every == 0;
    if (!full) shape.mixer = Mixer::gated_delta;
    pattern.push_back(shape);
  }
  m.pattern = pattern;
}

void jamba(const Reader& config, Transformer& m) {
  StateSpace& s = m.state_space;
  s.inner = size_product(config, config.integer_or("mamba_expand", 2, 1), m.hidden);
  s.state = config.integer_or("mamba_d_state", 16, 1);
  s.conv_kernel = config.integer_or("mamba_d_conv", 4, 1);
  s.conv_bias = config.boolean_or("mamba_conv_bias", true);
  const auto rank = config.find("mamba_dt_rank");
  s.dt_rank = rank && rank->is_number() ? rank->integer(1) : (m.hidden + 15) / 16;
  s.inner_norms = true;
  const int attention_period = config.integer_or("attn_layer_period", 8, 1);
  const int attention_offset = config.integer_or("attn_layer_offset", 4);
  const int expert_period = config.integer_or("expert_layer_period", 2, 1);
  const int expert_offset = config.integer_or("expert_layer_offset", 1);
  for (int i = 0; i < m.layers; ++i) {
    const bool moe = m.is_moe() && i % expert_period == expert_offset;
    m.pattern.push_back({.mixer = i % attention_period == attention_offset ? Mixer::attention : Mixer::mamba,
                         .feed = moe ? FeedForward::moe : FeedForward::dense});
  }
}

namespace {

void mamba2_sizes(const Reader& config, Transformer& m) {
  StateSpace& s = m.state_space;
  s.heads = first_of(config, {"mamba_num_heads", "mamba_n_heads"}).value_or(config).integer(1);
  const auto head_dim = first_of(config, {"mamba_head_dim", "mamba_d_head"});
  const int expand = first_integer(config, {"mamba_expand", "expand"}, 2);
  s.head_dim =
      head_dim && head_dim->is_number() ? head_dim->integer(1) : size_product(config, expand, m.hidden) / s.heads;
  s.inner = size_product(config, s.heads, s.head_dim);
  s.groups = first_integer(config, {"n_groups", "mamba_n_groups"}, 1);
  s.state = first_integer(config, {"ssm_state_size", "mamba_d_state"}, 128);
  s.conv_kernel = first_integer(config, {"conv_kernel", "mamba_d_conv"}, 4);
  s.conv_bias = config.boolean_or("use_conv_bias", config.boolean_or("mamba_conv_bias", true));
}

/// The single-mixer blocks of Nemotron-H: M Mamba-2, * attention, - MLP, E experts.
LayerShape block_of(char letter, const Reader& pattern) {
  switch (letter) {
    case 'M':
      return {.mixer = Mixer::mamba2, .feed = FeedForward::none};
    case '*':
      return {.mixer = Mixer::attention, .feed = FeedForward::none};
    case '-':
      return {.mixer = Mixer::none, .feed = FeedForward::dense};
    case 'E':
      return {.mixer = Mixer::none, .feed = FeedForward::moe};
    default:
      pattern.fail(fmt::format("unknown block '{}', expected M, *, - or E", letter));
  }
}

}  // namespace

void nemotron_h(const Reader& config, Transformer& m) {
  m.expert_hidden = config.integer_or("moe_latent_size", 0);
  mamba2_sizes(config, m);
  if (const auto blocks = config.find("layers_block_type")) {
    const std::vector<std::string> names = {"mamba", "attention", "mlp", "moe"};
    for (const Reader& block : blocks->items()) m.pattern.push_back(block_of("M*-E"[block.one_of(names)], block));
  } else {
    const Reader pattern = config.at("hybrid_override_pattern");
    for (const char letter : pattern.string()) m.pattern.push_back(block_of(letter, pattern));
  }
  m.dense_layers = 0;
}

void bamba(const Reader& config, Transformer& m) {
  mamba2_sizes(config, m);
  m.pattern.assign(static_cast<std::size_t>(m.layers), {.mixer = Mixer::mamba2});
  for (const Reader& index : config.at("attn_layer_indices").items())
    m.pattern[static_cast<std::size_t>(index.integer(0, m.layers - 1))].mixer = Mixer::attention;
}

void granite_hybrid(const Reader& config, Transformer& m) {
  mamba2_sizes(config, m);
  m.rotary = config.string_or("position_embedding_type", "rope") == "rope";
  if (!m.is_moe()) m.ffn_hidden = config.at("shared_intermediate_size").integer(1);
  const auto types = first_of(config, {"layer_types", "layers_block_type"});
  if (!types) config.fail("layer_types is missing, expected 'mamba' or 'attention' for each layer");
  for (const Reader& type : types->items()) {
    m.pattern.push_back({.mixer = type.string() == "attention" ? Mixer::attention : Mixer::mamba2,
                         .feed = m.is_moe() ? FeedForward::moe : FeedForward::dense});
  }
}

}  // namespace meshwright::workload
