#include "meshwright/parallel/kernel_times.hpp"

#include "meshwright/parallel/tables.hpp"
#include "meshwright/workload/sections.hpp"
#include "parallel/stage_kinds.hpp"

namespace meshwright::parallel {
namespace {

KernelTimes one_pass(const BlockCost& block, Recompute mode) {
  KernelTimes sum = block.forward_kernels;
  sum += block.backward_kernels;
  if (mode == Recompute::full) sum += block.again_kernels;
  if (mode == Recompute::selective) sum += block.selective_kernels;
  return sum;
}

}  // namespace

KernelTimes stage_kernels(const Job& job, const Layout& layout, int stage) {
  Tables tables(job);
  const Entries e = tables.entries(layout);
  const auto sections = model_sections(job.model);
  const auto stages = all_stages(job.model, job.framework, layout);
  KernelTimes sum;
  for (const StageSection& held : stages[static_cast<std::size_t>(stage)].sections) {
    const Recompute mode = is_recomputed(sections[held.section]) ? recompute_of(held, layout) : Recompute::none;
    sum += held.runs * one_pass(e.shard->sections[held.section], mode);
  }
  return static_cast<double>(micro_batches(job.global_batch, layout)) * sum;
}

}  // namespace meshwright::parallel
