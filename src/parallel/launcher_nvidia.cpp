// Overrides of Megatron-Bridge's ConfigContainer and of NeMo 2.0's recipes: "a.b.c=value" on their command lines.
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
std::string_view truth(bool value) { return value ? "True" : "False"; }

/// Where each stack keeps what both have.
struct Sections {
  std::string_view dialect, parallel, model, ddp, train;
};

/// The degrees, as the TransformerConfig of Megatron-Core names them; NeMo's strategy takes the same names.
void add_degrees(Flags& flags, const Job& job, const Layout& layout, const Sections& at) {
  const auto key = [&](std::string_view name) { return fmt::format("{}.{}", at.parallel, name); };
  add(flags, key("tensor_model_parallel_size"), layout.tp);
  add(flags, key("pipeline_model_parallel_size"), layout.pp);
  add(flags, key("context_parallel_size"), layout.cp);
  add(flags, key("sequence_parallel"), truth(layout.sequence_parallel && layout.tp > 1));
  if (job.model.is_moe()) {
    add(flags, key("expert_model_parallel_size"), layout.ep);
    add(flags, key("expert_tensor_parallel_size"), expert_tensor_parallel(layout, job.framework));
  }
}

void add_recompute(Flags& flags, const Job& job, const Layout& layout, const Sections& at) {
  if (layout.recompute == Recompute::none) return;
  add(flags, fmt::format("{}.recompute_granularity", at.model), name(layout.recompute));
  if (layout.recompute == Recompute::selective)
    add(flags, fmt::format("{}.recompute_modules", at.model),
        fmt::format("'[{}]'", fmt::join(recompute_modules(job), ",")));
  if (layout.recompute != Recompute::full) return;
  add(flags, fmt::format("{}.recompute_method", at.model), layout.recompute_layers > 0 ? "block" : "uniform");
  add(flags, fmt::format("{}.recompute_num_layers", at.model), std::max(1, layout.recompute_layers));
}

void add_overlaps(Flags& flags, const Layout& layout, const Sections& at) {
  const auto key = [&](std::string_view name) { return fmt::format("{}.{}", at.ddp, name); };
  add(flags, key("use_distributed_optimizer"), truth(layout.zero_stage > 0));
  add(flags, key("overlap_grad_reduce"), truth(layout.overlap_grad_reduce));
  add(flags, key("overlap_param_gather"), truth(megatron_gathers(layout, at.dialect)));
}

/// How layers are dealt to stages: an explicit layout, embedding and loss as layers, or evenly.
void add_stages(Flags& flags, const Job& job, const Layout& layout, const Sections& at) {
  if (layout.pp == 1) return;
  const StageSplit split = resolved_split(layout.stage_split, job.model.layers, job.framework, layout.pp, layout.vp);
  if (!layout.stages.empty() || split == StageSplit::uneven || split == StageSplit::automatic) {
    add(flags, fmt::format("{}.pipeline_model_parallel_layout", at.model), "'" + stage_string(job, layout) + "'");
    return;
  }
  if (layout.vp > 1) add(flags, fmt::format("{}.virtual_pipeline_model_parallel_size", at.parallel), layout.vp);
  if (split != StageSplit::embedding) return;
  add(flags, fmt::format("{}.account_for_embedding_in_pipeline_split", at.model), "True");
  add(flags, fmt::format("{}.account_for_loss_in_pipeline_split", at.model), "True");
}

/// The way of tokens to their experts, where the dialect has it.
void add_dispatch(Flags& flags, const Job& job, const Layout& layout, const Sections& at) {
  if (!job.model.is_moe()) return;
  const RecipeKernels& kernels = job.recipe.kernels;
  if (kernels.capacity_factor > 0)
    add(flags, fmt::format("{}.moe_expert_capacity_factor", at.model), fmt::format("{:g}", kernels.capacity_factor));
  if (kernels.pad_to_capacity) add(flags, fmt::format("{}.moe_pad_expert_input_to_capacity", at.model), "True");
  const TokenDispatch dispatch = megatron_dispatch(job, layout, at.dialect);
  if (dispatch.type.empty()) return;
  add(flags, fmt::format("{}.moe_token_dispatcher_type", at.model), dispatch.type);
  if (kernels.shared_expert_overlap) add(flags, fmt::format("{}.moe_shared_expert_overlap", at.model), "True");
  if (dispatch.backend.empty()) return;
  if (at.dialect == "nemo") {
    add(flags, fmt::format("{}.moe_enable_deepep", at.model), "True");
  } else {
    add(flags, fmt::format("{}.moe_flex_dispatcher_backend", at.model), dispatch.backend);
  }
}

}  // namespace

/// training/config.py: ConfigContainer {model, train, ddp, dataset, dist, checkpoint, comm_overlap, mixed_precision},
/// whose world size must divide by tp * pp * cp (get_data_parallel_size, line 1013).
Flags bridge_flags(const Job& job, const Layout& layout) {
  const Sections at{"bridge", "model", "model", "ddp", "train"};
  Flags flags;
  add(flags, "model.seq_length", job.seq_len);
  add(flags, "dataset.seq_length", job.seq_len);
  add(flags, "train.micro_batch_size", layout.micro_batch);
  add(flags, "train.global_batch_size", job.global_batch);
  add_degrees(flags, job, layout, at);
  add_stages(flags, job, layout, at);
  if (layout.cp > 1) add(flags, "model.cp_comm_type", context_kind(layout, job.framework)->megatron);
  add_dispatch(flags, job, layout, at);
  add_overlaps(flags, layout, at);
  if (layout.zero_stage > 1) {  // lines 1098-1125
    add(flags, "ddp.use_megatron_fsdp", "True");
    add(flags, "ddp.data_parallel_sharding_strategy", layout.zero_stage == 3 ? "optim_grads_params" : "optim_grads");
    add(flags, "checkpoint.ckpt_format", "fsdp_dtensor");
  }
  if (layout.hsdp_shard > 0)
    add(flags, "ddp.num_distributed_optimizer_instances", layout.dp * layout.cp / layout.hsdp_shard);
  if (megatron_order(layout, "bridge")) add(flags, "dist.use_tp_pp_dp_mapping", "True");
  add(flags, "comm_overlap.tp_comm_overlap", truth(layout.tp_comm_overlap && layout.tp > 1));
  if (layout.ep_comm_overlap) add(flags, "comm_overlap.overlap_moe_expert_parallel_comm", "True");
  if (job.recipe.kernels.delay_wgrad) add(flags, "comm_overlap.delay_wgrad_compute", "True");
  if (job.recipe.offload.optimizer) add(flags, "optimizer.optimizer_cpu_offload", "True");
  add_recompute(flags, job, layout, at);
  add(flags, "mixed_precision", precision_name(job.precision, "bridge", "bridge"));
  return flags;
}

/// nemo/lightning: Trainer (devices, num_nodes), its strategy MegatronStrategy, the data module's batch, and the
/// model's config. Megatron-FSDP and other orders of ranks are not for it.
Flags nemo_flags(const Job& job, const Layout& layout) {
  const Sections at{"nemo", "trainer.strategy", "model.config", "trainer.strategy.ddp", "data"};
  if (layout.zero_stage > 1)
    throw Error("--flags", fmt::format("nemo cannot configure ZeRO stage {}: its distributed optimizer is stage 1",
                                       layout.zero_stage));
  if (layout.ep_comm_overlap)  // Megatron-Core has it from 0.14 on
    throw Error("--flags",
                "nemo cannot configure exchanges of experts behind compute; expected ep_comm_overlap off, as "
                "with --fix ep_comm_overlap=false");
  if (megatron_order(layout, "nemo"))
    throw Error("--flags", "nemo cannot number ranks as " + describe_order(*layout.order));
  Flags flags;
  const int devices = std::min(layout.accelerators(), job.cluster.node.accelerators);
  add(flags, "trainer.devices", devices);
  add(flags, "trainer.num_nodes", std::max(1, layout.accelerators() / std::max(1, devices)));
  add(flags, "data.seq_length", job.seq_len);
  add(flags, "data.micro_batch_size", layout.micro_batch);
  add(flags, "data.global_batch_size", job.global_batch);
  add_degrees(flags, job, layout, at);
  add_stages(flags, job, layout, at);
  add_dispatch(flags, job, layout, at);
  add_overlaps(flags, layout, at);
  if (layout.tp_comm_overlap && layout.tp > 1) add(flags, "model.config.tp_comm_overlap", "True");
  add_recompute(flags, job, layout, at);
  add(flags, "trainer.plugins", precision_name(job.precision, "nemo", "nemo"));
  return flags;
}

}  // namespace meshwright::parallel
