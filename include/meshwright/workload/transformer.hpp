#pragma once
// A decoder-only transformer: the shapes that decide parameters, FLOPs and bytes.
#include <string>
#include <string_view>
#include <vector>

namespace meshwright {

enum class AttentionKind { multi_head, grouped_query, latent };  // MQA is grouped_query with one kv head

/// Multi-head latent attention (DeepSeek-V2): low-rank q and kv, rope dimensions apart.
struct LatentAttention {
  int q_lora_rank = 0;  ///< 0 = q is a full projection
  int kv_lora_rank = 0;
  int qk_nope_head_dim = 0, qk_rope_head_dim = 0, v_head_dim = 0;
};

/// All counts are of one layer unless said otherwise. Valid after `check` (every reader calls it).
struct Transformer {
  std::string name, family;  ///< family: "llama", "gpt", "mixtral", "deepseek", ...
  int layers = 0;            ///< transformer blocks, without MTP
  int hidden = 0;
  int ffn_hidden = 0;  ///< dense MLP's inner width
  int heads = 0, kv_heads = 0, head_dim = 0;
  int vocab = 0;          ///< before padding
  bool gated_mlp = true;  ///< SwiGLU and kin: three matrices instead of two
  bool tied_embeddings = false;
  bool qkv_bias = false, attention_output_bias = false, mlp_bias = false;
  bool layer_norm_bias = false;  ///< LayerNorm with bias instead of RMSNorm
  int norms_per_layer = 2;       ///< 4 for sandwich norms (Gemma 2)
  bool qk_norm = false;
  int position_embeddings = 0;  ///< learned positions (GPT-2, OPT); 0 = rotary or ALiBi

  AttentionKind attention = AttentionKind::grouped_query;
  LatentAttention latent;
  int sliding_window = 0;        ///< 0 = full attention
  int full_attention_every = 0;  ///< with a window: every n-th layer is full (0 = none; 1 = all)

  int experts = 0, top_k = 0;        ///< 0 = dense
  int moe_ffn_hidden = 0;            ///< one expert's inner width
  int shared_expert_ffn_hidden = 0;  ///< sum of shared experts
  int dense_layers = 0;              ///< leading dense layers of an MoE
  int moe_every = 1;                 ///< every n-th of the remaining layers is MoE
  bool router_bias = false;
  int expert_groups = 0, groups_per_token = 0;  ///< node-limited routing (DeepSeek-V3: 8, 4); 0 = none
  int mtp_layers = 0;                           ///< multi-token-prediction modules

  /// Parameters that no field above explains (per layer and for the whole model): router biases, sinks, extra norms.
  double extra_params_per_layer = 0, extra_params = 0;
  double published_params = 0, published_active = 0;  ///< as published; 0 = unknown. For reports only.

  bool is_moe() const { return experts > 0; }
  int moe_layers() const;  ///< number of MoE blocks
  bool is_moe_layer(int layer) const;
};

/// Throws Error(where, ...) that names the first inconsistent field.
void check(const Transformer& model, const std::string& where);

/// Parameter counts in elements.
struct ParameterCounts {
  double embedding = 0;    ///< input embedding (and learned positions)
  double head = 0;         ///< output projection; 0 when tied
  double dense_layer = 0;  ///< one dense block
  double moe_layer = 0;    ///< one MoE block, all experts
  double attention = 0;    ///< attention part of one block
  double expert = 0;       ///< one routed expert
  double final_norm = 0;
  double mtp = 0;     ///< all MTP modules
  double total = 0;   ///< as model cards count: without MTP
  double active = 0;  ///< per token: top_k and shared experts, all attention, embeddings and head
};
ParameterCounts parameter_counts(const Transformer& model);

/// Conventions by which sources count model FLOPs.
enum class FlopsConvention {
  causal,                   ///< 6N + 6Lhs: matmul parameters with the head, causal half of attention (Megatron-Bridge)
  full_attention,           ///< 6N + 12Lhs (NeMo docs, torchtitan, llm-foundry, nanotron)
  hardware_full_recompute,  ///< 96BsLh^2(1 + s/6h + V/16Lh) (Megatron SC'21)
};
std::string_view name(FlopsConvention convention);
/// Model FLOPs per token of forward and backward.
double flops_per_token(const Transformer& model, int seq_len, FlopsConvention convention);

}  // namespace meshwright
