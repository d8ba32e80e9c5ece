#pragma once
// Linear Gaussian estimation: r = J x + shared + own, with independent priors of x; what is shared goes together.
#include <Eigen/Dense>
#include <vector>

namespace meshwright::calibrate {

/// Runs of one site: what each is off by, and how it depends on the figures.
struct LinearRuns {
  Eigen::VectorXd residuals;  ///< log(measured / predicted)
  Eigen::MatrixXd slopes;     ///< a row a run, a column a figure
  Eigen::VectorXd variances;  ///< of the figures' logs, before the runs
  Eigen::VectorXd own;        ///< variance of what neither figures nor runs alike explain, of each run
  Eigen::MatrixXd shared;     ///< covariance of what runs alike share
};

struct Estimate {
  Eigen::VectorXd mean;        ///< of the figures' logs
  Eigen::MatrixXd covariance;  ///< of the same
};

/// Covariance of the residuals before anything is measured.
inline Eigen::MatrixXd residual_covariance(const LinearRuns& r) {
  Eigen::MatrixXd c = r.slopes * r.variances.asDiagonal() * r.slopes.transpose() + r.shared;
  c.diagonal() += r.own;
  return c;
}

/// Mean and covariance of the figures given the residuals.
inline Estimate estimate(const LinearRuns& r) {
  const Eigen::MatrixXd gain = r.variances.asDiagonal() * r.slopes.transpose();
  const Eigen::LDLT<Eigen::MatrixXd> solver(residual_covariance(r));
  return {gain * solver.solve(r.residuals),
          Eigen::MatrixXd(r.variances.asDiagonal()) - gain * solver.solve(gain.transpose())};
}

/// Whether runs are off by more than half of the variance that no figure explains of each. If not, moving figures would
/// repeat noise, and make as many other layouts worse as better.
inline bool tells(const LinearRuns& r) {
  constexpr double idle = 0.5;
  const Eigen::VectorXd unexplained = r.own + r.shared.diagonal();
  return r.residuals.cwiseAbs2().cwiseQuotient(unexplained).sum() > idle * static_cast<double>(r.residuals.size());
}

/// What is expected of runs alike, by what figures leave of the residuals: each run's weight in it.
inline Eigen::VectorXd weights_of_left(const LinearRuns& r, const Eigen::VectorXd& left) {
  Eigen::MatrixXd c = r.shared;
  c.diagonal() += r.own;
  return c.ldlt().solve(left);
}

/// What each run is off by once all others are known: of a Gaussian it follows from the inverse of the covariance.
inline Eigen::VectorXd left_by_others(const LinearRuns& r) {
  const Eigen::MatrixXd inverse = residual_covariance(r).inverse();
  return (inverse * r.residuals).cwiseQuotient(inverse.diagonal());
}

/// The mean with no figure above its limit: what would pass it is held there, and the others are told of the rest.
inline Eigen::VectorXd mean_within(LinearRuns r, const Eigen::VectorXd& limits) {
  Eigen::VectorXd held = Eigen::VectorXd::Zero(limits.size());
  while (true) {
    Eigen::VectorXd mean = held + estimate(r).mean;  // a figure without variance doesn't move
    bool more = false;
    for (Eigen::Index c = 0; c < limits.size(); ++c) {
      if (mean[c] <= limits[c]) continue;
      held[c] = limits[c], r.variances[c] = 0, more = true;
      r.residuals -= limits[c] * r.slopes.col(c);
    }
    if (!more) return mean;
  }
}

}  // namespace meshwright::calibrate
