#pragma once
// One function a dialect (parallel/launcher.hpp says where the names of the flags come from).
#include <string>
#include <string_view>
#include <vector>

#include "meshwright/parallel/job.hpp"
#include "meshwright/parallel/launcher.hpp"
#include "meshwright/parallel/layout.hpp"
#include "meshwright/parallel/placement.hpp"

namespace meshwright::parallel {

using Flags = std::vector<std::string>;

Flags megatron_flags(const Job& job, const Layout& layout);
Flags megatron_deepspeed_flags(const Job& job, const Layout& layout);
Flags torchtitan_flags(const Job& job, const Layout& layout);
Flags nanotron_flags(const Job& job, const Layout& layout);
Flags deepspeed_flags(const Job& job, const Layout& layout);
Flags fsdp_flags(const Job& job, const Layout& layout);
Flags maxtext_flags(const Job& job, const Layout& layout);
Flags bridge_flags(const Job& job, const Layout& layout);
Flags nemo_flags(const Job& job, const Layout& layout);
Flags accelerate_flags(const Job& job, const Layout& layout);

/// What launcher_names() calls the value; empty where there is no such row.
std::string_view spelled(std::string_view field, std::string_view table, std::string_view ours);
/// The same of a format; Error with what the dialect has where it lacks it.
std::string_view precision_name(const Precision& precision, std::string_view table, std::string_view dialect);
[[noreturn]] void refuse_precision(const Precision& precision, std::string_view dialect, std::string_view why);
/// Megatron Core's type of token dispatcher, and the backend of type "flex"; empty where the dialect lacks it.
struct TokenDispatch {
  std::string_view type, backend;
};
TokenDispatch megatron_dispatch(const Job& job, const Layout& layout, std::string_view dialect);
/// Modules of the model that selective recompute redoes, as Megatron Core names them.
std::vector<std::string_view> recompute_modules(const Job& job);

/// "Et*7|t*8|t*7L": E embedding, t a layer, m an MTP module, L the loss; '|' ends a chunk.
std::string stage_string(const Job& job, const Layout& layout);
/// Whether parameters are gathered behind the forward pass; Error where gradients are not reduced behind the backward
/// pass, beside which alone Megatron does it.
bool megatron_gathers(const Layout& layout, std::string_view dialect);
/// Ranks of data parallelism that share states, where a stack's context ranks share them besides (data_shard); Error
/// where hsdp_shard is no multiple of cp.
int shard_degree(const Layout& layout, std::string_view dialect);
/// Whether ranks are numbered with pipeline stages inside data parallelism; Error for orders that Megatron lacks.
bool megatron_order(const Layout& layout, std::string_view dialect);

}  // namespace meshwright::parallel
