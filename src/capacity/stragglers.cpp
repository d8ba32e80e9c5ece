#include "meshwright/capacity/stragglers.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/normal.hpp"

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

}  // namespace meshwright::capacity
