#pragma once
// Cost of one section of the model on one rank: its operators' kernels and the communication between and beside them.
#include <span>

#include "meshwright/parallel/tables.hpp"
#include "meshwright/workload/sections.hpp"
#include "parallel/communication.hpp"

namespace meshwright::parallel {

/// What is being cut: kernels and communication of a job under the keys of ShardCosts.
struct BlockContext {
  const Job& job;
  const Layout& layout;
  Communication& communication;
};

/// A section's operators on one rank and what their kernels take, whatever overlaps and wherever ranks are.
struct SectionKernels;
SectionKernels section_kernels(const Job& job, const Layout& layout, const ModelSection& section);

/// With the kernels of the context's job and layout.
BlockCost section_cost(const BlockContext& context, const ModelSection& section, const SectionKernels& kernels);

/// Both passes of a section without the exchange of routed experts: it takes no less however they are spread.
Seconds least_section(const BlockContext& context, const ModelSection& section);

}  // namespace meshwright::parallel
