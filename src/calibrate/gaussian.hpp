#pragma once
// Linear Gaussian estimation: r = J x + common + own, with independent priors of x.
#include <Eigen/Dense>

namespace meshwright::calibrate {

/// Runs of one site: what each is off by, and how it depends on the figures.
struct LinearRuns {
  Eigen::VectorXd residuals;  ///< log(measured / predicted)
  Eigen::MatrixXd slopes;     ///< a row a run, a column a figure
  Eigen::VectorXd variances;  ///< of the figures' logs, before the runs
  Eigen::VectorXd own;        ///< variance of what no figure explains, of each run
  Eigen::MatrixXd shared;     ///< covariance of the same between runs of one job
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

}  // namespace meshwright::calibrate
