#include "meshwright/calibrate/fit_runs.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <optional>

#include "calibrate/left_out.hpp"
#include "calibrate/record_stacks.hpp"
#include "calibrate/run_points.hpp"
#include "meshwright/parallel/run_figures.hpp"
#include "meshwright/parallel/step.hpp"

namespace meshwright::calibrate {
namespace {

constexpr double parameter_step = 0.02;   ///< of a log parameter, for differences
constexpr double noise = 0.04;            ///< reruns of one configuration under other releases differ by 2 to 8 %
constexpr double robust = 1.345 * noise;  ///< from where a residual counts linearly (Huber 1964: 95 % efficient)
constexpr double pin = 1e9;               ///< weight that holds a parameter at its limit
constexpr int least_configurations = 3;   ///< that tell a parameter
/// Log difference of a parameter between neighbouring releases of a stack, as a standard deviation. Leaving out each
/// (model, device), set and release in turn, runs are off by 8.96, 14.43 and 12.52 % without releases, with steps of
/// 0.1 by 8.94, 14.31 and 12.44, of 0.2 by 8.97, 14.21 and 12.40, of 0.4 by 9.02, 14.20 and 12.32.
constexpr double release_step = 0.1;
constexpr double informative_error = 0.7;  ///< of the prior's spread: above, the runs say next to nothing

/// log(predicted / measured) of a point with x added to its parameters' logs.
double residual(const RunPoint& p, const std::vector<RunParameter>& parameters, const Eigen::VectorXd& x) {
  const Job job = with_figures(p.run->job, [&](Figures& figures) {
    for (const std::size_t i : p.parameters)
      run_field(parameters[i].field).set(figures, parameters[i].prior * std::exp(x[static_cast<Eigen::Index>(i)]));
  });
  Tables tables(job);
  const Step step = step_time(tables.constants(), tables.entries(p.run->layout), p.run->layout);
  return std::log(total(step.time).value()) - p.log_measured;
}

struct Linear {
  Eigen::VectorXd residuals;
  Eigen::MatrixXd jacobian;
};

Linear linearise(const std::vector<RunPoint>& points, const std::vector<RunParameter>& parameters, Eigen::VectorXd x) {
  const auto rows = static_cast<Eigen::Index>(points.size()), columns = static_cast<Eigen::Index>(parameters.size());
  Linear l{Eigen::VectorXd(rows), Eigen::MatrixXd::Zero(rows, columns)};
  for (Eigen::Index r = 0; r < rows; ++r) {
    const RunPoint& p = points[static_cast<std::size_t>(r)];
    l.residuals[r] = residual(p, parameters, x);
    for (const std::size_t i : p.parameters) {
      const auto c = static_cast<Eigen::Index>(i);
      x[c] -= parameter_step;
      l.jacobian(r, c) = (l.residuals[r] - residual(p, parameters, x)) / parameter_step;
      x[c] += parameter_step;
    }
  }
  return l;
}

/// Normal equations of the robust, regularised problem around x.
struct Normal {
  Eigen::MatrixXd matrix;
  Eigen::VectorXd right;
};

/// Which points count.
using Counts = std::function<bool(const RunPoint&)>;

/// The release next before a parameter's that has the parameter too; nothing where it is the first.
std::optional<std::size_t> release_before(const std::vector<RunParameter>& parameters, const RunParameter& p) {
  std::optional<std::size_t> before;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (!same_thing(parameters[i], p) || parameters[i].place >= p.place) continue;
    if (!before || parameters[*before].place < parameters[i].place) before = i;
  }
  return before;
}

/// Priors: each parameter near its own, a release's as far from it as the release before, give or take a step a
/// release.
void add_priors(Normal& n, const std::vector<RunParameter>& parameters, const Eigen::VectorXd& x) {
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const RunParameter& p = parameters[i];
    const auto c = static_cast<Eigen::Index>(i);
    const std::optional<std::size_t> before = release_before(parameters, p);
    const double steps = before ? p.place - parameters[*before].place : 0;
    const double inverse = 1 / (before ? steps * release_step * release_step : p.spread * p.spread);
    n.matrix(c, c) += inverse;
    n.right[c] -= inverse * x[c];
    if (!before) continue;
    const auto b = static_cast<Eigen::Index>(*before);
    n.matrix(b, b) += inverse, n.matrix(c, b) -= inverse, n.matrix(b, c) -= inverse;
    n.right[c] += inverse * x[b], n.right[b] += inverse * (x[c] - x[b]);
  }
}

Normal normal_equations(const Linear& l, const std::vector<RunPoint>& points,
                        const std::vector<RunParameter>& parameters, const Eigen::VectorXd& x,
                        const Counts& counts = nullptr) {
  const auto columns = static_cast<Eigen::Index>(parameters.size());
  Normal n{Eigen::MatrixXd::Zero(columns, columns), Eigen::VectorXd::Zero(columns)};
  add_priors(n, parameters, x);
  for (Eigen::Index r = 0; r < l.residuals.size(); ++r) {
    const RunPoint& p = points[static_cast<std::size_t>(r)];
    if (p.weight == 0 || (counts && !counts(p))) continue;
    const double size = std::abs(l.residuals[r]);
    const double weight = p.weight * std::min(1.0, robust / std::max(size, 1e-9)) / (noise * noise);
    for (const std::size_t i : p.parameters) {
      const auto c = static_cast<Eigen::Index>(i);
      n.right[c] -= weight * l.residuals[r] * l.jacobian(r, c);
      for (const std::size_t j : p.parameters) {
        const auto d = static_cast<Eigen::Index>(j);
        n.matrix(c, d) += weight * l.jacobian(r, c) * l.jacobian(r, d);
      }
    }
  }
  return n;
}

Eigen::VectorXd limits_of(const std::vector<RunParameter>& parameters) {
  Eigen::VectorXd limits(static_cast<Eigen::Index>(parameters.size()));
  for (std::size_t i = 0; i < parameters.size(); ++i)
    limits[static_cast<Eigen::Index>(i)] = std::log(parameters[i].most / parameters[i].prior);
  return limits;
}

/// Gauss-Newton step from x within the limits: what would pass its limit is held there and the others are solved again.
Eigen::VectorXd solve(Normal n, const Eigen::VectorXd& x, const Eigen::VectorXd& limits) {
  std::vector<bool> held(static_cast<std::size_t>(x.size()), false);
  while (true) {
    Eigen::VectorXd step = Eigen::LDLT<Eigen::MatrixXd>(n.matrix).solve(n.right);
    bool more = false;
    for (Eigen::Index c = 0; c < x.size(); ++c) {
      if (held[static_cast<std::size_t>(c)] || x[c] + step[c] <= limits[c]) continue;
      held[static_cast<std::size_t>(c)] = more = true;
      n.matrix(c, c) += pin;
      n.right[c] += pin * (limits[c] - x[c]);
    }
    if (!more) return step;
  }
}

double relative(double log_error) { return std::abs(std::exp(log_error) - 1); }

double mean_error(const Eigen::VectorXd& residuals) {
  double sum = 0;
  for (const double r : residuals) sum += relative(r);
  return residuals.size() == 0 ? 0 : sum / static_cast<double>(residuals.size());
}

/// The state of a fit: x and the model linearised there.
struct State {
  Eigen::VectorXd x;
  Linear linear;
};

State minimise(const std::vector<RunPoint>& points, std::vector<RunParameter>& parameters) {
  const Eigen::VectorXd limits = limits_of(parameters);
  State s{Eigen::VectorXd::Zero(static_cast<Eigen::Index>(parameters.size())).cwiseMin(limits), {}};
  s.linear = linearise(points, parameters, s.x);
  for (int iteration = 0; iteration < 8; ++iteration) {
    const Eigen::VectorXd step = solve(normal_equations(s.linear, points, parameters, s.x), s.x, limits);
    s.x = (s.x + step.cwiseMax(-0.4).cwiseMin(0.4)).cwiseMin(limits);
    s.linear = linearise(points, parameters, s.x);
    if (step.norm() < 2e-3) break;
  }
  const Eigen::MatrixXd covariance = normal_equations(s.linear, points, parameters, s.x).matrix.inverse();
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const auto c = static_cast<Eigen::Index>(i);
    parameters[i].value = parameters[i].prior * std::exp(s.x[c]);
    parameters[i].error = std::sqrt(covariance(c, c));
  }
  return s;
}

Counts without(RunGroup group, const std::string& name) {
  return [group, name](const RunPoint& p) { return p.*group != name; };
}

LeftOut figures_of(std::vector<double> errors) {
  if (errors.empty()) return {};
  const double mean = std::accumulate(errors.begin(), errors.end(), 0.0) / static_cast<double>(errors.size());
  std::nth_element(errors.begin(), errors.begin() + static_cast<std::ptrdiff_t>(errors.size() / 2), errors.end());
  return {mean, errors[errors.size() / 2]};
}

/// Each group predicted by the linearised fit of all others.
LeftOut leave_out(const State& s, const std::vector<RunPoint>& points, const std::vector<RunParameter>& parameters,
                  RunGroup group) {
  const Eigen::VectorXd limits = limits_of(parameters);
  std::map<std::string, Eigen::VectorXd> steps;
  std::vector<double> errors;
  for (Eigen::Index r = 0; r < s.linear.residuals.size(); ++r) {
    const std::string& name = points[static_cast<std::size_t>(r)].*group;
    if (!steps.contains(name))
      steps[name] = solve(normal_equations(s.linear, points, parameters, s.x, without(group, name)), s.x, limits);
    errors.push_back(relative(s.linear.residuals[r] + s.linear.jacobian.row(r).dot(steps[name])));
  }
  return figures_of(std::move(errors));
}

/// Points, the parameters that they tell, and the fit.
struct Fitted {
  std::vector<RunPoint> points;
  std::vector<RunParameter> parameters;
  State state;
  double mean_error_before = 0;
};

Fitted fitted(std::span<const RunRecord> runs, bool others) {
  Fitted f;
  f.points = points_of(runs, others);
  f.parameters = parameters_of(f.points);
  keep_parameters(f.parameters, f.points, [](const RunParameter& p) { return p.runs >= least_configurations; });
  const auto none = Eigen::VectorXd::Zero(static_cast<Eigen::Index>(f.parameters.size()));
  f.mean_error_before = mean_error(linearise(f.points, f.parameters, none).residuals);
  minimise(f.points, f.parameters);
  // Releases of a stack stand or fall together: neighbours tell what few runs do not.
  keep_parameters(f.parameters, f.points, [&](const RunParameter& p) {
    return std::ranges::any_of(f.parameters, [&](const RunParameter& q) {
      return same_thing(p, q) && q.error < informative_error * q.spread;
    });
  });
  f.state = minimise(f.points, f.parameters);
  return f;
}

/// A record of an ordinary user's run that a fit without its source has to predict, whatever its task.
bool counts_of_users(const std::string& set, const std::string& tier) { return users_runs(set) && tier != "C"; }

UsersLeftOut users_left_out(std::span<const RunRecord> runs) {
  UsersLeftOut users;
  for (const RunRecord& run : runs) {
    if (!counts_of_users(run.set, run.tier)) continue;
    ++users.records;
    if (run.skipped) ++users.not_stated;
  }
  if (users.records == 0) return users;
  const RunGroup by_set = &RunPoint::set;
  const LeftOutRuns left = left_out_runs(runs, {&by_set, 1});
  std::vector<double> errors;
  for (std::size_t i = 0; i < left.points.size(); ++i) {
    const RunRecord& run = *left.points[i].run;
    if (counts_of_users(run.set, run.tier)) errors.push_back(relative(-left.errors.front()[i]));
  }
  users.configurations = static_cast<int>(errors.size());
  users.errors = figures_of(std::move(errors));
  return users;
}

}  // namespace

RunFit fit_runs(std::span<const RunRecord> runs, bool cross_validate) {
  const Fitted f = fitted(runs, false);
  RunFit fit;
  fit.configurations = static_cast<int>(f.points.size());
  fit.parameters = f.parameters;
  fit.mean_error_before = f.mean_error_before;
  fit.mean_error_after = mean_error(f.state.linear.residuals);
  if (cross_validate) {
    fit.model_and_device = leave_out(f.state, f.points, f.parameters, &RunPoint::model_and_device);
    fit.set = leave_out(f.state, f.points, f.parameters, &RunPoint::set);
    fit.users = users_left_out(runs);
  }
  return fit;
}

LeftOutRuns left_out_runs(std::span<const RunRecord> runs, std::span<const RunGroup> groups) {
  Fitted f = fitted(runs, true);
  const Eigen::VectorXd limits = limits_of(f.parameters);
  LeftOutRuns out;
  out.parameters = f.parameters;
  for (const RunGroup group : groups) {
    std::map<std::string, LeftOutGroup>& by_name = out.groups.emplace_back();
    std::vector<double>& errors = out.errors.emplace_back();
    for (std::size_t i = 0; i < f.points.size(); ++i) {
      const std::string& name = f.points[i].*group;
      if (!by_name.contains(name)) {
        const Normal n = normal_equations(f.state.linear, f.points, f.parameters, f.state.x, without(group, name));
        const Eigen::VectorXd x = f.state.x + solve(n, f.state.x, limits);
        const Eigen::VectorXd variances = n.matrix.inverse().diagonal();
        by_name[name] = {{x.begin(), x.end()}, {variances.begin(), variances.end()}};
      }
      const auto row = static_cast<Eigen::Index>(i);
      const std::vector<double>& kept = by_name[name].logs;
      const Eigen::Map<const Eigen::VectorXd> x(kept.data(), static_cast<Eigen::Index>(kept.size()));
      errors.push_back(-f.state.linear.residuals[row] - f.state.linear.jacobian.row(row).dot(x - f.state.x));
    }
  }
  out.points = std::move(f.points);
  return out;
}

}  // namespace meshwright::calibrate
