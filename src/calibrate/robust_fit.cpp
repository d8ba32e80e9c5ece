// Levenberg-Marquardt on log parameters with a Cauchy loss.
#include <Eigen/Dense>
#include <algorithm>
#include <array>
#include <cmath>

#include "meshwright/calibrate/kernel_fit.hpp"

namespace meshwright::calibrate {
namespace {

constexpr double scale = 0.07;       // residuals far beyond it hardly count
constexpr double difference = 1e-3;  // step of numeric derivatives, on the logarithm
constexpr int rounds = 60;

/// s^2 log(1 + (r/s)^2), summed.
double loss(const Eigen::VectorXd& r) { return (scale * scale * (1 + (r.array() / scale).square()).log()).sum(); }

struct Search {
  std::span<const FitParameter> parameters;
  const std::function<void(std::span<const double>, std::span<double>)>& residuals;
  std::vector<double> values;

  Eigen::VectorXd at(const Eigen::VectorXd& logs, std::size_t points) {
    for (std::size_t i = 0; i < parameters.size(); ++i) values[i] = std::exp(logs[static_cast<Eigen::Index>(i)]);
    Eigen::VectorXd r(static_cast<Eigen::Index>(points));
    residuals(values, std::span<double>(r.data(), points));
    return r;
  }
  Eigen::VectorXd clamped(Eigen::VectorXd logs) const {
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      double& x = logs[static_cast<Eigen::Index>(i)];
      x = std::clamp(x, std::log(parameters[i].least), std::log(parameters[i].most));
    }
    return logs;
  }
};

/// Descends from `x`; returns the loss reached and leaves the place in `x`.
double descend(Search& search, Eigen::VectorXd& x, std::size_t points) {
  const auto& parameters = search.parameters;
  const Eigen::Index size = x.size();
  Eigen::VectorXd r = search.at(x, points);
  double best = loss(r), damping = 1e-2;
  for (int round = 0; round < rounds && damping < 1e8; ++round) {
    Eigen::MatrixXd slope(r.size(), size);
    for (Eigen::Index i = 0; i < size; ++i) {
      // Towards the inside where the parameter stands at its upper bound.
      const double step =
          x[i] + difference > std::log(parameters[static_cast<std::size_t>(i)].most) ? -difference : difference;
      Eigen::VectorXd moved = x;
      moved[i] += step;
      slope.col(i) = (search.at(moved, points) - r) / step;
    }
    const Eigen::VectorXd weight = (1 + (r.array() / scale).square()).inverse().matrix();
    const Eigen::MatrixXd normal = slope.transpose() * weight.asDiagonal() * slope;
    const Eigen::VectorXd gradient = slope.transpose() * (weight.asDiagonal() * r);
    bool moved = false;
    for (; damping < 1e8 && !moved; damping *= moved ? 0.2 : 5) {
      Eigen::MatrixXd damped = normal;
      damped.diagonal().array() += damping * (normal.diagonal().array() + 1e-6 * normal.diagonal().maxCoeff() + 1e-12);
      const Eigen::VectorXd next = search.clamped(x - damped.ldlt().solve(gradient));
      const Eigen::VectorXd next_r = search.at(next, points);
      const double next_loss = loss(next_r);
      if (next_loss >= best) continue;
      const bool settled = best - next_loss < 1e-7 * best;
      moved = true;
      x = next, r = next_r, best = next_loss;
      if (settled) round = rounds;
    }
  }
  return best;
}

/// Starts beside the given one, as shares of the way to a parameter's bounds: the loss has local minima where waves
/// and tiles step.
constexpr std::array starts = {0.0, 0.3, -0.3};

}  // namespace

std::vector<double> robust_fit(std::span<const FitParameter> parameters,
                               const std::function<void(std::span<const double>, std::span<double>)>& residuals,
                               std::size_t points) {
  Search search{parameters, residuals, std::vector<double>(parameters.size())};
  Eigen::VectorXd best;
  double least = INFINITY;
  for (const double share : starts) {
    Eigen::VectorXd x(static_cast<Eigen::Index>(parameters.size()));
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const FitParameter& p = parameters[i];
      const double way = share > 0 ? std::log(p.most / p.start) : std::log(p.start / p.least);
      x[static_cast<Eigen::Index>(i)] = std::log(p.start) + share * way;
    }
    const double reached = descend(search, x, points);
    if (reached < least) least = reached, best = x;
  }
  search.at(best, points);
  return search.values;
}

}  // namespace meshwright::calibrate
