#pragma once
// Runs by site, with the figures that a fit without the site would give them.
#include <array>
#include <functional>
#include <string>
#include <vector>

#include "calibrate/left_out.hpp"
#include "calibrate/own_problem.hpp"
#include "meshwright/calibrate/spread_fit.hpp"

namespace meshwright::calibrate {

/// The ways of leaving out, and what their groups are called.
struct LeftOutWay {
  const char* name;
  RunGroup group;
};
std::span<const LeftOutWay> left_out_ways();

/// An error of a way of leaving out.
struct LeftOutError {
  const RunPoint* point;
  std::size_t way;
  double error;   ///< log(measured / predicted)
  Traits traits;  ///< with device and stack new where no other group has them
  double weight = 1;
};

/// A site's runs on the figures of the fit without it.
struct Site {
  std::string name;
  std::vector<const RunPoint*> points;
  std::vector<OwnRun> runs;
  std::map<std::string, double> errors;  ///< of the fit without it, as Spread::errors
  OwnProblem problem;                    ///< variances and noise by no spreads: see linear_runs()
};

struct LeftOutSites {
  LeftOutRuns runs;
  std::vector<LeftOutError> errors;
  std::vector<LeftOutError>
      memory;  ///< of peaks of device memory, which no fit moves: only what holds of a job differs
  std::vector<Site> sites;
};
LeftOutSites left_out_sites(std::span<const RunRecord> runs);

/// Sources are left out in so many parts, where each on its own would take too long.
constexpr std::size_t source_folds = 5;
std::size_t fold_of(const RunPoint& p);

/// Between any two of the site's runs, by feature.
using Distances = std::array<Eigen::MatrixXd, place_features>;
Distances distances(const Site& site);
/// How alike they are, 0 to 1, by the weights of features.
Eigen::MatrixXd likeness(const Distances& apart, const Apart& weights);

/// The site's runs under these spreads.
LinearRuns linear_runs(const Site& site, const Spread& spread);
LinearRuns linear_runs(const Site& site, const Spread& spread, const Eigen::MatrixXd& likeness);
/// At most 40 of a site's runs, every n-th.
Site thinned(const Site& site);
/// Its runs by how far they lie from the prediction, the slowest last.
std::vector<std::size_t> by_error(const Site& site);
/// Which of runs in this order are taken for own ones: that of median error; of three, those of the quartiles too.
std::vector<std::size_t> own_of(const std::vector<std::size_t>& order, int count);

/// As the public one, over the points that count.
Spread fit_spread(const LeftOutSites& left_out, const std::function<bool(const RunPoint&)>& counts);

}  // namespace meshwright::calibrate
