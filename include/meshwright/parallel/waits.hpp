#pragma once
// Hosts that read from their device before they can go on.
#include "meshwright/parallel/tables.hpp"

namespace meshwright::parallel {

/// What the device is busy with in the passes of a block in which its host waits for it (BlockCost::awaited): not
/// transfers beside its kernels.
inline Seconds awaiting(const BlockCost& block, Recompute mode) noexcept {
  const auto waited_for = [](const Pass& pass) { return pass.total() - pass.stretched; };
  const bool again = mode == Recompute::full;
  return waited_for(block.forward) + (again ? waited_for(block.recompute[2]) : Seconds{});
}

}  // namespace meshwright::parallel
