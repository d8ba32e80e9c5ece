#include "search/bound.hpp"

#include <algorithm>
#include <limits>

namespace meshwright::search {
namespace {

/// The bound and the step add the same numbers in another order.
constexpr double rounding = 1 - 1e-9;

}  // namespace

LeastPass least_pass(const ShardCosts& costs, const std::vector<ModelSection>& sections) {
  std::array<Seconds, 3> least{}, host{};
  Seconds redone = Seconds::base(std::numeric_limits<double>::infinity());
  for (std::size_t i = 0; i < sections.size(); ++i) {
    const BlockCost& section = costs.sections[i];
    for (std::size_t mode = 0; mode < least.size(); ++mode) {
      least[mode] +=
          sections[i].count * (section.forward.total() + section.backward.total() + section.recompute[mode].total());
      host[mode] += sections[i].count * section.host[mode];
    }
    if (sections[i].kind == SectionKind::block) redone = std::min(redone, section.recompute[2].total());
  }
  const Seconds kept = least.front();
  for (std::size_t mode = 0; mode < least.size(); ++mode) least[mode] = std::max(least[mode], host[mode]);
  return {least, kept, redone};
}

Seconds least_step(Seconds pass, const Layout& layout, int global_batch) {
  const double m = micro_batches(global_batch, layout);
  double passes = m / layout.pp;
  const PipelineSchedule schedule = effective_schedule(layout);
  if (!schedule->fills_ramp) passes += (1 - 1.0 / layout.pp) / layout.vp;
  return rounding * passes * pass;
}

Seconds least_step_of_shard(Seconds pass, const Layout& layout, int global_batch, int accelerators) {
  const double passes = static_cast<double>(global_batch) * layout.tp * layout.cp /
                        (static_cast<double>(accelerators) * layout.micro_batch);
  return rounding * passes * pass;
}

}  // namespace meshwright::search
