#pragma once
// The alpha-beta-gamma cost of a message pattern (Hockney 1994; Thakur, Rabenseifner, Gropp 2005, sec. 3).
#include "meshwright/core/quantity.hpp"

namespace meshwright::cost {

/// alpha: latency of a message; beta: seconds per byte on the wire; gamma: seconds per byte combined.
struct AlphaBeta {
  Seconds alpha{};
  SecondsPerByte beta{};
  SecondsPerByte gamma{};
};

/// rounds * alpha + wire * n * beta + reduced * n * gamma. Ignores contention, overlap of levels and protocols.
constexpr Seconds alpha_beta_time(const AlphaBeta& link, double rounds, double wire, double reduced, Bytes n) {
  return rounds * link.alpha + wire * (n * link.beta) + reduced * (n * link.gamma);
}

}  // namespace meshwright::cost
