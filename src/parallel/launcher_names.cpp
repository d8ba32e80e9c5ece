// What dialects call values of fields, read both ways: flags are written and configurations read by the same rows.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "meshwright/parallel/job_recipe.hpp"
#include "parallel/launcher_dialects.hpp"

namespace meshwright::parallel {
namespace {

struct PrecisionName {
  std::string_view table, ours, theirs;
};
/// The first row of a value is written, the first of a name is read.
constexpr PrecisionName precision_names[] = {
    // Names of types in torch and JAX: nanotron, torchtitan, MaxText.
    {"dtype", "bf16", "bfloat16"},
    {"dtype", "fp32", "float32"},
    // megatron/core/enums.py, Fp8Recipe
    {"fp8-recipe", "fp8-ds", "delayed"},
    {"fp8-recipe", "fp8", "delayed"},
    {"fp8-recipe", "fp8-cs", "tensorwise"},
    {"fp8-recipe", "fp8-block", "blockwise"},
    {"fp8-recipe", "mxfp8", "mxfp8"},
    // Megatron-Bridge, training/mixed_precision.py: its registered functions
    {"bridge", "bf16", "bf16_mixed"},
    {"bridge", "fp16", "fp16_mixed"},
    {"bridge", "fp8-ds", "bf16_with_fp8_delayed_scaling_mixed"},
    {"bridge", "fp8", "bf16_with_fp8_delayed_scaling_mixed"},
    {"bridge", "fp8-cs", "bf16_with_fp8_current_scaling_mixed"},
    {"bridge", "fp8-block", "bf16_with_fp8_subchannel_scaling_mixed"},
    {"bridge", "mxfp8", "bf16_with_mxfp8_mixed"},
    {"bridge", "nvfp4", "bf16_with_nvfp4_mixed"},
    // NeMo, collections/llm/recipes/precision
    {"nemo", "bf16", "bf16_mixed"},
    {"nemo", "fp16", "fp16_mixed"},
    {"nemo", "fp8-ds", "bf16_with_fp8_mixed"},
    {"nemo", "fp8", "bf16_with_fp8_mixed"},
    {"nemo", "fp8-cs", "bf16_with_fp8_current_scaling_mixed"},
    {"nemo", "fp8-block", "bf16_with_fp8_subchannel_scaling_mixed"},
    {"nemo", "mxfp8", "bf16_with_mxfp8_mixed"},
    // maxtext/configs/types.py, QuantizationType
    {"maxtext", "int8", "int8"},
    {"maxtext", "fp8", "fp8"},
    {"maxtext", "fp8-ds", "te_fp8_delayedscaling"},
    {"maxtext", "fp8-cs", "te_fp8_currentscaling"},
    {"maxtext", "mxfp8", "te_mxfp8"},
    {"maxtext", "nvfp4", "te_nvfp4"},
    // mosaicml/composer, core/precision.py
    {"fsdp", "bf16", "amp_bf16"},
    {"fsdp", "fp16", "amp_fp16"},
    {"fsdp", "fp32", "fp32"},
    {"fsdp", "fp8-ds", "amp_fp8"},
    {"fsdp", "fp8", "amp_fp8"},
    // accelerate, utils/dataclasses.py, PrecisionType
    {"accelerate", "bf16", "bf16"},
    {"accelerate", "fp16", "fp16"},
    {"accelerate", "fp32", "no"},
    {"accelerate", "fp8", "fp8"},
    {"accelerate", "fp8-ds", "fp8"},
};

bool of_megatron(std::string_view table) { return table == "megatron" || table == "bridge" || table == "nemo"; }

/// A name column of a table of rows.
template <class Rows, class Row>
std::vector<Spelling> column(const Rows& rows, std::string_view Row::*theirs) {
  std::vector<Spelling> out;
  for (const auto row : rows) {
    const Row& values = *row.operator->();
    if (!(values.*theirs).empty()) out.push_back({values.name, values.*theirs});
  }
  return out;
}

std::vector<Spelling> context_names(std::string_view table) {
  if (table == "maxtext") return column(context_kinds(), &ContextRow::maxtext);
  if (!of_megatron(table)) return {};
  std::vector<Spelling> out = column(context_kinds(), &ContextRow::megatron);
  out.push_back({ContextKind::all_gather.name(), "allgather"});  // the help of --cp-comm-type; Transformer Engine's
                                                                 // attention takes "all_gather" alone
  return out;
}

std::vector<Spelling> schedule_spellings(std::string_view table) {
  if (table == "torchtitan") return column(pipeline_schedules(), &ScheduleRow::torchtitan);
  if (table == "nanotron") return column(pipeline_schedules(), &ScheduleRow::nanotron);
  return {};
}

/// megatron/core/transformer/transformer_config.py: moe_token_dispatcher_type, and for "flex"
/// moe_flex_dispatcher_backend.
std::vector<Spelling> dispatcher_spellings(std::string_view table) {
  if (table == "flex-backend") return {{"deepep", "deepep"}, {"hybridep", "hybridep"}};
  if (!of_megatron(table)) return {};
  return {{"all-gather", "allgather"}, {"all-to-all", "alltoall"}};
}

}  // namespace

std::vector<Spelling> launcher_names(std::string_view field, std::string_view table) {
  if (field == "layout.cp_kind") return context_names(table);
  if (field == "layout.schedule") return schedule_spellings(table);
  if (field == "recipe.kernels.dispatcher") return dispatcher_spellings(table);
  std::vector<Spelling> out;
  for (const PrecisionName& row : precision_names) {
    if (field == "precision" && row.table == table) out.push_back({row.ours, row.theirs});
  }
  return out;
}

std::string_view spelled(std::string_view field, std::string_view table, std::string_view ours) {
  for (const Spelling& name : launcher_names(field, table)) {
    if (name.ours == ours) return name.theirs;
  }
  return {};
}

std::string_view precision_name(const Precision& precision, std::string_view table, std::string_view dialect) {
  if (const std::string_view theirs = spelled("precision", table, precision.name); !theirs.empty()) return theirs;
  std::vector<std::string_view> has;
  for (const Spelling& name : launcher_names("precision", table)) has.push_back(name.ours);
  refuse_precision(precision, dialect, fmt::format("it has {}", fmt::join(has, ", ")));
}

void refuse_precision(const Precision& precision, std::string_view dialect, std::string_view why) {
  throw Error("--flags", fmt::format("{} cannot configure {}: {}", dialect, precision.name, why));
}

TokenDispatch megatron_dispatch(const Job& job, const Layout& layout, std::string_view dialect) {
  const std::string_view ours = dispatcher_names[static_cast<std::size_t>(job.recipe.kernels.dispatcher)];
  if (const std::string_view type = spelled("recipe.kernels.dispatcher", dialect, ours); !type.empty())
    return {type, {}};
  const std::string_view backend = spelled("recipe.kernels.dispatcher", "flex-backend", ours);
  const bool known = dialect == "nemo" ? ours == "deepep" : !backend.empty();  // NeMo 25.04: moe_enable_deepep alone
  // token_dispatcher.py: the flex dispatcher asserts tensor times expert ranks above 1.
  if (layout.ep * expert_tensor_parallel(layout, job.framework) == 1) return {"alltoall", {}};
  return known ? TokenDispatch{"flex", backend} : TokenDispatch{};
}

std::vector<std::string_view> recompute_modules(const Job& job) {
  std::vector<std::string_view> out;
  for (std::size_t i = 0; i < recompute_module_names.size(); ++i) {
    const auto module = static_cast<RecomputeModule>(i);
    if (job.recipe.activations.recompute_modules.has(module) && has_module(job.model, module))
      out.push_back(recompute_module_names[i]);
  }
  return out;
}

}  // namespace meshwright::parallel
