#include "meshwright/capacity/goodput.hpp"

#include <algorithm>
#include <cmath>

namespace meshwright::capacity {
namespace {

/// Work of one level inside the losses of the levels below it, whose shares are `inner`.
WallShares add_level(const WallShares& inner, const CheckpointLevel& level, double rate, double recovers) {
  // `recovers`: the share of wall time outside recovery, the mean of e^(-rate down) over the failures of the level.
  const double work = level.interval.value() / inner.useful;
  const double cycle = work + level.blocking.value();
  if (!(cycle > 0)) return inner;
  // Wall time of useful work and saving over that of everything: x / (e^x - 1) and its limit 1 for x = 0.
  const double x = rate * cycle;
  const double kept = (x > 0 ? x / std::expm1(x) : 1.0) * std::exp(-rate * level.lag.value()) * recovers;
  const double share = work / cycle * kept;
  WallShares out;
  out.useful = inner.useful * share;
  out.checkpoint = inner.checkpoint * share + level.blocking.value() / cycle * kept;
  out.lost = inner.lost * share + recovers - kept;
  out.down = inner.down * share + 1 - recovers;
  return out;
}

/// A recovery that failures of other levels start again.
double stretched(double down, double others) {
  const double x = others * down;
  return x > 1e-9 ? down * std::expm1(x) / x : down;
}

}  // namespace

Hertz Process::rate() const {
  Hertz sum{};
  for (const FailureClass& f : failures) sum += f.rate;
  return sum;
}

WallShares wall_shares(const Process& process) {
  const int last = static_cast<int>(process.levels.size()) - 1;
  const auto level_of = [&](const FailureClass& f) { return std::clamp(f.level, 0, std::max(0, last)); };
  WallShares shares;
  for (int l = 0; l <= last; ++l) {
    double rate = 0, recovers = 0;
    for (const FailureClass& f : process.failures) rate += level_of(f) == l ? f.rate.value() : 0;
    const double others = process.rate().value() - rate;
    for (const FailureClass& f : process.failures) {
      if (level_of(f) != l || rate <= 0) continue;
      recovers += f.rate.value() / rate * std::exp(-rate * stretched(f.down.value(), others));
    }
    shares = add_level(shares, process.levels[static_cast<std::size_t>(l)], rate, rate > 0 ? recovers : 1);
  }
  return shares;
}

Seconds young_interval(Seconds blocking, Seconds mtbf) {
  return Seconds::base(std::sqrt(2 * blocking.value() * mtbf.value()));
}

Seconds daly_interval(Seconds blocking, Seconds mtbf) {
  if (blocking >= mtbf * 2) return mtbf;
  const double ratio = blocking / (mtbf * 2);
  return young_interval(blocking, mtbf) * (1 + std::sqrt(ratio) / 3 + ratio / 9) - blocking;
}

Seconds best_interval(Seconds blocking, Seconds lag, Seconds mtbf, Seconds least) {
  const double b = blocking / mtbf;
  // Root of f(u) = u - 1 + e^(-u - b) in [0, 1]: f rises with u, from below zero to above it.
  double u = std::min(1.0, std::sqrt(2 * b));
  for (int i = 0; i < 60; ++i) {
    const double e = std::exp(-u - b);
    const double slope = 1 - e;
    if (!(slope > 0)) break;
    const double next = std::clamp(u - (u - 1 + e) / slope, 0.0, 1.0);
    if (std::abs(next - u) <= 1e-14) break;
    u = next;
  }
  return std::max({mtbf * u, lag, least});
}

}  // namespace meshwright::capacity
