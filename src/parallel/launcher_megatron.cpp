// Flags of Megatron-LM and of its DeepSpeed fork.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "meshwright/parallel/constraints.hpp"
#include "meshwright/parallel/placement.hpp"
#include "parallel/launcher_dialects.hpp"

namespace meshwright::parallel {
namespace {

template <class Value>
void add(Flags& flags, std::string_view flag, const Value& value) {
  flags.push_back(fmt::format("--{} {}", flag, value));
}
void add_if(Flags& flags, bool condition, std::string_view flag) {
  if (condition) flags.push_back(fmt::format("--{}", flag));
}

void add_sizes(Flags& flags, const Job& job) {
  const Transformer& m = job.model;
  add(flags, "num-layers", m.layers);
  add(flags, "hidden-size", m.hidden);
  if (m.ffn_hidden > 0) add(flags, "ffn-hidden-size", m.ffn_hidden);  // all layers may be of experts
  add(flags, "num-attention-heads", m.heads);
  add(flags, "vocab-size", m.vocab);  // before padding
  add(flags, "seq-length", job.seq_len);
  add(flags, "max-position-embeddings", job.seq_len);
}

void add_switches(Flags& flags, const Transformer& m) {
  add_if(flags, m.gated_mlp, "swiglu");
  add_if(flags, !m.mlp_bias && !m.attention_output_bias, "disable-bias-linear");
  add_if(flags, !m.tied_embeddings, "untie-embeddings-and-output-weights");
}

void add_model(Flags& flags, const Job& job) {
  const Transformer& m = job.model;
  add_sizes(flags, job);
  const bool latent = m.attention == AttentionKind::latent;
  if (!latent && m.kv_heads != m.heads) {
    flags.emplace_back("--group-query-attention");
    add(flags, "num-query-groups", m.kv_heads);
  }
  if (!latent && m.head_dim * m.heads != m.hidden) add(flags, "kv-channels", m.head_dim);
  add_switches(flags, m);
  if (!m.layer_norm_bias) add(flags, "normalization", "RMSNorm");
  add_if(flags, m.qkv_bias && !m.attention_output_bias, "add-qkv-bias");
  add_if(flags, m.qk_norm, "qk-layernorm");
  if (m.rotary) add(flags, "position-embedding-type", "rope");
}

/// The fork's own names (megatron/arguments.py at 207b2d5aad): grouped queries, norms, positions, experts.
void add_fork_model(Flags& flags, const Job& job) {
  const Transformer& m = job.model;
  add_sizes(flags, job);
  if (m.attention != AttentionKind::latent && m.kv_heads != m.heads) add(flags, "num-key-value-heads", m.kv_heads);
  if (m.attention != AttentionKind::latent && m.head_dim * m.heads != m.hidden) add(flags, "kv-channels", m.head_dim);
  add_switches(flags, m);
  if (!m.layer_norm_bias) add(flags, "normalization", "rmsnorm");
  add_if(flags, m.rotary, "use-rotary-position-embeddings");
  if (!m.is_moe()) return;
  add(flags, "num-experts", m.experts);
  add(flags, "topk", m.top_k);
  add(flags, "expert-interval", m.moe_every);  // 2 unless said
}

void add_latent(Flags& flags, const Transformer& m) {
  if (m.attention != AttentionKind::latent) return;
  flags.emplace_back("--multi-latent-attention");
  if (m.latent.q_lora_rank > 0) add(flags, "q-lora-rank", m.latent.q_lora_rank);
  add(flags, "kv-lora-rank", m.latent.kv_lora_rank);
  add(flags, "qk-head-dim", m.latent.qk_nope_head_dim);
  add(flags, "qk-pos-emb-head-dim", m.latent.qk_rope_head_dim);
  add(flags, "v-head-dim", m.latent.v_head_dim);
}

void add_experts(Flags& flags, const Job& job, const Layout& layout) {
  const Transformer& m = job.model;
  if (!m.is_moe()) return;
  add(flags, "num-experts", m.experts);
  add(flags, "moe-router-topk", m.top_k);
  add(flags, "moe-ffn-hidden-size", m.moe_ffn_hidden);
  if (m.shared_expert_ffn_hidden > 0) add(flags, "moe-shared-expert-intermediate-size", m.shared_expert_ffn_hidden);
  if (m.dense_layers > 0) {
    add(flags, "moe-layer-freq", fmt::format("'([0]*{}+[1]*{})'", m.dense_layers, m.layers - m.dense_layers));
  } else if (m.moe_every > 1) {
    add(flags, "moe-layer-freq", m.moe_every);
  }
  if (m.expert_groups > 1) {
    add(flags, "moe-router-num-groups", m.expert_groups);
    add(flags, "moe-router-group-topk", m.groups_per_token);
  }
  if (m.router_bias) {
    // The bias of a router that balances without a loss asks for sigmoid scores (transformer_config.py).
    add(flags, "moe-router-score-function", "sigmoid");
    flags.emplace_back("--moe-router-enable-expert-bias");
  }
  flags.emplace_back("--moe-grouped-gemm");
  const TokenDispatch dispatch = megatron_dispatch(job, layout, "megatron");
  if (!dispatch.type.empty()) add(flags, "moe-token-dispatcher-type", dispatch.type);
  if (!dispatch.backend.empty()) add(flags, "moe-flex-dispatcher-backend", dispatch.backend);
  add(flags, "expert-model-parallel-size", layout.ep);
  add(flags, "expert-tensor-parallel-size", expert_tensor_parallel(layout, job.framework));
  add_if(flags, layout.ep_comm_overlap, "overlap-moe-expert-parallel-comm");
  const RecipeKernels& kernels = job.recipe.kernels;
  add_if(flags, kernels.shared_expert_overlap, "moe-shared-expert-overlap");
  add_if(flags, kernels.delay_wgrad, "delay-wgrad-compute");
  if (kernels.capacity_factor > 0)
    add(flags, "moe-expert-capacity-factor", fmt::format("{:g}", kernels.capacity_factor));
  add_if(flags, kernels.pad_to_capacity, "moe-pad-expert-input-to-capacity");
}

void add_pipeline(Flags& flags, const Job& job, const Layout& layout) {
  add(flags, "pipeline-model-parallel-size", layout.pp);
  if (layout.pp == 1) return;
  const StageSplit split = resolved_split(layout.stage_split, job.model.layers, job.framework, layout.pp, layout.vp);
  const bool explicit_layout = !layout.stages.empty() || split == StageSplit::uneven || split == StageSplit::automatic;
  if (explicit_layout) {
    add(flags, "pipeline-model-parallel-layout", "'" + stage_string(job, layout) + "'");
  } else {
    if (layout.vp > 1) add(flags, "num-virtual-stages-per-pipeline-rank", layout.vp);
    add_if(flags, split == StageSplit::embedding, "account-for-embedding-in-pipeline-split");
    add_if(flags, split == StageSplit::embedding, "account-for-loss-in-pipeline-split");
  }
  add_if(flags, layout.vp > 1 && !layout.overlap_p2p, "no-overlap-p2p-communication");
}

void add_recompute(Flags& flags, const Layout& layout) {
  if (layout.recompute == Recompute::none) return;
  add(flags, "recompute-granularity", name(layout.recompute));
  if (layout.recompute != Recompute::full) return;
  add(flags, "recompute-method", layout.recompute_layers > 0 ? "block" : "uniform");
  add(flags, "recompute-num-layers", std::max(1, layout.recompute_layers));
}

void add_data_parallel(Flags& flags, const Layout& layout, std::string_view dialect) {
  if (layout.zero_stage == 1) flags.emplace_back("--use-distributed-optimizer");
  if (layout.zero_stage > 1) {
    // arguments.py asserts the checkpoint format and switches the optimizer on (validate_args, use_megatron_fsdp).
    flags.emplace_back("--use-distributed-optimizer");
    flags.emplace_back("--use-megatron-fsdp");
    add(flags, "data-parallel-sharding-strategy", layout.zero_stage == 3 ? "optim_grads_params" : "optim_grads");
    add(flags, "ckpt-format", "fsdp_dtensor");
  }
  if (layout.hsdp_shard > 0) {
    add(flags, "num-distributed-optimizer-instances", layout.dp * layout.cp / layout.hsdp_shard);
  }
  add_if(flags, layout.overlap_grad_reduce, "overlap-grad-reduce");
  add_if(flags, megatron_gathers(layout, dialect), "overlap-param-gather");
}

void add_precision(Flags& flags, const Precision& precision, std::string_view dialect) {
  add_if(flags, precision.rest == DType::fp16, "fp16");
  add_if(flags, precision.rest == DType::bf16, "bf16");
  if (precision.gemm == precision.rest) return;
  if (precision.name == "nvfp4") {
    flags.emplace_back("--fp4-format e2m1 --fp4-recipe nvfp4");
    return;
  }
  const std::string_view recipe = precision_name(precision, "fp8-recipe", dialect);
  const bool one_format = recipe == "blockwise" || recipe == "mxfp8";  // gradients in e4m3 too
  flags.push_back(fmt::format("--fp8-format {} --fp8-recipe {}", one_format ? "e4m3" : "hybrid", recipe));
}

}  // namespace

std::string stage_string(const Job& job, const Layout& layout) {
  std::string text;
  for (const Chunk& chunk : pipeline_chunks(job.model, job.framework, layout)) {
    if (!text.empty()) text += '|';
    if (chunk.embedding) text += 'E';
    if (chunk.layers > 0) text += chunk.layers == 1 ? "t" : fmt::format("t*{}", chunk.layers);
    if (chunk.head) text += std::string(static_cast<std::size_t>(job.model.mtp_layers), 'm') + 'L';
  }
  return text;
}

/// arguments.py, validate_args: --overlap-param-gather needs --overlap-grad-reduce and a sharded optimizer.
bool megatron_gathers(const Layout& layout, std::string_view dialect) {
  const bool gathers = layout.overlap_param_gather && layout.zero_stage > 0;
  if (gathers && !layout.overlap_grad_reduce)
    throw Error("--flags",
                fmt::format("{} cannot configure overlap_param_gather without overlap_grad_reduce", dialect));
  return gathers;
}

/// initialize.py knows two orders.
bool megatron_order(const Layout& layout, std::string_view dialect) {
  if (!layout.order || *layout.order == RankOrder{}) return false;
  const RankOrder stages_inside{{Axis::tp, Axis::cp, Axis::ep, Axis::pp, Axis::dp}};
  if (*layout.order == stages_inside) return true;
  throw Error("--flags", fmt::format("{} cannot number ranks as {}; it has {} and {}", dialect,
                                     describe_order(*layout.order), describe_order({}), describe_order(stages_inside)));
}

Flags megatron_flags(const Job& job, const Layout& layout) {
  Flags flags;
  add_model(flags, job);
  add_latent(flags, job.model);
  if (job.model.mtp_layers > 0) add(flags, "mtp-num-layers", job.model.mtp_layers);
  add(flags, "micro-batch-size", layout.micro_batch);
  add(flags, "global-batch-size", job.global_batch);
  add(flags, "tensor-model-parallel-size", layout.tp);
  add_if(flags, layout.sequence_parallel && layout.tp > 1, "sequence-parallel");
  add_pipeline(flags, job, layout);
  add(flags, "context-parallel-size", layout.cp);
  if (layout.cp > 1) add(flags, "cp-comm-type", context_kind(layout, job.framework)->megatron);
  add_if(flags, megatron_order(layout, "megatron"), "use-tp-pp-dp-mapping");
  add_experts(flags, job, layout);
  add_data_parallel(flags, layout, "megatron");
  add_if(flags, job.recipe.offload.optimizer, "optimizer-cpu-offload");
  add_if(flags, layout.tp_comm_overlap && layout.tp > 1, "tp-comm-overlap");
  add_recompute(flags, layout);
  if (layout.recompute == Recompute::selective)
    flags.push_back(fmt::format("--recompute-modules {}", fmt::join(recompute_modules(job), " ")));
  add_precision(flags, job.precision, "megatron");
  return flags;
}

Flags megatron_deepspeed_flags(const Job& job, const Layout& layout) {
  Flags flags;
  add_fork_model(flags, job);
  add(flags, "micro-batch-size", layout.micro_batch);
  add(flags, "global-batch-size", job.global_batch);
  add(flags, "tensor-model-parallel-size", layout.tp);
  add_if(flags, layout.sequence_parallel && layout.tp > 1, "sequence-parallel");
  add(flags, "pipeline-model-parallel-size", layout.pp);
  if (layout.cp > 1) add(flags, "ds-sequence-parallel-size", layout.cp);
  if (job.model.is_moe()) add(flags, "moe-expert-parallel-size", layout.ep);
  flags.emplace_back("--deepspeed");
  add(flags, "zero-stage", layout.zero_stage);
  if (layout.recompute != Recompute::none) {
    add_recompute(flags, layout);
    flags.emplace_back("--deepspeed-activation-checkpointing");
  }
  add_precision(flags, job.precision, "megatron-deepspeed");
  return flags;
}

}  // namespace meshwright::parallel
