#pragma once
// Hosts that read from their device before they can go on.
#include <algorithm>

#include "meshwright/parallel/tables.hpp"

namespace meshwright::parallel {

/// What the device is busy with in the passes of a block in which its host waits for it (BlockCost::awaited): not
/// transfers beside its kernels.
inline Seconds awaiting(const BlockCost& block, Recompute mode) noexcept {
  const auto waited_for = [](const Pass& pass) { return pass.total() - pass.stretched; };
  const bool again = mode == Recompute::full;
  return waited_for(block.forward) + (again ? waited_for(block.recompute[2]) : Seconds{});
}

/// What one micro-batch takes on a stage whose device is busy for `device` and whose host launches for `host`: they run
/// side by side, but for a share of the passes in which one waits for the other.
inline Seconds slot_time(Seconds device, Seconds host, Seconds awaited, Seconds awaiting, double drained) noexcept {
  return std::max(device, host) + drained * std::min(awaited, awaiting);
}

/// Whether the hosts of a pipeline's stages wait for those beside them (StackHost::pipeline_wait): where a tensor group
/// spans more than two nodes.
constexpr bool waits_for_neighbours(int pp, int tp, int node_accelerators) noexcept {
  return pp > 1 && tp > 2 * node_accelerators;
}

}  // namespace meshwright::parallel
