#include "meshwright/parallel/job_recipe.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "meshwright/parallel/schema.hpp"
#include "parallel/complete_recipe.hpp"
#include "parallel/part_reader.hpp"

namespace meshwright::parallel {
namespace {

using Json = nlohmann::ordered_json;

Json value_of(double field) { return field; }
Json value_of(int field) { return field; }
Json value_of(bool field) { return field; }
Json value_of(const std::string& field) { return field; }
template <Choice E>
Json value_of(E field) {
  return std::string(choice_names(field)[static_cast<std::size_t>(field)]);
}
template <const auto& Names>
Json value_of(const NameSet<Names>& field) {
  Json list = Json::array();
  for (std::size_t i = 0; i < Names.size(); ++i) {
    if (field.has(i)) list.push_back(std::string(Names[i]));
  }
  return list;
}

/// What is off, and formats that follow the precision, is not worth a line.
bool is_off(const Json& value) {
  static const Json off[] = {false, 0, "none", Json::array(), "compute"};
  return std::ranges::find(off, value) != std::end(off);
}

/// Whether a field tells anything about this job.
bool enters(std::string_view part, std::string_view key, const JobParts& job) {
  const Recipe& r = job.recipe;
  if (part == "trainable" && key == "unpacking" && !is_packed(r.trainable)) return false;
  if (part == "trainable") return key == "kind" || key == "frozen" || r.trainable.kind == TrainableKind::lora;
  if (part == "offload") return key != "activation_layers" || r.offload.activations;
  if (part != "kernels") return true;
  if (key == "graph_parts") return r.kernels.cuda_graphs == CudaGraphs::partial;
  constexpr std::string_view of_experts[] = {"fused_router", "fused_permute",   "expert_gemm",
                                             "dispatcher",   "static_shapes",   "shared_expert_overlap",
                                             "delay_wgrad",  "capacity_factor", "pad_to_capacity"};
  return job.model.is_moe() || std::ranges::find(of_experts, key) == std::end(of_experts);
}

/// "adamw", "2", "true", "core_attn + mlp".
std::string in_words(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_array()) return value.dump();
  return fmt::format("{}", fmt::join(value.get<std::vector<std::string>>(), " + "));
}

void list_defaults(JobParts& job, const std::optional<Reader>& stated) {
  const std::string owner = job.framework.name + (job.framework.version.empty() ? "" : " " + job.framework.version);
  describe(job.recipe, [&](std::string_view part, const auto& fields) {
    const auto said = stated ? stated->find(part) : std::nullopt;
    std::vector<std::string> defaults;
    describe(fields, [&](std::string_view key, const auto& field) {
      if ((said && said->has(key)) || !enters(part, key, job)) return;
      if (const Json value = value_of(field); !is_off(value))
        defaults.push_back(fmt::format("{} {}", key, in_words(value)));
    });
    if (!defaults.empty()) {
      job.assumptions.push_back(fmt::format("recipe {}: {} ({})", part, fmt::join(defaults, ", "), owner));
    }
  });
}

bool has_kernel(const Accelerator& device, const AttentionKernel& kernel) {
  if (!kernel.fused) return true;
  if (device.compute_capability == 0) return kernel.share == 1;
  return device.compute_capability >= kernel.least_capability && device.compute_capability <= kernel.most_capability;
}

/// Whether its backward pass takes the model's heads: what a stack's choice for the device refuses is not fused.
bool takes_heads(const AttentionKernel& kernel, const Transformer& model) {
  return kernel.widest_head == 0 || qk_head_dim(model) <= kernel.widest_head;
}

/// The stack's kernels that the device has, best first.
std::vector<std::string> kernels_of(const JobParts& job) {
  std::vector<std::string> names;
  for (const std::string& name : job.framework.kernels.attention) {
    const AttentionKernel& kernel = attention_kernel(name, "framework " + job.framework.name + "/kernels/attention");
    if (has_kernel(job.cluster.accelerator, kernel)) names.push_back(kernel.name);
  }
  return names;
}

void settle_attention(JobParts& job, const std::string& where) {
  std::string& name = job.recipe.kernels.attention;
  const std::vector<std::string> valid = kernels_of(job);
  if (name == "auto") {
    const bool fused = !valid.empty() && takes_heads(attention_kernel(valid.front(), where), job.model);
    name = fused ? valid.front() : "unfused";
    return;
  }
  const AttentionKernel& kernel = attention_kernel(name, where);
  const std::string& device = job.cluster.accelerator.name;
  if (!has_kernel(job.cluster.accelerator, kernel)) {
    throw Error(where, fmt::format("found {}, {} has no such attention kernel; expected one of {}", kernel.name, device,
                                   fmt::join(valid, ", ")));
  }
  if (!takes_heads(kernel, job.model)) {
    throw Error(where, fmt::format("found {}, which takes heads of {} at most, {} has {}; expected another, or unfused",
                                   kernel.name, kernel.widest_head, job.model.name, qk_head_dim(job.model)));
  }
  name = kernel.name;
}

std::string place(const std::optional<Reader>& stated, std::string_view part, std::string_view key) {
  const auto object = stated ? stated->find(part) : std::nullopt;
  const auto member = object ? object->find(key) : std::nullopt;
  return member ? member->where() : fmt::format("recipe/{}/{}", part, key);
}

void check_formats(const JobParts& job, const std::optional<Reader>& stated) {
  const Recipe& r = job.recipe;
  const auto refuse = [&](std::string_view part, std::string_view key, const std::string& what) {
    throw Error(place(stated, part, key), what);
  };
  const bool low = job.precision.gemm != job.precision.rest;
  if (r.precision.low_precision_weights && !low) {
    refuse("precision", "low_precision_weights",
           fmt::format("found true, {} has no GEMM format of its own to hold weights in", job.precision.name));
  }
  if (r.precision.attention == StateFormat::fp8 && job.cluster.accelerator.memory_capacity.value() > 0 &&
      !job.cluster.accelerator.name.empty() && job.cluster.accelerator.peak(DType::fp8).value() <= 0) {
    refuse("precision", "attention",
           fmt::format("found fp8, {} has no such matrix units; expected compute", job.cluster.accelerator.name));
  }
  const StateFormat head = r.precision.head;
  if (head != StateFormat::compute && head != StateFormat::fp8 && head != StateFormat::fp32) {
    refuse("precision", "head",
           fmt::format("found {}, expected compute, fp8 or fp32", state_format_names[static_cast<std::size_t>(head)]));
  }
  if (head == StateFormat::fp32 && job.cluster.accelerator.peak(DType::fp32).value() <= 0) {
    refuse("precision", "head",
           fmt::format("found fp32, {} has no such units; expected compute", job.cluster.accelerator.name));
  }
  if (r.states.weights == StateFormat::none) refuse("states", "weights", "found none, expected a format");
  if (r.states.gradients == StateFormat::none) refuse("states", "gradients", "found none, expected a format");
  if (r.activations.activation_input == StateFormat::none)
    refuse("activations", "activation_input", "found none, expected a format");
  if (r.activations.attention_output == StateFormat::none)
    refuse("activations", "attention_output", "found none, expected a format");
  if (r.trainable.base == StateFormat::none) refuse("trainable", "base", "found none, expected a format");
  if (r.trainable.kind == TrainableKind::lora && r.trainable.rank < 1) {
    refuse("trainable", "rank", fmt::format("found {}, expected at least 1", r.trainable.rank));
  }
  if (r.trainable.kind == TrainableKind::lora && r.trainable.targets.bits == 0) {
    refuse("trainable", "targets", "found no part, adapters must sit on at least one");
  }
  if (r.trainable.kind == TrainableKind::all && r.trainable.whole.bits != 0)
    refuse("trainable", "whole", "found parts that are trained beside adapters, expected kind lora");
}

/// Megatron Core, transformer_config.py (moe_shared_expert_overlap): with the all-to-all dispatcher, and of experts
/// that are not recomputed.
void check_shared_experts(const JobParts& job, const std::optional<Reader>& stated) {
  const RecipeKernels& kernels = job.recipe.kernels;
  if (!kernels.shared_expert_overlap) return;
  const std::string where = place(stated, "kernels", "shared_expert_overlap");
  if (kernels.dispatcher != Dispatcher::all_to_all) {
    throw Error(where, fmt::format("found true with dispatcher {}, expected dispatcher all-to-all",
                                   dispatcher_names[static_cast<std::size_t>(kernels.dispatcher)]));
  }
  if (job.recipe.activations.recompute_modules.has(static_cast<std::size_t>(RecomputeModule::shared_experts)))
    throw Error(where, "found true with shared_experts among recompute_modules, expected one of the two");
}

/// Tokens that experts take at most, or exactly (Megatron Core, transformer_config.py: moe_expert_capacity_factor,
/// moe_pad_expert_input_to_capacity): what the busiest rank has over the mean then follows from it.
void settle_capacity(JobParts& job, const std::optional<Reader>& stated) {
  RecipeKernels& kernels = job.recipe.kernels;
  const std::string where = place(stated, "kernels", "capacity_factor");
  const double factor = kernels.capacity_factor;
  constexpr double most = 1000;
  if (!(factor >= 0 && factor <= most))
    throw Error(where, fmt::format("found {:g}, expected 0 (no token is dropped) to {:g}", factor, most));
  if (kernels.pad_to_capacity) {
    const std::string padding = place(stated, "kernels", "pad_to_capacity");
    if (factor == 0) throw Error(padding, "found true without a capacity_factor, expected one above 0");
    if (!dispatcher(kernels.dispatcher).pads) {
      throw Error(padding, fmt::format("found true with dispatcher {}, expected all-to-all, all-gather or hybridep",
                                       dispatcher_names[static_cast<std::size_t>(kernels.dispatcher)]));
    }
    kernels.static_shapes = true;
  }
  if (factor == 0) return;
  if (!job.model.is_moe()) throw Error(where, fmt::format("found {:g}, {} has no experts", factor, job.model.name));
  const double taken = kernels.pad_to_capacity ? factor : std::min(factor, job.moe_imbalance);
  if (taken != job.moe_imbalance) {
    job.assumptions.push_back(
        fmt::format("moe_imbalance: {:g} in place of {:g}, what experts take of their even share "
                    "(recipe kernels capacity_factor)",
                    taken, job.moe_imbalance));
  }
  job.moe_imbalance = taken;
}

}  // namespace

const Recipe& usual_recipe(const Framework& framework, const Precision& precision) noexcept {
  for (const PrecisionRecipe& own : framework.by_precision) {
    if (own.precision == precision.name) return own.recipe;
  }
  return framework.recipe;
}

void complete_recipe(JobParts& job, const std::optional<Reader>& stated) {
  job.recipe = usual_recipe(job.framework, job.precision);
  if (stated) read_field(*stated, job.recipe);
  settle_attention(job, place(stated, "kernels", "attention"));
  job.recipe.states.optimizer = optimizer(job.recipe.states.optimizer, place(stated, "states", "optimizer")).name;
  check_formats(job, stated);
  check_shared_experts(job, stated);
  settle_capacity(job, stated);
  RecipeStates& s = job.recipe.states;
  const DType compute = job.precision.rest;
  if (s.master == s.weights ||
      (s.weights == StateFormat::compute && s.master == StateFormat::fp32 && bytes_per_element(compute) == 4)) {
    s.master = StateFormat::none;
  }
  list_defaults(job, stated);
}

bool has_module(const Transformer& model, RecomputeModule module) noexcept {
  switch (module) {
    case RecomputeModule::mla_up_proj:
      return model.attention == AttentionKind::latent;
    case RecomputeModule::mlp:
      return !model.is_moe() || model.dense_layers > 0 || model.moe_every > 1 || !model.pattern.empty();
    case RecomputeModule::moe_act:
      return model.is_moe();
    case RecomputeModule::shared_experts:
      return model.shared_expert_ffn_hidden > 0;
    case RecomputeModule::core_attn:
    case RecomputeModule::layernorm:
      break;
  }
  return true;
}

JsonSchema recipe_shape() { return field_shape(Recipe{}); }

const AttentionKernel& attention_kernel(const Job& job) {
  return attention_kernel(job.recipe.kernels.attention, "recipe/kernels/attention");
}

}  // namespace meshwright::parallel
