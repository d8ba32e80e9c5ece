#include "meshwright/parallel/kernel_times.hpp"

#include "meshwright/parallel/tables.hpp"
#include "parallel/stage_kinds.hpp"

namespace meshwright::parallel {
namespace {

KernelTimes one_pass(const BlockCost& block, Recompute mode) {
  KernelTimes sum = block.forward_kernels;
  sum += block.backward_kernels;
  if (mode == Recompute::full) sum += block.forward_kernels;
  if (mode == Recompute::selective) sum += block.selective_kernels;
  return sum;
}

}  // namespace

KernelTimes stage_kernels(const Job& job, const Layout& layout, int stage) {
  Tables tables(job);
  const Entries e = tables.entries(layout);
  const auto stages = all_stages(job.model, job.framework, layer_classes(job.model), layout);
  const StageKind& kind = stages[static_cast<std::size_t>(stage)];
  KernelTimes sum;
  const auto add = [&](double count, const BlockCost& block, Recompute mode) { sum += count * one_pass(block, mode); };
  for (std::size_t i = 0; i < kind.blocks.size(); ++i) add(kind.blocks[i], e.shard->blocks[i], layout.recompute);
  add(kind.embedding, e.shard->embedding, Recompute::none);
  add(kind.head * (1 + job.model.mtp_layers), e.shard->head, Recompute::none);
  add(kind.head * job.model.mtp_layers, e.shard->mtp, layout.recompute);
  return static_cast<double>(micro_batches(job.global_batch, layout)) * sum;
}

}  // namespace meshwright::parallel
