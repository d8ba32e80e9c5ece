#pragma once
// A decoder-only transformer: the shapes that decide parameters, FLOPs and bytes.
#include <string>
#include <string_view>
#include <vector>

namespace meshwright::workload {

enum class AttentionKind { multi_head, grouped_query, latent };  // MQA is grouped_query with one kv head

/// Multi-head latent attention (DeepSeek-V2): low-rank q and kv, rope dimensions apart.
struct LatentAttention {
  int q_lora_rank = 0;  ///< 0 = q is a full projection
  int kv_lora_rank = 0;
  int qk_nope_head_dim = 0, qk_rope_head_dim = 0, v_head_dim = 0;
};

/// DeepSeek sparse attention (V3.2): a small indexer picks the `top_k` keys that each query attends to.
struct SparseAttention {
  int heads = 0, head_dim = 0, top_k = 0;  ///< top_k = 0: none
};

/// A recurrent mixer in place of attention: Mamba (Gu and Dao 2023), Mamba-2 (Dao and Gu 2024) or gated delta net
/// (Yang et al. 2024). For the delta net `groups` counts key heads, `state` their width, `heads` value heads.
struct StateSpace {
  int inner = 0, state = 0, heads = 0, head_dim = 0, groups = 0;
  int conv_kernel = 0, dt_rank = 0;
  bool conv_bias = true, inner_norms = false;  ///< inner_norms: Jamba's norms of dt, B and C
};

enum class Mixer { attention, mamba, mamba2, gated_delta, none };
enum class FeedForward { dense, moe, none };

/// What one block is made of. Tables of a step are keyed by the distinct shapes of a model; `layer_shape` gives them.
struct LayerShape {
  Mixer mixer = Mixer::attention;
  FeedForward feed = FeedForward::dense;
  bool full_attention = true;  ///< false: the model's sliding window applies
  int kv_heads = 0;            ///< 0 = the model's
  int ffn_hidden = 0;          ///< of a dense feed-forward; 0 = the model's
  friend bool operator==(const LayerShape&, const LayerShape&) = default;
};

/// All counts are of one layer unless said otherwise. Valid after `check` (every reader calls it).
struct Transformer {
  std::string name{}, family{};  ///< family: "llama", "gpt", "mixtral", "deepseek", ...
  std::vector<std::string> aliases{};
  std::string source{};  ///< title and address of what the sizes were read from
  int layers = 0;        ///< transformer blocks, without MTP
  int hidden = 0;
  int ffn_hidden = 0;  ///< dense MLP's inner width
  int heads = 0, kv_heads = 0, head_dim = 0;
  int value_head_dim = 0;  ///< 0 = head_dim; latent attention has its own
  int vocab = 0;           ///< before padding
  bool gated_mlp = true;   ///< SwiGLU and kin: three matrices instead of two
  bool tied_embeddings = false;
  bool qkv_bias = false, attention_output_bias = false, mlp_bias = false;
  bool layer_norm_bias = false;  ///< LayerNorm with bias instead of RMSNorm
  int norms_per_layer = 2;       ///< 4 for sandwich norms (Gemma 2)
  bool norm_weights = true;      ///< false: norms without parameters (OLMo 1)
  bool qk_norm = false;
  bool qk_norm_full = false;    ///< over the whole projection (OLMo 2, MiniMax) instead of one head
  bool attention_gate = false;  ///< q projection twice as wide, the second half gates the output (Qwen3-Next)
  bool rotary = true;           ///< false: learned positions or ALiBi, no rope kernel
  bool parallel_block = false;  ///< attention and MLP read the same input (GPT-J, PaLM, Falcon)
  bool dropout = false;         ///< hidden and attention dropout in training (GPT-2, GPT-3, Megatron)
  int position_embeddings = 0;  ///< learned positions (GPT-2, OPT); 0 = rotary or ALiBi

  AttentionKind attention = AttentionKind::grouped_query;
  LatentAttention latent{};
  SparseAttention sparse{};
  StateSpace state_space{};
  int sliding_window = 0;        ///< 0 = full attention
  int full_attention_every = 0;  ///< with a window: every n-th layer is full (0 = none; 1 = all)
  bool chunked_window = false;   ///< blocks of the window's size instead of a sliding one (Llama 4)

  int experts = 0, top_k = 0;        ///< 0 = dense
  int moe_ffn_hidden = 0;            ///< one expert's inner width
  int expert_hidden = 0;             ///< width of the experts' input and output, projected from hidden; 0 = hidden
  int shared_expert_ffn_hidden = 0;  ///< sum of shared experts
  int dense_layers = 0;              ///< leading dense layers of an MoE
  int moe_every = 1;                 ///< every n-th of the remaining layers is MoE
  bool router_bias = false;
  bool shared_expert_gate = false;              ///< a sigmoid gate on the shared expert (Qwen2-MoE)
  int expert_groups = 0, groups_per_token = 0;  ///< node-limited routing (DeepSeek-V3: 8, 4); 0 = none
  int mtp_layers = 0;                           ///< multi-token-prediction modules

  /// One entry a layer for models whose blocks follow no rule above (Nemotron-H, Jamba, NAS results); empty otherwise.
  std::vector<LayerShape> pattern{};

  /// Parameters that no field above explains (per layer and for the whole model): router biases, sinks, extra norms.
  double extra_params_per_layer = 0, extra_params = 0;
  double published_params = 0, published_active = 0;  ///< as published; 0 = unknown. For reports only.
  std::vector<std::string> assumptions{};             ///< what a reader had to assume, in sentences

  bool is_moe() const { return experts > 0; }
  int moe_layers() const;  ///< number of MoE blocks
  bool is_moe_layer(int layer) const;
};

/// Width of q.k per head.
inline double qk_head_dim(const Transformer& model) {
  const LatentAttention& a = model.latent;
  return model.attention == AttentionKind::latent ? a.qk_nope_head_dim + a.qk_rope_head_dim : model.head_dim;
}

/// Throws Error(where, ...) that names the first inconsistent field.
void check(const Transformer& model, const std::string& where);

/// The shape of one block, by the pattern or by the rules for MoE and window layers. 0 <= layer < layers.
LayerShape layer_shape(const Transformer& model, int layer);
/// The distinct shapes of a model with the number of their layers, in order of first appearance.
struct LayerClass {
  LayerShape shape{};
  int layers = 0;
};
std::vector<LayerClass> layer_classes(const Transformer& model);

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
/// Parameters of one block of that shape: all experts, or only those that a token sees.
double layer_parameters(const Transformer& model, const LayerShape& shape);
double active_layer_parameters(const Transformer& model, const LayerShape& shape);

/// Conventions by which sources count model FLOPs.
enum class FlopsConvention {
  causal,                   ///< 6N + 6Lhs: matmul parameters with the head, causal half of attention (Megatron-Bridge)
  full_attention,           ///< 6N + 12Lhs (NeMo docs, torchtitan, llm-foundry, nanotron)
  hardware_full_recompute,  ///< 96BsLh^2(1 + s/6h + V/16Lh) (Megatron SC'21)
};
std::string_view name(FlopsConvention convention);
/// Model FLOPs per token of forward and backward.
double flops_per_token(const Transformer& model, int seq_len, FlopsConvention convention);

}  // namespace meshwright::workload
