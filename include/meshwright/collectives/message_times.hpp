#pragma once
// Times of one collective of one group at any size, as a table that a search reads in a few nanoseconds.
#include <array>
#include <bit>
#include <cstdint>

#include "meshwright/collectives/estimate.hpp"

namespace meshwright::collectives {

/// Times at 2^e and 1.5 * 2^e bytes for e = 10 .. 36, straight lines between them: within 1.5 % of the prices where one
/// row is the fastest and below them by at most some per cent where two meet; grows with the bytes and falls with
/// bandwidth wherever the prices do. Below 1 KiB the time of 1 KiB; beyond 64 GiB the last line goes on.
class MessageTimes {
 public:
  MessageTimes() = default;
  explicit MessageTimes(const CollectivePrices& prices);

  Seconds operator()(Bytes bytes) const noexcept {
    const double n = bytes.value();
    if (n <= least) return n > 0 ? Seconds::base(times_[0]) : Seconds{};
    if (n >= most) return Seconds::base(times_[points - 1] + (n - most) * last_slope());
    // The leading bits of a double are its exponent and the half of the octave; the others run linearly through it.
    const auto bits = std::bit_cast<std::uint64_t>(n);
    const auto at = static_cast<std::size_t>((bits >> 51) - first_half);
    const double share = static_cast<double>(bits & ((std::uint64_t{1} << 51) - 1)) * 0x1p-51;
    return Seconds::base(times_[at] + share * (times_[at + 1] - times_[at]));
  }

 private:
  static constexpr double least = 0x1p10, most = 0x1p36;
  static constexpr std::uint64_t first_half = std::bit_cast<std::uint64_t>(least) >> 51;
  static constexpr std::size_t points = 2 * 26 + 1;
  double last_slope() const noexcept { return (times_[points - 1] - times_[points - 2]) / (most / 4); }

  std::array<double, points> times_{};
};

}  // namespace meshwright::collectives
