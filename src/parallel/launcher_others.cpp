// Configuration keys of torchtitan, nanotron, DeepSpeed, FSDP (LLM Foundry) and MaxText.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "meshwright/parallel/constraints.hpp"
#include "meshwright/parallel/placement.hpp"
#include "parallel/launcher_dialects.hpp"

namespace meshwright::parallel {
namespace {

template <class Value>
void add(Flags& flags, std::string_view key, const Value& value) {
  flags.push_back(fmt::format("{}={}", key, value));
}

/// "[['tok_embeddings','layers.0'],['layers.1','norm','lm_head']]": modules of each chunk.
std::string torchtitan_modules(const Job& job, const Layout& layout) {
  std::string text;
  for (const Chunk& chunk : pipeline_chunks(job.model, job.framework, layout)) {
    std::vector<std::string> modules;
    if (chunk.embedding) modules.emplace_back("'tok_embeddings'");
    for (int layer = 0; layer < chunk.layers; ++layer)
      modules.push_back(fmt::format("'layers.{}'", chunk.first + layer));
    if (chunk.head) modules.insert(modules.end(), {"'norm'", "'lm_head'"});
    text += fmt::format("{}[{}]", text.empty() ? "" : ",", fmt::join(modules, ","));
  }
  return "[" + text + "]";
}

/// distributed/pipeline_parallel.py, _get_pipeline_metadata: ceil((layers + 2) / layers_per_stage) chunks, two a rank
/// without it where a schedule takes several. Numbers of chunks that no layers_per_stage gives need their modules
/// named.
void add_torchtitan_pipeline(Flags& flags, const Job& job, const Layout& layout) {
  add(flags, "--parallelism.pipeline_parallel_degree", layout.pp);
  if (layout.pp == 1) return;
  const PipelineSchedule schedule = effective_schedule(layout);
  add(flags, "--parallelism.pipeline_parallel_schedule", schedule->torchtitan);
  add(flags, "--parallelism.num_pp_microbatches", micro_batches(job.global_batch, layout));
  const int ways = split_ways(layout), modules = job.model.layers + 2;
  const int usual = layout.pp * (schedule->chunks == 1 ? 1 : 2);
  const int each = (modules + ways - 1) / ways;
  const StageSplit split =
      resolved_split(layout.stage_split, job.model.layers, job.framework, layout.pp, ways / layout.pp);
  const bool own_rule = layout.stages.empty() && split == StageSplit::embedding;
  if (own_rule && ways == usual) return;
  if (own_rule && (modules + each - 1) / each == ways) {
    add(flags, "--parallelism.pipeline_parallel_layers_per_stage", each);
  } else {
    add(flags, "--parallelism.module_fqns_per_model_part", "\"" + torchtitan_modules(job, layout) + "\"");
  }
}

}  // namespace

int shard_degree(const Layout& layout, std::string_view dialect) {
  if (const auto shard = data_shard(layout)) return *shard;
  throw Error("--flags",
              fmt::format("{} cannot configure hsdp_shard {} with cp {}: its context ranks share states too; "
                          "expected a multiple of cp",
                          dialect, layout.hsdp_shard, layout.cp));
}

/// PyTorch's FSDP has no stage that shards the optimizer alone.
void refuse_optimizer_alone(std::string_view dialect, const Layout& layout) {
  if (layout.zero_stage == 1 && layout.dp * layout.cp > 1)
    throw Error("--flags", fmt::format("{} cannot configure ZeRO stage 1: FSDP shards gradients with the optimizer; "
                                       "expected stage 0, 2 or 3, as with --exclude zero_stage=1",
                                       dialect));
}

/// components/quantization: formats of linear layers are arguments of a model's entry in its config registry, no flags.
Flags torchtitan_flags(const Job& job, const Layout& layout) {
  if (job.precision.gemm != job.precision.rest)
    refuse_precision(job.precision, "torchtitan", "its converters are arguments of model_registry(quantization=[...])");
  refuse_optimizer_alone("torchtitan", layout);
  Flags flags;
  const bool shards = layout.zero_stage > 1;
  const int shard = shards ? shard_degree(layout, "torchtitan") : 1;
  // Accumulation, and with a pipeline its micro-batches, reach the tokens of a step.
  const long long sequence = job.seq_len;
  add(flags, "--training.max_context_length", sequence);
  add(flags, "--training.num_tokens_per_microbatch_per_dp_rank", layout.micro_batch * sequence);
  add(flags, "--training.num_tokens_per_train_step", job.global_batch * sequence);
  add(flags, "--training.mixed_precision_param", precision_name(job.precision, "dtype", "torchtitan"));
  add(flags, "--parallelism.data_parallel_replicate_degree", layout.dp / shard);
  add(flags, "--parallelism.data_parallel_shard_degree", shard);
  if (layout.zero_stage == 2) add(flags, "--parallelism.fsdp_reshard_after_forward", "never");
  add(flags, "--parallelism.tensor_parallel_degree", layout.tp);
  if (layout.tp > 1 && !layout.sequence_parallel) flags.emplace_back("--parallelism.no-enable_sequence_parallel");
  const bool asynchronous = layout.tp_comm_overlap && layout.tp > 1;
  // CompileConfig (config/configs.py): off where nothing is said, and what asynchronous products need.
  if (job.recipe.kernels.compiled || asynchronous) flags.emplace_back("--compile.enable");
  if (asynchronous) flags.emplace_back("--compile.enable_async_tensor_parallel");
  add(flags, "--parallelism.context_parallel_degree", layout.cp);
  add_torchtitan_pipeline(flags, job, layout);
  if (job.model.is_moe()) add(flags, "--parallelism.expert_parallel_degree", layout.ep);
  flags.push_back(fmt::format("activation-checkpoint:{}", name(layout.recompute)));
  return flags;
}

Flags nanotron_flags(const Job& job, const Layout& layout) {
  Flags flags;
  add(flags, "parallelism.dp", layout.dp);
  add(flags, "parallelism.tp", layout.tp);
  add(flags, "parallelism.pp", layout.pp);
  add(flags, "parallelism.context_parallel_size", layout.cp);
  add(flags, "parallelism.expert_parallel_size", layout.ep);
  add(flags, "parallelism.tp_mode", layout.sequence_parallel ? "REDUCE_SCATTER" : "ALL_REDUCE");
  add(flags, "parallelism.pp_engine", effective_schedule(layout)->nanotron);
  add(flags, "parallelism.recompute_layer", layout.recompute == Recompute::full);
  add(flags, "optimizer.zero_stage", layout.zero_stage);
  add(flags, "model.dtype", precision_name(job.precision, "dtype", "nanotron"));
  add(flags, "tokens.sequence_length", job.seq_len);
  add(flags, "tokens.micro_batch_size", layout.micro_batch);
  add(flags, "tokens.batch_accumulation_per_replica", micro_batches(job.global_batch, layout));
  return flags;
}

/// runtime/config.py: fp32 where neither is switched on.
void add_deepspeed_precision(Flags& flags, const Precision& precision) {
  if (precision.gemm != precision.rest) refuse_precision(precision, "deepspeed", "it has bf16, fp16, fp32");
  if (precision.rest != DType::fp16) add(flags, "bf16.enabled", precision.rest == DType::bf16);
  if (precision.rest != DType::bf16) add(flags, "fp16.enabled", precision.rest == DType::fp16);
}

/// Checkpoints wrap whole blocks: the attention core alone is no choice.
bool recomputes_blocks(std::string_view dialect, const Layout& layout) {
  if (layout.recompute == Recompute::selective)
    throw Error("--flags", fmt::format("{} cannot configure recompute selective: its checkpoints wrap whole blocks; "
                                       "expected none or full, as with --exclude recompute=selective",
                                       dialect));
  return layout.recompute == Recompute::full;
}

Flags deepspeed_flags(const Job& job, const Layout& layout) {
  Flags flags;
  add(flags, "train_batch_size", job.global_batch);
  add(flags, "train_micro_batch_size_per_gpu", layout.micro_batch);
  add(flags, "gradient_accumulation_steps", micro_batches(job.global_batch, layout));
  add(flags, "zero_optimization.stage", layout.zero_stage);
  add(flags, "zero_optimization.overlap_comm", layout.overlap_grad_reduce);
  if (job.recipe.offload.optimizer) add(flags, "zero_optimization.offload_optimizer.device", "cpu");
  if (layout.hsdp_shard > 0) add(flags, "zero_optimization.zero_hpz_partition_size", layout.hsdp_shard);
  if (layout.tp > 1) add(flags, "tensor_parallel.autotp_size", layout.tp);
  if (layout.cp > 1) {
    add(flags, "sequence_parallel_size", layout.cp);
    add(flags, "data_parallel_size", layout.dp);
  }
  add_deepspeed_precision(flags, job.precision);
  // Arguments of the trainer: DeepSpeed passes by keys that it does not know.
  add(flags, "gradient_checkpointing", recomputes_blocks("deepspeed", layout));
  add(flags, "max_seq_length", job.seq_len);
  return flags;
}

Flags fsdp_flags(const Job& job, const Layout& layout) {
  refuse_optimizer_alone("fsdp", layout);
  Flags flags;
  const bool hybrid = layout.hsdp_shard > 0;
  const std::string_view strategy = layout.zero_stage == 3   ? hybrid ? "HYBRID_SHARD" : "FULL_SHARD"
                                    : layout.zero_stage == 0 ? "NO_SHARD"
                                                             : "SHARD_GRAD_OP";
  add(flags, "max_seq_len", job.seq_len);
  add(flags, "global_train_batch_size", job.global_batch);
  add(flags, "device_train_microbatch_size", layout.micro_batch);
  add(flags, "fsdp_config.sharding_strategy", strategy);
  add(flags, "fsdp_config.mixed_precision", "PURE");
  add(flags, "fsdp_config.activation_checkpointing", recomputes_blocks("fsdp", layout));
  add(flags, "fsdp_config.limit_all_gathers", true);
  if (hybrid) add(flags, "fsdp_config.data_parallel_shard_degree", layout.hsdp_shard);
  if (job.recipe.offload.activations) add(flags, "fsdp_config.activation_cpu_offload", true);
  add(flags, "precision", precision_name(job.precision, "fsdp", "fsdp"));
  return flags;
}

/// configs/types.py, calculate_global_batch_sizes: per_device_batch_size * devices * gradient_accumulation_steps is the
/// global batch. The mesh's axes multiply to the devices; experts are an axis of their own that batches are spread
/// over.
Flags maxtext_flags(const Job& job, const Layout& layout) {
  if (layout.zero_stage == 2 && layout.dp * layout.cp > 1)
    throw Error("--flags",
                "maxtext cannot configure ZeRO stage 2: shard_optimizer_over_data leaves gradients whole; "
                "expected stage 0, 1 or 3, as with --exclude zero_stage=2");
  Flags flags;
  const int accumulation = layout.pp > 1 ? 1 : micro_batches(job.global_batch, layout);
  const double devices = layout.accelerators();
  const int data = layout.dp / layout.ep;
  const int shard = layout.zero_stage < 3 ? 1 : layout.hsdp_shard > 0 ? std::min(layout.hsdp_shard, data) : data;
  add(flags, "max_target_length", job.seq_len);
  add(flags, "per_device_batch_size", job.global_batch / (devices * accumulation));
  add(flags, "gradient_accumulation_steps", accumulation);
  add(flags, "ici_data_parallelism", data / std::max(1, shard));
  add(flags, "ici_fsdp_parallelism", shard);
  add(flags, "ici_tensor_parallelism", layout.tp);
  add(flags, "ici_context_parallelism", layout.cp);
  if (layout.cp > 1) add(flags, "context_parallel_strategy", context_kind(layout, job.framework)->maxtext);
  add(flags, "ici_pipeline_parallelism", layout.pp);
  if (job.model.is_moe()) add(flags, "ici_expert_parallelism", layout.ep);
  if (layout.zero_stage == 1) add(flags, "shard_optimizer_over_data", true);
  if (layout.pp > 1) {
    add(flags, "num_pipeline_microbatches", micro_batches(job.global_batch, layout));
    add(flags, "num_layers_per_pipeline_stage", std::max(1, job.model.layers / split_ways(layout)));
  }
  add(flags, "remat_policy",
      layout.recompute == Recompute::full        ? "full"
      : layout.recompute == Recompute::selective ? "save_qkv_proj"
                                                 : "minimal_with_context");
  if (job.recipe.offload.optimizer) add(flags, "optimizer_memory_host_offload", true);
  if (job.precision.gemm == job.precision.rest) {
    add(flags, "dtype", precision_name(job.precision, "dtype", "maxtext"));
  } else {
    add(flags, "quantization", precision_name(job.precision, "maxtext", "maxtext"));
  }
  return flags;
}

/// commands/config/cluster.py (FSDP 2 and its parallelism_config) and parallelism_config.py: the sizes multiply to the
/// processes. The batch is the trainer's.
Flags accelerate_flags(const Job& job, const Layout& layout) {
  Flags flags;
  const int shard = shard_degree(layout, "accelerate");
  const bool shards = layout.zero_stage > 1;
  refuse_optimizer_alone("accelerate", layout);
  add(flags, "distributed_type", shards ? "FSDP" : "MULTI_GPU");
  add(flags, "num_processes", layout.accelerators());
  add(flags, "num_machines", std::max(1, layout.accelerators() / std::max(1, job.cluster.node.accelerators)));
  add(flags, "mixed_precision", precision_name(job.precision, "accelerate", "accelerate"));
  if (shards) {
    add(flags, "fsdp_config.fsdp_version", 2);
    add(flags, "fsdp_config.fsdp_reshard_after_forward", layout.zero_stage == 3);
    add(flags, "fsdp_config.fsdp_auto_wrap_policy", "TRANSFORMER_BASED_WRAP");
    add(flags, "fsdp_config.fsdp_state_dict_type", "SHARDED_STATE_DICT");
    add(flags, "fsdp_config.fsdp_offload_params", job.recipe.offload.optimizer);
    add(flags, "fsdp_config.fsdp_activation_checkpointing", recomputes_blocks("accelerate", layout));
    const std::string prefix = "parallelism_config.parallelism_config_";
    add(flags, prefix + "dp_replicate_size", layout.dp / shard);
    add(flags, prefix + "dp_shard_size", shard);
    add(flags, prefix + "tp_size", layout.tp);
    add(flags, prefix + "cp_size", layout.cp);
  }
  add(flags, "per_device_train_batch_size", layout.micro_batch);
  add(flags, "gradient_accumulation_steps", micro_batches(job.global_batch, layout));
  add(flags, "max_seq_length", job.seq_len);
  return flags;
}

}  // namespace meshwright::parallel
