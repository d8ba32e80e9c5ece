#include "meshwright/calibrate/own_fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <type_traits>

#include "calibrate/gaussian.hpp"
#include "calibrate/own_problem.hpp"
#include "calibrate/record_stacks.hpp"
#include "calibrate/run_groups.hpp"
#include "meshwright/parallel/run_figures.hpp"
#include "meshwright/parallel/step.hpp"

namespace meshwright::calibrate {
namespace {

constexpr int most_iterations = 6;
constexpr double converged = 1e-3, longest_step = 0.5;  ///< of a figure's log
constexpr double fits = 1.5;  ///< residual, in standard deviations, from which a run counts less (Huber)

Eigen::Index at(std::size_t i) { return static_cast<Eigen::Index>(i); }

/// Where the figures would pass what is physical they stay below it.
Eigen::VectorXd limits_of(const OwnProblem& p, std::span<const OwnRun> runs) {
  Eigen::VectorXd limits = Eigen::VectorXd::Constant(at(p.figures.size()), no_limit);
  for (std::size_t c = 0; c < p.figures.size(); ++c) {
    const RunField& row = run_field(p.figures[c].field);
    for (const OwnRun& run : runs) {
      const bool measured = row.measured == nullptr || row.measured(run.job);
      if (!measured || row.owner(run.job) != p.figures[c].owner || row.get(run.job) <= 0) continue;
      limits[at(c)] = std::min(limits[at(c)], std::max(0.0, std::log(row.most / row.get(run.job))));
    }
  }
  return limits;
}

/// More noise where a run fits neither figures nor runs alike; `left` is what figures leave.
void weigh(LinearRuns& linear, Eigen::VectorXd left) {
  left -= linear.shared * weights_of_left(linear, left);
  for (Eigen::Index r = 0; r < left.size(); ++r) {
    const double noise = linear.own[r];
    const double size = std::abs(left[r]) / std::sqrt(noise);
    if (size > fits) linear.own[r] += noise * (size / fits - 1);
  }
}

double mean_error(const Eigen::VectorXd& residuals) {
  double sum = 0;
  for (const double r : residuals) sum += std::abs(std::exp(-r) - 1);
  return residuals.size() == 0 ? 0 : sum / static_cast<double>(residuals.size());
}

Job moved(const Job& job, std::span<const OwnFigure> figures) {
  return with_figures(job, [own = std::vector<OwnFigure>(figures.begin(), figures.end()), job](Figures& f) {
    for (const OwnFigure& figure : own) {
      const RunField& row = run_field(figure.field);
      const double value = row.get(job);
      if (row.owner(job) == figure.owner && value > 0) row.set(f, value * figure.after / figure.before);
    }
  });
}

}  // namespace

namespace {

/// What an overlay in use says of layouts alike is not said of figures: the new one takes its place.
double earlier(const Job& job, const Place& place) {
  const Knowledge known = own_knowledge(job);
  return expected(known.discrepancy, place);
}

}  // namespace

OwnProblem own_problem(std::span<const OwnRun> runs, const Spread& spread) {
  OwnProblem p;
  std::map<std::string, std::size_t> columns;
  std::vector<Uncertainty> rows;
  for (const OwnRun& run : runs) {
    rows.push_back(uncertainty(run.job, run.layout, spread, run.traits));
    for (const Doubt& d : rows.back().doubts) {
      const auto [entry, added] = columns.try_emplace(d.figure(), p.figures.size());
      if (added) p.figures.push_back(d);
      p.figures[entry->second].variance = std::max(p.figures[entry->second].variance, d.variance);
    }
  }
  const auto n = at(runs.size()), m = at(p.figures.size());
  p.linear = {Eigen::VectorXd(n), Eigen::MatrixXd::Zero(n, m), Eigen::VectorXd(m), Eigen::VectorXd(n), {}};
  for (std::size_t c = 0; c < p.figures.size(); ++c) p.linear.variances[at(c)] = p.figures[c].variance;
  for (std::size_t r = 0; r < runs.size(); ++r) {
    for (const Doubt& d : rows[r].doubts) p.linear.slopes(at(r), at(columns[d.figure()])) = d.slope;
    p.linear.residuals[at(r)] = std::log(runs[r].measured / predict_time(runs[r].job, runs[r].layout));
    p.linear.residuals[at(r)] += earlier(runs[r].job, rows[r].place);
    p.linear.own[at(r)] = rows[r].own * rows[r].own;
    p.places.push_back(rows[r].place);
  }
  p.linear.shared = shared_covariance(p.places, spread.likeness);
  return p;
}

Eigen::MatrixXd shared_covariance(std::span<const Place> places, const Likeness& likeness) {
  Eigen::MatrixXd shared(at(places.size()), at(places.size()));
  for (std::size_t i = 0; i < places.size(); ++i) {
    for (std::size_t j = 0; j <= i; ++j)
      shared(at(i), at(j)) = shared(at(j), at(i)) = covariance(places[i], places[j], likeness);
  }
  return shared;
}

Seconds predict_time(const Job& job, const Layout& layout) {
  Tables tables(job);
  return total(step_time(tables.constants(), tables.entries(layout), layout).time);
}

std::vector<OwnRun> own_runs(std::span<const RunRecord> records, const Spread& spread) {
  struct Sum {
    OwnRun run;
    double log = 0;
    int count = 0;
    double log_peak = 0;
    int peaks = 0;
  };
  std::map<std::string, Sum> merged;
  for (const RunRecord& record : records) {
    if (record.skipped || !record.state.empty() || !record.measured.step_time) continue;
    const std::string key = configuration_of(record);
    const auto same = merged.try_emplace(key, Sum{{record.job, record.layout, {}}}).first;
    same->second.log += std::log(record.measured.step_time->value());
    ++same->second.count;
    same->second.run.traits = traits_of(record, spread);
    same->second.run.id = record.id;
    if (!record.measured.peak_memory || record.measured.peak_memory->value() <= 0) continue;
    same->second.log_peak += std::log(record.measured.peak_memory->value());
    ++same->second.peaks;
  }
  std::vector<OwnRun> runs;
  for (auto& [key, sum] : merged) {
    sum.run.measured = Seconds::base(std::exp(sum.log / sum.count));
    if (sum.peaks > 0) sum.run.peak = Bytes::base(std::exp(sum.log_peak / sum.peaks));
    runs.push_back(std::move(sum.run));
  }
  return runs;
}

Traits traits_of(const RunRecord& record, const Spread& spread) {
  Traits traits = parallel::traits_of(record.job, spread);
  const bool tuned = record.task != pretraining && !traits[static_cast<std::size_t>(Trait::adapters)];
  traits[static_cast<std::size_t>(Trait::fine_tuning)] = tuned;
  return traits;
}

namespace {

/// The figures of the problem's columns as they are before the runs.
std::vector<OwnFigure> figures_of(const OwnProblem& problem, std::span<const OwnRun> runs) {
  std::vector<OwnFigure> figures;
  for (const Doubt& d : problem.figures) {
    const RunField& row = run_field(d.field);
    const auto first = std::ranges::find_if(
        runs, [&](const OwnRun& run) { return row.owner(run.job) == d.owner && row.get(run.job) > 0; });
    const double value = row.get(first->job), spread = std::sqrt(d.variance);
    figures.push_back({d.owner, d.field, value, value, spread, spread});
  }
  return figures;
}

/// Slopes of the columns of `figures` from a problem that may lack some of them.
Eigen::MatrixXd slopes_of(const OwnProblem& problem, std::span<const OwnFigure> figures) {
  Eigen::MatrixXd slopes = Eigen::MatrixXd::Zero(problem.linear.slopes.rows(), at(figures.size()));
  for (std::size_t c = 0; c < figures.size(); ++c) {
    const auto same = std::ranges::find_if(
        problem.figures, [&](const Doubt& d) { return d.owner == figures[c].owner && d.field == figures[c].field; });
    if (same != problem.figures.end()) slopes.col(at(c)) = problem.linear.slopes.col(same - problem.figures.begin());
  }
  return slopes;
}

OwnProblem moved_problem(std::span<const OwnRun> runs, std::span<const OwnFigure> figures, const Spread& spread) {
  std::vector<OwnRun> now(runs.begin(), runs.end());
  for (OwnRun& run : now) run.job = moved(run.job, figures);
  return own_problem(now, spread);
}

std::vector<double> row_by_row(const Eigen::MatrixXd& m) {
  std::vector<double> values;
  for (Eigen::Index r = 0; r < m.rows(); ++r) values.insert(values.end(), m.row(r).begin(), m.row(r).end());
  return values;
}

/// What the figures leave of the residuals goes to layouts alike, and makes them surer.
Discrepancy discrepancy_of(const OwnProblem& prior, const LinearRuns& linear, const Likeness& likeness,
                           const Eigen::VectorXd& weights) {
  const Eigen::MatrixXd inverse = residual_covariance(linear).inverse();
  const Eigen::MatrixXd cross = linear.variances.asDiagonal() * linear.slopes.transpose() * inverse;
  return {.likeness = likeness,
          .runs = prior.places,
          .weights = {weights.begin(), weights.end()},
          .inverse = row_by_row(inverse),
          .cross = row_by_row(cross)};
}

void state(OwnFit& fit, const Estimate& e) {
  for (std::size_t c = 0; c < fit.figures.size(); ++c) {
    fit.figures[c].spread_after = std::sqrt(std::max(0.0, e.covariance(at(c), at(c))));
    fit.known.figures.push_back(fit.figures[c].owner + " " + fit.figures[c].field);
    for (std::size_t d = 0; d < fit.figures.size(); ++d) fit.known.covariance.push_back(e.covariance(at(c), at(d)));
  }
}

}  // namespace

OwnFit fit_own(std::span<const OwnRun> runs, const Spread& spread) {
  const OwnProblem prior = own_problem(runs, spread);
  const Eigen::VectorXd limits = limits_of(prior, runs);
  OwnFit fit;
  fit.runs = static_cast<int>(runs.size());
  fit.figures = figures_of(prior, runs);
  fit.error_before = fit.error_after = mean_error(prior.linear.residuals);
  fit.within_noise = !tells(prior.linear);
  Eigen::VectorXd x = Eigen::VectorXd::Zero(at(fit.figures.size()));
  LinearRuns linear = prior.linear, told = prior.linear;
  Estimate e = estimate(linear);
  Eigen::VectorXd weights = Eigen::VectorXd::Zero(linear.residuals.size());
  for (int iteration = 0; iteration < most_iterations && !fit.within_noise; ++iteration) {
    linear.own = prior.linear.own;
    linear.residuals += linear.slopes * x;  // as if x were 0, by the slopes at x
    weigh(linear, linear.residuals - linear.slopes * mean_within(linear, limits));
    e = estimate(linear), told = linear;
    const Eigen::VectorXd step = (mean_within(linear, limits) - x).cwiseMax(-longest_step).cwiseMin(longest_step);
    x += step;
    for (std::size_t c = 0; c < fit.figures.size(); ++c)
      fit.figures[c].after = fit.figures[c].before * std::exp(x[at(c)]);
    const OwnProblem next = moved_problem(runs, fit.figures, spread);
    linear.slopes = slopes_of(next, fit.figures);
    linear.residuals = next.linear.residuals;
    weights = weights_of_left(linear, linear.residuals);
    fit.error_after = mean_error(linear.residuals - linear.shared * weights);
    if (step.size() == 0 || step.cwiseAbs().maxCoeff() < converged) break;
  }
  state(fit, e);
  if (!runs.empty()) fit.known.discrepancy = discrepancy_of(prior, told, spread.likeness, weights);
  return fit;
}

Job with_own(const Job& job, const OwnFit& fit) {
  const auto same = std::ranges::find(fit.memory, run_field("work.time").owner(job), &OwnMemory::owner);
  const Job now = moved(job, fit.figures);
  if (same == fit.memory.end()) return now;
  return with_figures(now, [times = same->after, spread = same->spread_after](Figures& f) {
    f.framework.work_memory = times, f.framework.work_memory_spread = spread;
  });
}

std::vector<NextRun> next_runs(const Job& job, std::span<const Layout> candidates, const OwnFit& fit, std::size_t count,
                               const Spread& spread) {
  const Job now = with_own(job, fit);
  std::vector<Uncertainty> all;
  for (const Layout& layout : candidates) all.push_back(uncertainty(now, layout, spread));
  std::vector<NextRun> next;
  for (std::size_t i = 0; i < all.size(); ++i) {
    // Of the others' variance by figures, what a run of this one takes away: the square of their covariance over its
    // own variance.
    const double measured = std::pow(log_spread(all[i], fit.known), 2);
    double before = 0, after = 0;
    for (std::size_t j = 0; j < all.size(); ++j) {
      const double variance = std::pow(log_spread(all[j], fit.known), 2);
      const double common = covariance(all[i], all[j], fit.known);
      before += std::sqrt(variance);
      after += std::sqrt(std::max(0.0, variance - common * common / measured));
    }
    next.push_back({candidates[i], before > 0 ? 1 - after / before : 0});
  }
  std::ranges::stable_sort(next, std::greater{}, &NextRun::reduction);
  if (next.size() > count) next.resize(count);
  return next;
}

}  // namespace meshwright::calibrate
