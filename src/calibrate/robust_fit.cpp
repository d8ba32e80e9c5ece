// Levenberg-Marquardt on log parameters with a soft-L1 loss.
#include <Eigen/Dense>
#include <algorithm>
#include <cmath>

#include "meshwright/calibrate/kernel_fit.hpp"

namespace meshwright {
namespace {

constexpr double scale = 0.07;       // residuals beyond it count linearly
constexpr double difference = 1e-3;  // step of numeric derivatives, on the logarithm
constexpr int rounds = 60;

/// 2 s^2 (sqrt(1 + (r/s)^2) - 1), summed.
double loss(const Eigen::VectorXd& r) {
  return (2 * scale * scale * ((1 + (r.array() / scale).square()).sqrt() - 1)).sum();
}

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

}  // namespace

std::vector<double> robust_fit(std::span<const FitParameter> parameters,
                               const std::function<void(std::span<const double>, std::span<double>)>& residuals,
                               std::size_t points) {
  const auto size = static_cast<Eigen::Index>(parameters.size());
  Search search{parameters, residuals, std::vector<double>(parameters.size())};
  Eigen::VectorXd x(size);
  for (Eigen::Index i = 0; i < size; ++i) x[i] = std::log(parameters[static_cast<std::size_t>(i)].start);
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
    const Eigen::VectorXd weight = (1 + (r.array() / scale).square()).sqrt().inverse().matrix();
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
  search.at(x, points);
  return search.values;
}

}  // namespace meshwright
