#include "calibrate/run_log_steps.hpp"

#include <algorithm>
#include <cmath>

namespace meshwright::calibrate {
namespace {

constexpr std::size_t most_kept = 1 << 16;
constexpr double settled = 0.2;    ///< of the median: warm-up ends at the first step that is this near
constexpr double sick = 1.5;       ///< times the median, or the median times it
constexpr std::size_t named = 20;  ///< sick steps that are listed

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

}  // namespace

void StepSeries::add(int number, double value) {
  if (!(value > 0) || !std::isfinite(value)) return;
  if (!kept_.empty() && kept_.back().first == number) {
    kept_.back().second = value;  // a progress bar drawn again
    return;
  }
  ++read_;
  if (read_ % stride_ != 0) return;
  kept_.emplace_back(number, value);
  if (kept_.size() < most_kept) return;
  std::size_t to = 0;
  for (std::size_t from = 1; from < kept_.size(); from += 2) kept_[to++] = kept_[from];
  kept_.resize(to);
  stride_ *= 2;
}

void StepSeries::clear() {
  kept_.clear();
  read_ = 0, stride_ = 1;
}

LoggedSteps StepSeries::summary() const {
  LoggedSteps s;
  s.read = read_;
  if (kept_.empty()) return s;
  std::vector<double> values;
  for (const auto& [number, value] : kept_) values.push_back(value);
  const double late = median({values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end()});
  std::size_t first = values.size() >= 3 ? 1 : 0;
  while (first < values.size() / 2 && std::abs(values[first] / late - 1) > settled) ++first;
  s.warm_up = static_cast<int>(first) * stride_;
  values.erase(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(first));
  const double middle = median(values);
  std::vector<double> healthy;
  for (std::size_t i = first; i < kept_.size(); ++i) {
    const auto& [number, value] = kept_[i];
    if (value > sick * middle || value * sick < middle) {
      ++s.sick_count;
      if (s.sick.size() < named) s.sick.push_back(number);
    } else {
      healthy.push_back(value);
    }
  }
  s.median = median(healthy);
  std::vector<double> away;
  away.reserve(healthy.size());
  for (const double v : healthy) away.push_back(std::abs(v - s.median));
  s.spread = 1.4826 * median(away) / s.median;
  return s;
}

}  // namespace meshwright::calibrate
