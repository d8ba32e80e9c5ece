#pragma once
// The one list of a model's fields: reading and writing are folds over it.
#include "meshwright/workload/transformer.hpp"

namespace meshwright::workload {

/// Calls visit(key, member) for every scalar field. `Model` is Transformer or const Transformer.
template <class Model, class Visit>
void visit_fields(Model& m, Visit&& visit) {
  visit("layers", m.layers);
  visit("hidden", m.hidden);
  visit("ffn_hidden", m.ffn_hidden);
  visit("heads", m.heads);
  visit("kv_heads", m.kv_heads);
  visit("head_dim", m.head_dim);
  visit("value_head_dim", m.value_head_dim);
  visit("vocab", m.vocab);
  visit("gated_mlp", m.gated_mlp);
  visit("tied_embeddings", m.tied_embeddings);
  visit("qkv_bias", m.qkv_bias);
  visit("attention_output_bias", m.attention_output_bias);
  visit("mlp_bias", m.mlp_bias);
  visit("layer_norm_bias", m.layer_norm_bias);
  visit("norms_per_layer", m.norms_per_layer);
  visit("norm_weights", m.norm_weights);
  visit("qk_norm", m.qk_norm);
  visit("qk_norm_full", m.qk_norm_full);
  visit("attention_gate", m.attention_gate);
  visit("rotary", m.rotary);
  visit("parallel_block", m.parallel_block);
  visit("dropout", m.dropout);
  visit("position_embeddings", m.position_embeddings);
  visit("sliding_window", m.sliding_window);
  visit("full_attention_every", m.full_attention_every);
  visit("chunked_window", m.chunked_window);
  visit("experts", m.experts);
  visit("top_k", m.top_k);
  visit("moe_ffn_hidden", m.moe_ffn_hidden);
  visit("expert_hidden", m.expert_hidden);
  visit("shared_expert_ffn_hidden", m.shared_expert_ffn_hidden);
  visit("dense_layers", m.dense_layers);
  visit("moe_every", m.moe_every);
  visit("router_bias", m.router_bias);
  visit("shared_expert_gate", m.shared_expert_gate);
  visit("expert_groups", m.expert_groups);
  visit("groups_per_token", m.groups_per_token);
  visit("mtp_layers", m.mtp_layers);
  visit("extra_params_per_layer", m.extra_params_per_layer);
  visit("extra_params", m.extra_params);
  visit("published_params", m.published_params);
  visit("published_active", m.published_active);
}

template <class Part, class Visit>
void visit_latent(Part& a, Visit&& visit) {
  visit("q_lora_rank", a.q_lora_rank);
  visit("kv_lora_rank", a.kv_lora_rank);
  visit("qk_nope_head_dim", a.qk_nope_head_dim);
  visit("qk_rope_head_dim", a.qk_rope_head_dim);
  visit("v_head_dim", a.v_head_dim);
}

template <class Part, class Visit>
void visit_sparse(Part& s, Visit&& visit) {
  visit("heads", s.heads);
  visit("head_dim", s.head_dim);
  visit("top_k", s.top_k);
}

template <class Part, class Visit>
void visit_state_space(Part& s, Visit&& visit) {
  visit("inner", s.inner);
  visit("state", s.state);
  visit("heads", s.heads);
  visit("head_dim", s.head_dim);
  visit("groups", s.groups);
  visit("conv_kernel", s.conv_kernel);
  visit("dt_rank", s.dt_rank);
  visit("conv_bias", s.conv_bias);
  visit("inner_norms", s.inner_norms);
}

inline constexpr std::string_view mixer_names[] = {"attention", "mamba", "mamba2", "gated_delta", "none"};
inline constexpr std::string_view feed_names[] = {"dense", "moe", "none"};

}  // namespace meshwright::workload
