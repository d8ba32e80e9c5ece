#pragma once
// One function a dialect (parallel/launcher.hpp says where the names of the flags come from).
#include <string>
#include <vector>

#include "meshwright/parallel/job.hpp"
#include "meshwright/parallel/layout.hpp"

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

/// "Et*7|t*8|t*7L": E embedding, t a layer, m an MTP module, L the loss; '|' ends a chunk.
std::string stage_string(const Job& job, const Layout& layout);
/// Whether ranks are numbered with pipeline stages inside data parallelism; Error for orders that Megatron lacks.
bool megatron_order(const Layout& layout, std::string_view dialect);

}  // namespace meshwright::parallel
