#include "meshwright/capacity/stragglers.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/normal.hpp"
#include "capacity/random.hpp"

namespace meshwright::capacity {
namespace {

/// P(one host's slowest GPU <= x).
double host_distribution(const StragglerModel& m, int per_host, double x) {
  const double usual = std::pow(rank_distribution(m, x, false), per_host);
  if (m.slow_share <= 0) return usual;
  return (1 - m.slow_share) * usual + m.slow_share * std::pow(rank_distribution(m, x, true), per_host);
}

/// P(at most `removed` of n hosts are above x): the binomial tail, in logarithms.
double at_most(double below, int n, int removed) {
  const double above = 1 - below;
  if (above <= 0) return 1;
  if (below <= 0) return 0;
  double sum = 0, log_choose = 0;
  for (int k = 0; k <= removed; ++k) {
    if (k > 0) log_choose += std::log(static_cast<double>(n - k + 1) / k);
    sum += std::exp(log_choose + k * std::log(above) + (n - k) * std::log1p(-above));
  }
  return std::min(1.0, sum);
}

class Slowest {
 public:
  Slowest(const StragglerModel& model, const RankCounts& ranks, int removed)
      : model_(model), ranks_(ranks), removed_(removed) {
    const double sigma = std::max(model.spread, 1e-12), tail = std::max(model.jitter, 1e-12);
    low_ = 1 - 8 * sigma;
    high_ = std::max(1.0, model.slow_factor) + 9 * sigma + 60 * tail;
  }
  double distribution(double x) const {
    return at_most(host_distribution(model_, ranks_.per_host, x), ranks_.hosts + removed_, removed_);
  }
  double quantile(double p, int halvings = 60) const {
    double low = low_, high = high_;
    for (int i = 0; i < halvings; ++i) {
      const double middle = (low + high) / 2;
      (distribution(middle) < p ? low : high) = middle;
    }
    return (low + high) / 2;
  }
  /// low + integral of 1 - F from `low` on, by midpoints where F is neither 0 nor 1.
  double mean() const {
    constexpr int parts = 128, halvings = 30;
    constexpr double none = 1e-7;
    const double low = quantile(none, halvings), high = quantile(1 - none, halvings), width = (high - low) / parts;
    double above = 0;
    for (int i = 0; i < parts; ++i) above += 1 - distribution(low + (i + 0.5) * width);
    return low + above * width;
  }

 private:
  const StragglerModel& model_;
  RankCounts ranks_;
  int removed_;
  double low_ = 0, high_ = 2;
};

bool all_equal(const StragglerModel& m) {
  return m.spread <= 0 && m.jitter <= 0 && (m.slow_share <= 0 || m.slow_factor == 1);
}

/// The slowest rank of one draw, without the `removed` slowest hosts.
double draw_slowest(const StragglerModel& m, const RankCounts& ranks, int removed, Random& random,
                    std::vector<double>& hosts) {
  for (double& host : hosts) {
    const double base = random.uniform() < m.slow_share ? m.slow_factor : 1;
    host = 0;
    for (int g = 0; g < ranks.per_host; ++g)
      host = std::max(host, base + m.spread * random.normal() + m.jitter * random.exponential());
  }
  std::nth_element(hosts.begin(), hosts.begin() + removed, hosts.end(), std::greater<>());
  return hosts[static_cast<std::size_t>(removed)];
}

}  // namespace

double rank_distribution(const StragglerModel& m, double x, bool slow) {
  const double centre = slow ? m.slow_factor : 1;
  if (m.spread <= 0 && m.jitter <= 0) return x >= centre ? 1 : 0;
  if (m.spread <= 0) return x <= centre ? 0 : -std::expm1(-(x - centre) / m.jitter);
  const double z = (x - centre) / m.spread;
  if (m.jitter <= 0) return normal_distribution(z);
  // Normal plus exponential with rate l = spread / jitter in units of the spread.
  const double l = m.spread / m.jitter;
  const double shifted = normal_distribution(z - l);
  // The second factor would overflow where the first is zero.
  const double tail = shifted > 0 ? std::exp(std::log(shifted) - l * z + l * l / 2) : 0;
  return std::clamp(normal_distribution(z) - tail, 0.0, 1.0);
}

StragglerTimes straggler_times(const StragglerModel& model, const RankCounts& ranks, int removed) {
  if (all_equal(model)) return {};
  const Slowest slowest(model, ranks, removed);
  return {slowest.mean(), slowest.quantile(0.5), slowest.quantile(0.99)};
}

StragglerTimes straggler_monte_carlo(const StragglerModel& model, const RankCounts& ranks, int removed, int draws,
                                     std::uint64_t seed) {
  Random random(seed);
  std::vector<double> hosts(static_cast<std::size_t>(ranks.hosts + removed)), slowest;
  double sum = 0;
  for (int i = 0; i < std::max(2, draws); ++i) {
    slowest.push_back(draw_slowest(model, ranks, removed, random, hosts));
    sum += slowest.back();
  }
  std::ranges::sort(slowest);
  const auto at = [&](double p) { return slowest[static_cast<std::size_t>(p * static_cast<double>(slowest.size()))]; };
  return {sum / static_cast<double>(slowest.size()), at(0.5), at(0.99)};
}

Removal removal(const StragglerModel& model, const RankCounts& ranks, int removed, Seconds stop) {
  const double with = straggler_times(model, ranks, 0).mean, without = straggler_times(model, ranks, removed).mean;
  const double gain = std::max(0.0, 1 - without / with);
  const double after = gain > 0 ? stop.value() / gain : std::numeric_limits<double>::infinity();
  return {gain, Seconds::base(after)};
}

}  // namespace meshwright::capacity
