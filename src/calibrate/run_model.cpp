// The model of a training record: sizes of one layer as SCHEMA says, the rest by what its fields imply.
#include <tuple>
#include <utility>

#include "calibrate/run_layout.hpp"
#include "meshwright/workload/presets.hpp"

namespace meshwright::calibrate {
namespace {

void read_latent(const Reader& model, Transformer& t) {
  const auto mla = model.find("mla");
  if (!mla) return;
  t.attention = AttentionKind::latent;
  t.latent = {.q_lora_rank = mla->integer_or("q_lora_rank", 0),
              .kv_lora_rank = mla->integer_or("kv_lora_rank", 0),
              .qk_nope_head_dim = mla->integer_or("qk_nope_head_dim", 0),
              .qk_rope_head_dim = mla->integer_or("qk_rope_head_dim", 0),
              .v_head_dim = mla->integer_or("v_head_dim", 0)};
}

void read_experts(const Reader& model, Transformer& t) {
  t.experts = model.integer_or("experts", 0);
  if (t.experts == 0) return;
  t.top_k = model.integer_or("top_k", 1);
  t.moe_ffn_hidden = model.integer_or("moe_ffn_hidden", t.ffn_hidden);
  t.shared_expert_ffn_hidden = model.integer_or("shared_expert_ffn_hidden", 0);
  t.dense_layers = model.integer_or("dense_layers", 0);
  if (t.ffn_hidden == 0) t.ffn_hidden = t.moe_ffn_hidden;
}

/// Biases, which records don't tell, as the preset of the same sizes has them.
void add_biases(Transformer& t) {
  const auto sizes = [](const Transformer& m) {
    const int inner = m.is_moe() ? m.moe_ffn_hidden : m.ffn_hidden;
    return std::tuple{m.hidden, m.heads, m.kv_heads, m.head_dim, m.vocab, m.experts, m.top_k, inner, m.gated_mlp};
  };
  for (const Transformer& known : model_presets()) {
    if (sizes(known) != sizes(t)) continue;
    t.qkv_bias = known.qkv_bias, t.attention_output_bias = known.attention_output_bias;
    t.mlp_bias = known.mlp_bias, t.router_bias = known.router_bias;
    return;
  }
}

/// What a record calls a hybrid in words, as the preset of that name, where the sizes that it tells are the preset's.
std::optional<Transformer> known_hybrid(const Reader& model) {
  const Transformer* preset = find_preset(model.string_or("name", ""));
  if (preset == nullptr) return std::nullopt;
  Transformer t = *preset;
  for (const auto& [key, size] :
       {std::pair{"layers", t.layers}, std::pair{"hidden", t.hidden}, std::pair{"heads", t.heads},
        std::pair{"kv_heads", t.kv_heads}, std::pair{"experts", t.experts}, std::pair{"top_k", t.top_k}}) {
    if (model.integer_or(key, size) != size) return std::nullopt;
  }
  t.name = model.string_or("name", "");
  t.vocab = model.integer_or("vocab", t.vocab, 1);  // stacks pad it
  return t;
}

}  // namespace

std::optional<Transformer> model_of_record(const Reader& model, std::string& why_not) {
  if (const auto hybrid = model.find("hybrid")) {
    if (auto known = known_hybrid(model)) return known;
    why_not = "model is not a plain transformer: " + (hybrid->is_string() ? hybrid->string() : "hybrid");
    return std::nullopt;
  }
  for (const char* key : {"layers", "hidden", "heads", "vocab"}) {
    if (!model.has(key)) {
      why_not = std::string("model shape not published: no ") + key;
      return std::nullopt;
    }
  }
  Transformer t;
  t.name = model.string_or("name", "");
  t.layers = model.integer_or("layers", 1, 1);
  t.hidden = model.integer_or("hidden", 1, 1);
  t.heads = model.integer_or("heads", 1, 1);
  t.kv_heads = model.integer_or("kv_heads", t.heads, 1);
  t.head_dim = model.integer_or("head_dim", t.hidden / t.heads, 1);
  t.vocab = model.integer_or("vocab", 1, 1);
  t.gated_mlp = model.boolean_or("gated_mlp", true);
  t.ffn_hidden = model.integer_or("ffn_hidden", 0);
  t.tied_embeddings = model.boolean_or("tied_embeddings", !t.gated_mlp);
  t.attention = t.kv_heads == t.heads ? AttentionKind::multi_head : AttentionKind::grouped_query;
  t.mtp_layers = model.integer_or("mtp_layers", 0);
  if (!t.gated_mlp) t.layer_norm_bias = t.mlp_bias = t.qkv_bias = t.attention_output_bias = true;
  read_latent(model, t);
  read_experts(model, t);
  if (t.ffn_hidden == 0) t.ffn_hidden = 4 * t.hidden;
  add_biases(t);
  t.sliding_window = model.integer_or("sliding_window", 0);
  const int window_layers = model.integer_or("swa_layers", 0);
  if (t.sliding_window > 0 && window_layers > 0 && window_layers < t.layers) {
    t.full_attention_every = t.layers / (t.layers - window_layers);
  }
  t.published_params = model.number_or("params_total_b", 0) * 1e9;
  try {
    check(t, model.where());
  } catch (const Error& error) {
    why_not = error.what_happened();  // published sizes that contradict each other or leave one out
    return std::nullopt;
  }
  return t;
}

}  // namespace meshwright::calibrate
