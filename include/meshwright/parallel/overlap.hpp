#pragma once
// Communication beside compute: a window and a mutual slowdown.
#include "meshwright/core/quantity.hpp"

namespace meshwright::parallel {

/// What a transfer of length `total` costs beside a window of compute.
struct Overlap {
  Seconds exposed, hidden;
};

/// Runs `transfer` beside `window`. While both run each is stretched by `slowdown` (communication kernels take SMs and
/// memory bandwidth from compute, and lose theirs to it); the rest of the longer one runs at full speed:
///   time = max(window, transfer) + slowdown * min(window, transfer);  exposed = time - window, at most the transfer.
/// With slowdown 0 it is perfect hiding, with 1 none. Negative arguments are not valid.
/// Ref.: Calculon (Isaev et al., SC'23) for windows; the stretch is measured per framework profile.
constexpr Overlap overlap(Seconds window, Seconds transfer, double slowdown) noexcept {
  const Seconds longer = window < transfer ? transfer : window;
  const Seconds shorter = window < transfer ? window : transfer;
  Seconds exposed = longer + slowdown * shorter - window;
  if (transfer < exposed) exposed = transfer;
  return {exposed, transfer - exposed};
}

}  // namespace meshwright::parallel
