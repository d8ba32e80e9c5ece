#include "search/bound.hpp"

#include <algorithm>

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
      all[i].drained[mode] = section.drained * section.host[mode];
    }
  }
  return all;
}

Seconds least_pass(const Passes& passes, const std::vector<ModelSection>& sections, Recompute mode) {
  const auto at = static_cast<std::size_t>(mode);
  Seconds device, host;
  for (std::size_t i = 0; i < sections.size(); ++i) {
    device += sections[i].count * (passes[i].device[at] + passes[i].drained[at]);
    host += sections[i].count * passes[i].host[at];
  }
  return std::max(device, host);
}

Seconds least_step(const Passes& passes, const StageKinds& stages, const Layout& layout, int global_batch,
                   Seconds layer_overhead) {
  const auto mode = static_cast<std::size_t>(layout.recompute);
  Seconds slowest, sum;
  for (const StageKind& stage : stages.kinds) {
    Seconds device = 3 * stage.blocks * layer_overhead, host, drained;
    for (const StageSection& section : stage.sections) {
      const SectionPass& pass = passes[section.section];
      device += section.runs * pass.device[mode];
      host += section.runs * pass.host[mode], drained += section.runs * pass.drained[mode];
    }
    const double waiting = host.value() > 0 ? drained / host : 0;
    const Seconds slot = std::max(device, host) + waiting * std::min(device, host);
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
