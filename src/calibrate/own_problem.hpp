#pragma once
// Own runs as a linear problem around the figures that their jobs have.
#include <span>
#include <vector>

#include "calibrate/gaussian.hpp"
#include "meshwright/calibrate/own_fit.hpp"

namespace meshwright::calibrate {

struct OwnProblem {
  std::vector<Doubt> figures;  ///< of the columns; their slopes are of no run in particular
  std::vector<Place> places;   ///< of the rows
  LinearRuns linear;
};
OwnProblem own_problem(std::span<const OwnRun> runs, const Spread& spread);
/// What runs at these places share.
Eigen::MatrixXd shared_covariance(std::span<const Place> places, const Likeness& likeness);

Seconds predict_time(const Job& job, const Layout& layout);
/// What holds of a record's job, its task included.
Traits traits_of(const RunRecord& record, const Spread& spread);

}  // namespace meshwright::calibrate
