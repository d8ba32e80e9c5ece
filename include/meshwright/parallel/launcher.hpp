#pragma once
// A layout as the flags of a training stack's launcher, ready to paste.
#include <string>
#include <string_view>
#include <vector>

#include "meshwright/parallel/job.hpp"
#include "meshwright/parallel/layout.hpp"

namespace meshwright::parallel {

/// Names of the dialects: "megatron", "bridge", "nemo", "megatron-deepspeed", "torchtitan", "nanotron", "deepspeed",
/// "accelerate", "fsdp", "maxtext".
std::vector<std::string> launcher_dialects();

/// One flag (with its value) a string, model shape first. An empty dialect is the framework's own. Error("--flags",
/// ...) for an unknown one, with the nearest spelling, for that of another stack than the job's, and for one that has
/// no key for an axis of the layout.
///   megatron            command line of Megatron-LM's pretrain_gpt.py (megatron/training/arguments.py)
///   bridge              overrides of Megatron-Bridge's ConfigContainer (megatron/bridge/training/config.py)
///   nemo                overrides of a NeMo 2.0 recipe (nemo/lightning)
///   megatron-deepspeed  the same of its DeepSpeed fork
///   torchtitan          overrides of its job config (torchtitan/config/job_config.py)
///   nanotron            keys of its YAML (nanotron/config)
///   deepspeed           keys of ds_config.json (deepspeed.ai/docs/config-json)
///   accelerate          keys of accelerate's YAML for FSDP 2, and the trainer's batch
///   fsdp                keys of LLM Foundry's YAML, which hands them to PyTorch FSDP
///   maxtext             keys of MaxText's base.yml
std::vector<std::string> launcher_flags(const Job& job, const Layout& layout, std::string_view dialect = {});

/// A value's own name and that in configurations of a stack.
struct Spelling {
  std::string_view ours, theirs;
};
/// Names of a field's values ("layout.cp_kind", "layout.schedule", "precision", "recipe.kernels.dispatcher") in a
/// dialect, or of a precision under a key that several have: "dtype" (types of torch and JAX), "fp8-recipe" (Megatron
/// Core), "flex-backend" of a dispatcher. Flags are written by the first row of a value, configurations and logs are
/// read by the first of a name. Empty where there are none.
std::vector<Spelling> launcher_names(std::string_view field, std::string_view table);

struct Prediction;
/// The flags as a file in the stack's own syntax (arguments, overrides, YAML, JSON), with what is predicted and every
/// assumption as comments.
std::string launch_file(const Job& job, const Prediction& prediction, std::string_view dialect = {});
/// Refuses a file whose ending names another syntax than the dialect's: arguments in x.toml. Error("--launch", ...).
void check_launch_ending(const Job& job, std::string_view path, std::string_view dialect = {});
/// The release of the launcher that these flags are written for: "Megatron-LM, core 0.20, 2026-08-22 (d98e8a64dd)".
std::string launcher_release(const Job& job, std::string_view dialect = {});

}  // namespace meshwright::parallel
