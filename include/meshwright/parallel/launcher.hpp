#pragma once
// A layout as the flags of a training stack's launcher, ready to paste.
#include <string>
#include <string_view>
#include <vector>

#include "meshwright/parallel/job.hpp"
#include "meshwright/parallel/layout.hpp"

namespace meshwright::parallel {

/// Names of the dialects: "megatron", "megatron-deepspeed", "torchtitan", "nanotron", "deepspeed", "fsdp", "maxtext".
std::vector<std::string> launcher_dialects();

/// One flag (with its value) a string, model shape first. An empty dialect is the framework's own; an unknown one is an
/// Error("--flags", ...) with the nearest spelling.
///   megatron            command line of Megatron-LM's pretrain_gpt.py (megatron/training/arguments.py)
///   megatron-deepspeed  the same of its DeepSpeed fork
///   torchtitan          overrides of its job config (torchtitan/config/job_config.py)
///   nanotron            keys of its YAML (nanotron/config)
///   deepspeed           keys of ds_config.json (deepspeed.ai/docs/config-json)
///   fsdp                keys of LLM Foundry's YAML, which hands them to PyTorch FSDP
///   maxtext             keys of MaxText's base.yml
std::vector<std::string> launcher_flags(const Job& job, const Layout& layout, std::string_view dialect = {});

}  // namespace meshwright::parallel
