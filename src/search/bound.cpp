#include "search/bound.hpp"

#include <algorithm>

#include "meshwright/parallel/waits.hpp"

namespace meshwright::search {
namespace {

/// The bound and the step add the same numbers in another order.
constexpr double rounding = 1 - 1e-9;

}  // namespace

Passes passes(const ShardCosts& costs) {
  Passes all(costs.sections.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    const BlockCost& section = costs.sections[i];
    for (std::size_t mode = 0; mode < section.host.size(); ++mode) {
      all[i].device[mode] = section.forward.total() + section.backward.total() + section.recompute[mode].total();
      all[i].host[mode] = section.host[mode];
      all[i].awaited[mode] = section.awaited[mode];
      if (section.awaited[mode] > Seconds{}) all[i].awaiting[mode] = awaiting(section, static_cast<Recompute>(mode));
    }
  }
  return all;
}

Seconds least_pass(const Passes& passes, const std::vector<ModelSection>& sections, Recompute mode) {
  const auto at = static_cast<std::size_t>(mode);
  Seconds device, host;
  for (std::size_t i = 0; i < sections.size(); ++i) {
    device += sections[i].count * passes[i].device[at];
    host += sections[i].count * passes[i].host[at];
  }
  return std::max(device, host);
}

Seconds least_step(const Passes& passes, const StageKinds& stages, const Layout& layout, int global_batch,
                   const StepConstants& c) {
  Seconds slowest, sum;
  for (const StageKind& stage : stages.kinds) {
    Seconds device = c.passes * stage.blocks * c.layer_overhead, host, awaited, awaiting;
    for (const StageSection& section : stage.sections) {
      const SectionPass& pass = passes[section.section];
      const auto mode = static_cast<std::size_t>(recompute_of(section, layout));
      device += section.runs * pass.device[mode];
      host += section.runs * pass.host[mode];
      awaited += section.runs * pass.awaited[mode], awaiting += section.runs * pass.awaiting[mode];
    }
    const Seconds slot = slot_time(device, host, awaited, awaiting, c.drained);
    slowest = std::max(slowest, slot), sum += static_cast<double>(stage.stages) * slot;
  }
  Seconds step = static_cast<double>(micro_batches(global_batch, layout)) * slowest;
  if (!effective_schedule(layout)->fills_ramp) step += (sum - slowest) / static_cast<double>(layout.vp);
  return rounding * step;
}

Seconds least_step_of_shard(Seconds pass, const Layout& layout, int global_batch, int accelerators) {
  const double passes = static_cast<double>(global_batch) * layout.tp * layout.cp /
                        (static_cast<double>(accelerators) * layout.micro_batch);
  return rounding * passes * pass;
}

}  // namespace meshwright::search
