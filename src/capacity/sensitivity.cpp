#include "meshwright/capacity/sensitivity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "capacity/random.hpp"
#include "capacity/roots.hpp"

namespace meshwright::capacity {
namespace {

/// The same on every machine, which std::hash does not promise (FNV-1a).
std::uint64_t hash_of(std::string_view text, std::uint64_t seed) {
  std::uint64_t hash = 14695981039346656037ULL ^ (seed * 1099511628211ULL);
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  return hash;
}

/// The strata of one input in random order.
std::vector<int> strata(std::string_view name, int draws, std::uint64_t seed) {
  std::vector<int> order(static_cast<std::size_t>(draws));
  std::iota(order.begin(), order.end(), 0);
  Random random(hash_of(name, seed));
  for (std::size_t i = order.size(); i > 1; --i) {
    const auto j = std::min(i - 1, static_cast<std::size_t>(random.uniform() * static_cast<double>(i)));
    std::swap(order[i - 1], order[j]);
  }
  return order;
}

Draw draw_of(const RunCase& run, const RunAssumptions& assumptions) {
  const RunEstimate e = estimate_run(run, assumptions);
  return {e.wall.value() / 86400, e.cost.value};
}

double objective(const Draw& draw, bool by_cost) { return by_cost ? draw.cost : draw.days; }

Draw with_input(const PlannedPoint& point, std::string_view name, double value) {
  RunAssumptions moved = point.assumptions;
  moved.inputs.set(name, value);
  return draw_of(*point.run, moved);
}

/// The range that a flip is looked for in.
struct Range {
  double low, high;
};

}  // namespace

std::vector<Draw> draw_points(const PlannedPoint& point, int draws, std::uint64_t seed) {
  struct Varying {
    const Input& input;
    std::vector<int> order;
  };
  std::vector<Varying> varying;
  for (const Input& input : point.assumptions.inputs.rows()) {
    if (input.varies()) varying.push_back({input, strata(input.name, draws, seed)});
  }
  RunAssumptions moved = point.assumptions;
  std::vector<Draw> out;
  for (int i = 0; i < draws; ++i) {
    for (const Varying& v : varying)
      moved.inputs.set(v.input.name, v.input.at((v.order[static_cast<std::size_t>(i)] + 0.5) / draws));
    out.push_back(draw_of(*point.run, moved));
  }
  return out;
}

Percentiles percentiles(std::vector<double> values) {
  std::ranges::sort(values);
  // Linear between order statistics.
  const auto at = [&](double p) {
    const double rank = p * static_cast<double>(values.size() - 1);
    const auto below = static_cast<std::size_t>(rank);
    const std::size_t above = std::min(values.size() - 1, below + 1);
    return values[below] + (values[above] - values[below]) * (rank - static_cast<double>(below));
  };
  return {at(0.1), at(0.5), at(0.9)};
}

std::vector<Sensitivity> tornado(const PlannedPoint& point, bool by_cost) {
  const double centre = objective(draw_of(*point.run, point.assumptions), by_cost);
  std::vector<Sensitivity> rows;
  for (const Input& input : point.assumptions.inputs.rows()) {
    if (!input.varies()) continue;
    Sensitivity row{.input = input.name,
                    .low = input.low,
                    .high = input.high,
                    .low_text = {},
                    .high_text = {},
                    .at_low = {},
                    .at_high = {}};
    row.at_low = with_input(point, input.name, input.low);
    row.at_high = with_input(point, input.name, input.high);
    row.low_text = format_value(input.low, input);
    row.high_text = format_value(input.high, input);
    const double low = objective(row.at_low, by_cost) / centre - 1, high = objective(row.at_high, by_cost) / centre - 1;
    row.effect = std::max(std::abs(low), std::abs(high));
    if (row.effect > 1e-9) rows.push_back(std::move(row));
  }
  std::ranges::stable_sort(rows, std::greater<>(), &Sensitivity::effect);
  return rows;
}

std::optional<double> root(const std::function<double(double)>& f, double low, double high) {
  double at_low = f(low);
  const double at_high = f(high);
  if (at_low == 0) return low;
  if (at_high == 0) return high;
  if (!(at_low * at_high < 0)) return {};
  for (int i = 0; i < 200 && high - low > 1e-9 * std::max({std::abs(low), std::abs(high), 1e-12}); ++i) {
    const double middle = (low + high) / 2, value = f(middle);
    if (value == 0) return middle;
    if (at_low * value < 0) {
      high = middle;
    } else {
      low = middle;
      at_low = value;
    }
  }
  return (low + high) / 2;
}

std::vector<Flip> flips(const PlannedPoint& best, const PlannedPoint& other, bool by_cost) {
  std::vector<Flip> found;
  const auto add = [&](const Input& input, const std::string& what, Range range, bool of_best, bool of_other) {
    const auto lead = [&](double value) {
      const double mine =
          objective(of_best ? with_input(best, input.name, value) : draw_of(*best.run, best.assumptions), by_cost);
      const double theirs =
          objective(of_other ? with_input(other, input.name, value) : draw_of(*other.run, other.assumptions), by_cost);
      return mine - theirs;
    };
    // From the central value to either end: `best` leads at the centre. Equal points don't change places.
    const double tiny = 1e-9 * objective(draw_of(*best.run, best.assumptions), by_cost), near = input.value;
    if (!(lead(near) < -tiny)) return;
    for (const double end : {range.low, range.high}) {
      if (near == end) continue;
      // The one next to the centre, of those that are more than rounding.
      const auto clear = [&](double value) { return lead(value) - tiny; };
      const std::vector<double> all = roots(clear, std::min(near, end), std::max(near, end), 8);
      if (all.empty()) continue;
      const double at = end < near ? all.back() : all.front();
      found.push_back({best.workload, what, best.candidate, other.candidate, at, format_value(at, input)});
    }
  };
  for (const Input& input : best.assumptions.inputs.rows()) {
    if (input.varies() && other.assumptions.inputs.row(input.name).value == input.value)
      add(input, input.name, {input.low, input.high}, true, true);
  }
  constexpr Range premiums{-0.5, 2};
  const auto premium_of = [](const PlannedPoint& p) -> const Input& {
    return p.assumptions.inputs.row(network_premium);
  };
  if (by_cost) add(premium_of(best), "price_premium of " + best.candidate, premiums, true, false);
  if (by_cost) add(premium_of(other), "price_premium of " + other.candidate, premiums, false, true);
  return found;
}

}  // namespace meshwright::capacity
