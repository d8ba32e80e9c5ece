#include "meshwright/calibrate/fit_runs.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "calibrate/run_groups.hpp"
#include "calibrate/run_parameters.hpp"
#include "meshwright/parallel/step.hpp"

namespace meshwright {
namespace {

/// One configuration: the mean of its runs.
struct Point {
  const RunRecord* run = nullptr;
  double log_measured = 0;
  double weight = 1;
  std::string fold;                     ///< (model, device)
  std::vector<std::size_t> parameters;  ///< that enter it
};

constexpr double parameter_step = 0.02;  ///< of a log parameter, for differences
constexpr double robust = 0.12;          ///< log error from which a residual counts linearly (Huber)
constexpr double group_cap = 80;         ///< configurations of one stack and device that count fully

std::vector<Point> points_of(std::span<const RunRecord> runs) {
  std::map<std::string, std::pair<Point, int>> merged;
  for (const RunRecord& run : runs) {
    if (run.skipped || run.task != "pretrain" || !run.state.empty()) continue;
    auto& [point, count] = merged[configuration_of(run)];
    point.run = &run;
    point.log_measured += std::log(run.measured.step_time->value());
    point.fold = run.job.model.name + " on " + run.accelerator;
    ++count;
  }
  std::map<std::string, int> group_sizes;
  const auto group = [](const Point& p) { return p.run->job.framework.name + " " + p.run->accelerator; };
  std::vector<Point> points;
  for (auto& [key, entry] : merged) {
    entry.first.log_measured /= entry.second;
    points.push_back(entry.first);
    ++group_sizes[group(entry.first)];
  }
  for (Point& p : points) {
    p.weight = std::min(1.0, group_cap / group_sizes[group(p)]);
    // Routing, dispatchers and their releases make expert models a poor measure of what all models share.
    if (p.run->job.model.is_moe()) p.weight *= 0.1;
    // Tier C records leave part of their layout or measurement to guesses.
    if (p.run->tier == "C") p.weight *= 0.25;
  }
  return points;
}

std::vector<RunParameter> parameters_of(std::vector<Point>& points) {
  std::map<std::pair<std::string, std::string>, std::size_t> index;
  std::vector<RunParameter> parameters;
  for (Point& p : points) {
    for (const RunField& row : run_fields()) {
      const Job& job = p.run->job;
      if (!row.enters(job, p.run->layout) || row.get(job) <= 0) continue;
      const std::pair key{row.owner(job), std::string(row.field)};
      if (!index.contains(key)) {
        index[key] = parameters.size();
        const double prior = row.get(job);
        parameters.push_back(
            {.owner = key.first, .field = key.second, .prior = prior, .spread = row.spread, .value = prior});
      }
      p.parameters.push_back(index[key]);
      if (!job.model.is_moe()) ++parameters[index[key]].runs;
    }
  }
  return parameters;
}

const RunField& row_of(std::string_view field) {
  const auto rows = run_fields();
  return *std::find_if(rows.begin(), rows.end(), [&](const RunField& r) { return r.field == field; });
}

/// log(predicted / measured) of a point with x added to its parameters' logs.
double residual(const Point& p, const std::vector<RunParameter>& parameters, const Eigen::VectorXd& x) {
  Job job = p.run->job;
  for (const std::size_t i : p.parameters) {
    row_of(parameters[i].field).set(job, parameters[i].prior * std::exp(x[static_cast<Eigen::Index>(i)]));
  }
  Tables tables(job);
  const Step step = step_time(tables.constants(), tables.entries(p.run->layout), p.run->layout);
  return std::log(total(step.time).value()) - p.log_measured;
}

struct Linear {
  Eigen::VectorXd residuals;
  Eigen::MatrixXd jacobian;
};

Linear linearise(const std::vector<Point>& points, const std::vector<RunParameter>& parameters, Eigen::VectorXd x) {
  const auto rows = static_cast<Eigen::Index>(points.size()), columns = static_cast<Eigen::Index>(parameters.size());
  Linear l{Eigen::VectorXd(rows), Eigen::MatrixXd::Zero(rows, columns)};
  for (Eigen::Index r = 0; r < rows; ++r) {
    const Point& p = points[static_cast<std::size_t>(r)];
    l.residuals[r] = residual(p, parameters, x);
    for (const std::size_t i : p.parameters) {
      const auto c = static_cast<Eigen::Index>(i);
      x[c] += parameter_step;
      l.jacobian(r, c) = (residual(p, parameters, x) - l.residuals[r]) / parameter_step;
      x[c] -= parameter_step;
    }
  }
  return l;
}

/// Gauss-Newton step of the robust, regularised problem; points of `left_out` don't count.
Eigen::VectorXd solve(const Linear& l, const std::vector<Point>& points, const std::vector<RunParameter>& parameters,
                      const Eigen::VectorXd& x, const std::string& left_out, Eigen::MatrixXd* covariance = nullptr) {
  constexpr double noise = 0.04;  // reruns of one configuration under other releases differ by 2 to 8 %
  const auto columns = static_cast<Eigen::Index>(parameters.size());
  Eigen::MatrixXd normal = Eigen::MatrixXd::Zero(columns, columns);
  Eigen::VectorXd right = Eigen::VectorXd::Zero(columns);
  for (Eigen::Index c = 0; c < columns; ++c) {
    const double inverse = 1 / std::pow(parameters[static_cast<std::size_t>(c)].spread, 2);
    normal(c, c) += inverse;
    right[c] -= inverse * x[c];
  }
  for (Eigen::Index r = 0; r < l.residuals.size(); ++r) {
    const Point& p = points[static_cast<std::size_t>(r)];
    if (!left_out.empty() && p.fold == left_out) continue;
    const double size = std::abs(l.residuals[r]);
    const double weight = p.weight * std::min(1.0, robust / std::max(size, 1e-9)) / (noise * noise);
    normal.noalias() += weight * l.jacobian.row(r).transpose() * l.jacobian.row(r);
    right -= weight * l.residuals[r] * l.jacobian.row(r).transpose();
  }
  const Eigen::LDLT<Eigen::MatrixXd> solver(normal);
  if (covariance != nullptr) *covariance = solver.solve(Eigen::MatrixXd::Identity(columns, columns));
  return solver.solve(right);
}

/// A sustained rate is a share of the burst rate.
Eigen::VectorXd within_bounds(Eigen::VectorXd x, const std::vector<RunParameter>& parameters) {
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const auto c = static_cast<Eigen::Index>(i);
    if (parameters[i].field.ends_with("sustained")) x[c] = std::min(x[c], -std::log(parameters[i].prior));
  }
  return x;
}

double relative(double log_error) { return std::abs(std::exp(log_error) - 1); }

double mean_error(const Eigen::VectorXd& residuals) {
  double sum = 0;
  for (const double r : residuals) sum += relative(r);
  return residuals.size() == 0 ? 0 : sum / static_cast<double>(residuals.size());
}

/// Each fold predicted by the linearised fit of all others.
void leave_folds_out(const Linear& l, const std::vector<Point>& points, const Eigen::VectorXd& x, RunFit& fit) {
  std::map<std::string, Eigen::VectorXd> steps;
  std::vector<double> errors;
  for (Eigen::Index r = 0; r < l.residuals.size(); ++r) {
    const std::string& fold = points[static_cast<std::size_t>(r)].fold;
    if (!steps.contains(fold)) steps[fold] = solve(l, points, fit.parameters, x, fold);
    errors.push_back(relative(l.residuals[r] + l.jacobian.row(r).dot(steps[fold])));
  }
  if (errors.empty()) return;
  fit.mean_error_left_out = std::accumulate(errors.begin(), errors.end(), 0.0) / static_cast<double>(errors.size());
  std::nth_element(errors.begin(), errors.begin() + static_cast<std::ptrdiff_t>(errors.size() / 2), errors.end());
  fit.median_error_left_out = errors[errors.size() / 2];
}

}  // namespace

RunFit fit_runs(std::span<const RunRecord> runs, bool cross_validate) {
  std::vector<Point> points = points_of(runs);
  RunFit fit;
  fit.parameters = parameters_of(points);
  fit.configurations = static_cast<int>(points.size());
  Eigen::VectorXd x = Eigen::VectorXd::Zero(static_cast<Eigen::Index>(fit.parameters.size()));
  Linear l = linearise(points, fit.parameters, x);
  fit.mean_error_before = mean_error(l.residuals);
  for (int iteration = 0; iteration < 6; ++iteration) {
    const Eigen::VectorXd step = solve(l, points, fit.parameters, x, "");
    x = within_bounds(x + step.cwiseMax(-0.4).cwiseMin(0.4), fit.parameters);
    l = linearise(points, fit.parameters, x);
    if (step.norm() < 1e-3) break;
  }
  fit.mean_error_after = mean_error(l.residuals);
  Eigen::MatrixXd covariance;
  solve(l, points, fit.parameters, x, "", &covariance);
  for (std::size_t i = 0; i < fit.parameters.size(); ++i) {
    const auto c = static_cast<Eigen::Index>(i);
    fit.parameters[i].value = fit.parameters[i].prior * std::exp(x[c]);
    fit.parameters[i].error = std::sqrt(covariance(c, c));
  }
  if (cross_validate) leave_folds_out(l, points, x, fit);
  return fit;
}

void apply_fit(std::span<const RunParameter> parameters, const Layout& layout, Job& job) {
  for (const RunField& row : run_fields()) {
    const std::string owner = row.owner(job);
    for (const RunParameter& p : parameters) {
      if (p.owner == owner && p.field == row.field && row.get(job) > 0 && row.enters(job, layout))
        row.set(job, p.value);
    }
  }
}

}  // namespace meshwright
