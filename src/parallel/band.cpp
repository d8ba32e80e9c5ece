#include "meshwright/parallel/band.hpp"

#include <algorithm>
#include <cmath>

#include "core/normal.hpp"
#include "meshwright/hardware/platform.hpp"
#include "meshwright/parallel/placement.hpp"
#include "meshwright/parallel/run_figures.hpp"
#include "meshwright/parallel/step.hpp"

namespace meshwright::parallel {
namespace {

constexpr double move = 0.04;  ///< of a figure's log, for slopes

double log_time(const Job& job, const Layout& layout) {
  Tables tables(job);
  return std::log(total(step_time(tables.constants(), tables.entries(layout), layout).time).value());
}

}  // namespace

Evidence evidence_of(const Job& job) {
  const DeviceEfficiency& e = job.cluster.accelerator.efficiency;
  Evidence worst = std::max({e.of(job.precision.gemm).evidence, e.attention.evidence, e.memory.evidence});
  const Platform platform = platform_of(job.cluster);
  if (job.accelerators > 1) worst = std::max(worst, platform.scale_up.evidence);
  if (over_network(job)) worst = std::max(worst, platform.scale_out.evidence);
  return worst;
}

Knowledge read_knowledge(const Reader& own_runs) {
  own_runs.allow_only({"figures", "covariance", "discrepancy", "runs", "measured", "description"});
  Knowledge known;
  for (const Reader& figure : own_runs.at("figures").items()) known.figures.push_back(figure.string());
  const Reader rows = own_runs.at("covariance");
  for (const Reader& row : rows.items()) {
    for (const Reader& value : row.items()) known.covariance.push_back(value.number());
  }
  if (known.covariance.size() != known.figures.size() * known.figures.size())
    rows.fail("expected a row and a column for each of the figures");
  if (const auto discrepancy = own_runs.find("discrepancy"))
    known.discrepancy = read_discrepancy(*discrepancy, known.figures.size());
  return known;
}

std::optional<Reader> own_runs_of(const Job& job) {
  if (job.cluster.catalog == nullptr) return std::nullopt;
  const std::vector<Reader>& stacks = job.cluster.catalog->frameworks;
  const auto last = std::find_if(stacks.rbegin(), stacks.rend(), [](const Reader& s) { return s.has("own_runs"); });
  if (last == stacks.rend()) return std::nullopt;
  return last->at("own_runs");
}

Knowledge own_knowledge(const Job& job) {
  const std::optional<Reader> own = own_runs_of(job);
  return own ? read_knowledge(*own) : Knowledge{};
}

Uncertainty uncertainty(const Job& job, const Layout& layout, const Spread& spread) {
  return uncertainty(job, layout, spread, traits_of(job, spread));
}

Uncertainty uncertainty(const Job& job, const Layout& layout, const Spread& spread, const Traits& traits) {
  const double own = spread.sum(traits, &TraitSpread::own), alone = spread.likeness.alone;
  Uncertainty u{.doubts = {},
                .own = std::sqrt(alone) * own,
                .log_time = 0,
                .place = place_of(job, layout, std::sqrt(1 - alone) * own),
                .likeness = spread.likeness};
  const double stretch = 1 + std::pow(spread.sum(traits, &TraitSpread::stretch), 2);
  const double now = u.log_time = log_time(job, layout);
  for (const RunField& row : run_fields()) {
    const double value = row.get(job);
    if (!row.enters(job, layout) || value <= 0) continue;
    const Job moved = with_figures(job, [&](Figures& f) { row.set(f, value * std::exp(-move)); });
    const double slope = (now - log_time(moved, layout)) / move;
    if (slope == 0) continue;
    Doubt doubt{row.owner(job), std::string(row.field), slope, row.spread, 0};
    const auto fitted = spread.errors.find(doubt.figure());
    if (fitted != spread.errors.end()) doubt.error = fitted->second;
    doubt.variance = row.by_traits != nullptr ? std::pow(spread.sum(traits, row.by_traits), 2)
                                              : std::pow(doubt.error, 2) + stretch * std::pow(spread.of(row.field), 2);
    u.doubts.push_back(std::move(doubt));
  }
  return u;
}

namespace {

/// By the figures that both rest on.
double by_figures(const Uncertainty& a, const Uncertainty& b, const Knowledge& known) {
  const auto index = [&](const std::string& figure) {
    return static_cast<std::size_t>(std::ranges::find(known.figures, figure) - known.figures.begin());
  };
  const std::size_t size = known.figures.size();
  double sum = 0;
  for (const Doubt& p : a.doubts) {
    const std::size_t row = index(p.figure());
    for (const Doubt& q : b.doubts) {
      const std::size_t column = row < size ? index(q.figure()) : size;
      if (row < size && column < size) {
        sum += p.slope * q.slope * known.covariance[row * size + column];
      } else if (p.owner == q.owner && p.field == q.field) {
        sum += p.slope * q.slope * p.variance;
      }
    }
  }
  return sum;
}

std::vector<double> with_runs(const Place& place, const Discrepancy& d) {
  std::vector<double> covariances;
  for (const Place& run : d.runs) covariances.push_back(covariance(run, place, d.likeness));
  return covariances;
}

/// What the runs told of figures says of the layout, run by run.
std::vector<double> by_runs(const Uncertainty& u, const Knowledge& known) {
  const std::size_t n = known.discrepancy.runs.size();
  std::vector<double> sums(n, 0);
  for (const Doubt& d : u.doubts) {
    const auto row = static_cast<std::size_t>(std::ranges::find(known.figures, d.figure()) - known.figures.begin());
    for (std::size_t i = 0; row < known.figures.size() && i < n; ++i)
      sums[i] += d.slope * known.discrepancy.cross[row * n + i];
  }
  return sums;
}

/// By what layouts alike share, less what own runs told of it, and of figures at its expense.
double by_likeness(const Uncertainty& a, const Uncertainty& b, const Knowledge& known) {
  const Discrepancy& d = known.discrepancy;
  const double before = covariance(a.place, b.place, d.empty() ? a.likeness : d.likeness);
  if (d.empty()) return before;
  const std::vector<double> of_a = with_runs(a.place, d), of_b = with_runs(b.place, d);
  const std::vector<double> figures_of_a = by_runs(a, known), figures_of_b = by_runs(b, known);
  double told = 0;
  for (std::size_t i = 0; i < of_a.size(); ++i) {
    told += figures_of_a[i] * of_b[i] + figures_of_b[i] * of_a[i];
    for (std::size_t j = 0; j < of_b.size(); ++j) told += of_a[i] * d.inverse[i * of_b.size() + j] * of_b[j];
  }
  return before - told;
}

}  // namespace

double covariance(const Uncertainty& a, const Uncertainty& b, const Knowledge& known) {
  return by_figures(a, b, known) + by_likeness(a, b, known);
}

double log_spread(const Uncertainty& u, const Knowledge& known) {
  return std::sqrt(std::max(0.0, covariance(u, u, known)) + u.own * u.own);
}

double log_spread_of_ratio(const Uncertainty& a, const Uncertainty& b, const Knowledge& known) {
  const double figures = covariance(a, a, known) + covariance(b, b, known) - 2 * covariance(a, b, known);
  return std::sqrt(std::max(0.0, figures) + a.own * a.own + b.own * b.own);
}

Band band_of(double log_spread, const Tails& tails) {
  return {std::exp(std::min(0.0, tails.low) * log_spread), std::exp(std::max(0.0, tails.high) * log_spread)};
}

Band band_of(const Job& job, const Layout& layout) {
  const Spread& spread = published_spread();
  const Knowledge known = own_knowledge(job);
  if (known.empty()) return band_of(spread.sum(traits_of(job, spread), &TraitSpread::total), spread.without_own_runs);
  return band_of(log_spread(uncertainty(job, layout, spread), known), spread.with_own_runs);
}

Band memory_band(const Job& job) {
  const Spread& spread = published_spread();
  const double own = job.framework.work_memory_spread;
  return band_of(own > 0 ? own : spread.sum(traits_of(job, spread), &TraitSpread::memory), spread.of_memory);
}

double below(const Band& band, double times) noexcept {
  const double edge = std::abs(std::log(times < 1 ? band.low : band.high));
  if (edge <= 0) return times < 1 ? 0 : 1;
  return normal_distribution(normal_decile * std::log(times) / edge);
}

}  // namespace meshwright::parallel
