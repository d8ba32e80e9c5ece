#pragma once
// Tiles over SMs: what a wave that is only begun costs.
#include <algorithm>

namespace meshwright::cost {

/// x > 0 rounded up, but beyond the first piece over a quarter of each gradually: libraries cut the pieces at the edge
/// smaller (split-k, uneven tiles), and one row more of an input is no whole tile more. std::ceil would also be a
/// library call on baseline x86-64. Sizes stay far below 2^53.
constexpr double begun(double x) noexcept {
  const auto whole = static_cast<double>(static_cast<long long>(x));
  return std::max(1.0, whole + std::min(1.0, 4 * (x - whole)));
}

/// Share of a partial last wave that is paid as a full one.
inline constexpr double wave_share = 0.25;
/// Waves that are paid for; one is the least.
constexpr double paid_waves(double waves) noexcept {
  return std::max(1.0, wave_share * begun(waves) + (1 - wave_share) * waves);
}

}  // namespace meshwright::cost
