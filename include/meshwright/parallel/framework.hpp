#pragma once
// What a training stack does: a profile per framework (data/frameworks, compiled in), in parts, with dated releases
// that override fields of them. Never a factor for a run or model.
#include <string>
#include <string_view>
#include <vector>

#include "meshwright/core/reader.hpp"
#include "meshwright/hardware/catalog.hpp"
#include "meshwright/parallel/recipe.hpp"
#include "meshwright/parallel/release.hpp"
#include "meshwright/parallel/stack_parts.hpp"
#include "meshwright/workload/precision.hpp"

namespace meshwright::parallel {

/// The recipe of jobs in one precision ("fp16") where it is not the stack's usual one.
struct PrecisionRecipe {
  std::string precision;
  Recipe recipe;
};

/// What own runs told of steps of one model, sequence, format and kind of training, beyond what figures explain. In
/// overlays of `calibrate runs` alone.
struct WorkTime {
  std::string model;
  int seq_len = 0;
  std::string precision, trainable;
  double time = 1;           ///< a step over what its figures say
  double memory = 1;         ///< what comes and goes in a step over what operators keep
  double memory_spread = 0;  ///< standard deviation of the log of a peak over its prediction; 0 = as published ones lie
};

/// Facts and fitted parameters of one stack at one release, each with its source in the data file.
struct Framework {
  std::string name;                  ///< "megatron-core"
  std::vector<std::string> aliases;  ///< framework names in records that this profile stands for
  std::string title;
  std::vector<std::string> flags;  ///< which launcher_flags dialect: "megatron", "torchtitan", ...
  std::string notes;
  std::vector<std::string> fitted;  ///< fields of its kernels that are its own and not the device's ("kernels.X"),
                                    ///< which fits to runs may move
  std::vector<Release> releases;    ///< oldest first; none where nothing that a prediction needs is dated
  std::string version;              ///< of the release that the parts below are those of; "" without releases

  StackRules rules;
  StackDefaults defaults;
  StackMemory memory;
  StackStartUp start_up;
  StackOverlap overlap;
  StackHost host;
  StackLaunch launch;
  StackKernels kernels;
  Recipe recipe;                              ///< of a job that does not say; complete_recipe() picks by precision
  std::vector<PrecisionRecipe> by_precision;  ///< where a precision changes it
  std::vector<WorkTime> works;                ///< of own runs
  double work_time = 1;                       ///< those of the job at hand, of `works`
  double work_memory = 1, work_memory_spread = 0;
};

/// visit(key, part) for each part.
template <class V>
constexpr void describe(PartOf<Framework> auto& stack, V&& visit) {
  visit("rules", stack.rules);
  visit("defaults", stack.defaults);
  visit("memory", stack.memory);
  visit("start_up", stack.start_up);
  visit("overlap", stack.overlap);
  visit("host", stack.host);
  visit("launch", stack.launch);
  visit("kernels", stack.kernels);
  visit("recipe", stack.recipe);
}

/// True where the stack can run the schedule.
inline bool runs(const Framework& framework, PipelineSchedule schedule) noexcept {
  return framework.rules.schedules.has(schedule);
}

/// Whether gradients are reduced behind the backward pass where a layout does not say. What gathers each layer for its
/// pass does so beside the layers before it, and scatters alike: PyTorch's FSDP always, DeepSpeed unless told
/// (deepspeed/runtime/zero/config.py: overlap_comm is true where the stage is 3).
inline bool usual_grad_reduce(const Framework& framework, int zero_stage) noexcept {
  return zero_stage == 3 || framework.defaults.overlap_grad_reduce;
}
/// The same of parameters and the forward pass (under ZeRO-3, of both passes).
inline bool usual_param_gather(const Framework& framework, int zero_stage, bool overlap_grad_reduce) noexcept {
  return (zero_stage == 3 || framework.defaults.overlap_param_gather) &&
         (overlap_grad_reduce || !framework.rules.gathers_beside_reduces);
}

/// True where the stack trains in that format; of some stacks nothing is known.
bool trains_with(const Framework& framework, const Precision& precision) noexcept;
/// True where the device has matrix units for both formats of the recipe, and scales blocks in them where it asks that.
bool has_units_for(const Accelerator& device, const Precision& precision) noexcept;

/// A profile from its file, at its newest release; unknown keys are refused.
Framework read_framework(const Reader& reader);
/// The compiled-in profiles (data/frameworks) at their newest releases with what was fitted to runs (data/fitted), read
/// once.
const std::vector<Framework>& frameworks();
/// The profiles of data/frameworks with the entries of the catalogue's overlays: fields over those of the same name,
/// releases over those of the same version, new names and versions added.
std::vector<Framework> frameworks(const Catalog& catalog);
/// By name or alias, forgiving case and dashes; Error(where, ...) with the nearest spelling.
const Framework& framework(std::string_view name, const std::string& where);
/// The same among the catalogue's, at the release that `version` (and, where that names none, `date`) picks; with both
/// empty the newest. `choice`, where given, tells how (release_choice()).
Framework framework(std::string_view name, const std::string& where, const Catalog& catalog,
                    std::string_view version = {}, std::string_view date = {}, ReleaseChoice* choice = nullptr);

}  // namespace meshwright::parallel
