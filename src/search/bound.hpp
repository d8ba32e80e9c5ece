#pragma once
// Times that no layout of a part of the space goes below, from table entries alone.
#include <algorithm>
#include <array>

#include "meshwright/parallel/tables.hpp"
#include "meshwright/workload/sections.hpp"

namespace meshwright::search {

/// What one micro-batch takes of a section, by Recompute: of the device (kernels and exposed communication), of the
/// host that launches it, and of both what passes in which the host waits for the device take (parallel/waits.hpp).
struct SectionPass {
  std::array<Seconds, 3> device{}, host{}, awaited{}, awaiting{};
};
using Passes = std::vector<SectionPass>;  ///< as model_sections() orders them
Passes passes(const ShardCosts& costs);

/// One micro-batch through every stage of any pipeline. A stage's slot is at least device and at least host (step.cpp);
/// so is the sum over stages.
Seconds least_pass(const Passes& passes, const std::vector<ModelSection>& sections, Recompute mode);

/// The least step on these stages: m slots of the slowest, w, and with 1F1B, interleaving or GPipe the bubble, the
/// other slots over vp; other schedules may hide all of it. Slots have all but ZeRO-3's gathers, sends' host time and
/// what is moved to the host; gradient reduction, sends, optimizer and step overhead only add to it. m w + (S - w) / vp
/// falls in neither w nor the sum S, so that both may be put at their least.
Seconds least_step(const Passes& passes, const StageKinds& stages, const Layout& layout, int global_batch,
                   const StepConstants& constants);

/// The least step of a shard choice whatever its pipeline: m / pp is global_batch tp cp / (accelerators micro_batch)
/// where data-parallel degree and micro-batch divide the batch, and layouts where they don't are refused.
Seconds least_step_of_shard(Seconds pass, const Layout& layout, int global_batch, int accelerators);

}  // namespace meshwright::search
