// Configuration keys of torchtitan, nanotron, DeepSpeed, FSDP (LLM Foundry) and MaxText.
#include <fmt/format.h>

#include <algorithm>

#include "meshwright/parallel/placement.hpp"
#include "parallel/launcher_dialects.hpp"

namespace meshwright::parallel {
namespace {

template <class Value>
void add(Flags& flags, std::string_view key, const Value& value) {
  flags.push_back(fmt::format("{}={}", key, value));
}

void add_torchtitan_pipeline(Flags& flags, const Job& job, const Layout& layout) {
  add(flags, "--parallelism.pipeline_parallel_degree", layout.pp);
  if (layout.pp == 1) return;
  add(flags, "--parallelism.pipeline_parallel_schedule", effective_schedule(layout)->torchtitan);
  add(flags, "--parallelism.pipeline_parallel_microbatch_size", layout.micro_batch);
  const int ways = split_ways(layout);
  if (ways > layout.pp) {
    add(flags, "--parallelism.pipeline_parallel_layers_per_stage", (job.model.layers + ways - 1) / ways);
  }
}

bool is_fp8(const Precision& precision) { return precision.gemm == DType::fp8; }

}  // namespace

Flags torchtitan_flags(const Job& job, const Layout& layout) {
  Flags flags;
  const bool shards = layout.zero_stage > 1;
  const int shard = !shards ? 1 : layout.hsdp_shard > 0 ? layout.hsdp_shard / layout.cp : layout.dp;
  // A pipeline cuts the local batch into its micro-batches; without one, accumulation reaches the global batch.
  const int local = layout.pp > 1 ? job.global_batch / layout.dp : layout.micro_batch;
  add(flags, "--training.seq_len", job.seq_len);
  add(flags, "--training.local_batch_size", local);
  add(flags, "--training.global_batch_size", job.global_batch);
  add(flags, "--parallelism.data_parallel_replicate_degree", layout.dp / std::max(1, shard));
  add(flags, "--parallelism.data_parallel_shard_degree", shard);
  if (layout.zero_stage == 2) add(flags, "--parallelism.fsdp_reshard_after_forward", "never");
  add(flags, "--parallelism.tensor_parallel_degree", layout.tp);
  if (layout.tp_comm_overlap) flags.emplace_back("--parallelism.enable_async_tensor_parallel");
  add(flags, "--parallelism.context_parallel_degree", layout.cp);
  add_torchtitan_pipeline(flags, job, layout);
  if (job.model.is_moe()) {
    add(flags, "--parallelism.expert_parallel_degree", layout.ep);
    add(flags, "--parallelism.expert_tensor_parallel_degree", expert_tensor_parallel(layout, job.framework));
  }
  add(flags, "--activation_checkpoint.mode", name(layout.recompute));
  if (layout.recompute == Recompute::selective) add(flags, "--activation_checkpoint.selective_ac_option", "op");
  if (is_fp8(job.precision)) add(flags, "--model.converters", "float8");
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
  add(flags, "tokens.sequence_length", job.seq_len);
  add(flags, "tokens.micro_batch_size", layout.micro_batch);
  add(flags, "tokens.batch_accumulation_per_replica", micro_batches(job.global_batch, layout));
  return flags;
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
  add(flags, job.precision.rest == DType::fp16 ? "fp16.enabled" : "bf16.enabled", true);
  return flags;
}

Flags fsdp_flags(const Job& job, const Layout& layout) {
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
  add(flags, "fsdp_config.activation_checkpointing", layout.recompute != Recompute::none);
  add(flags, "fsdp_config.limit_all_gathers", true);
  if (hybrid) add(flags, "fsdp_config.data_parallel_shard_degree", layout.hsdp_shard);
  add(flags, "precision", is_fp8(job.precision) ? "amp_fp8" : "amp_bf16");
  return flags;
}

Flags maxtext_flags(const Job& job, const Layout& layout) {
  Flags flags;
  const bool shards = layout.zero_stage == 3;
  const int shard = shards && layout.hsdp_shard > 0 ? layout.hsdp_shard : layout.dp;
  add(flags, "max_target_length", job.seq_len);
  add(flags, "per_device_batch_size", static_cast<double>(job.global_batch) / layout.accelerators());
  add(flags, "ici_data_parallelism", shards ? layout.dp / std::max(1, shard) : layout.dp);
  add(flags, "ici_fsdp_parallelism", shards ? shard : 1);
  add(flags, "ici_tensor_parallelism", layout.tp);
  add(flags, "ici_context_parallelism", layout.cp);
  add(flags, "ici_pipeline_parallelism", layout.pp);
  if (job.model.is_moe()) add(flags, "ici_expert_parallelism", layout.ep);
  if (layout.pp > 1) add(flags, "num_pipeline_microbatches", micro_batches(job.global_batch, layout));
  add(flags, "gradient_accumulation_steps", layout.pp > 1 ? 1 : micro_batches(job.global_batch, layout));
  add(flags, "remat_policy",
      layout.recompute == Recompute::full        ? "full"
      : layout.recompute == Recompute::selective ? "save_qkv_proj"
                                                 : "minimal");
  if (is_fp8(job.precision)) add(flags, "quantization", "fp8");
  return flags;
}

}  // namespace meshwright::parallel
