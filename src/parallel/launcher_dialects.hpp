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

}  // namespace meshwright::parallel
