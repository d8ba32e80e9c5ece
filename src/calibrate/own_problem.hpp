#pragma once
// Own runs as a linear problem around the figures that their jobs have.
#include <span>
#include <vector>

#include "calibrate/gaussian.hpp"
#include "meshwright/calibrate/own_fit.hpp"

namespace meshwright::calibrate {

struct OwnProblem {
  std::vector<Doubt> figures;  ///< of the columns; their slopes are of no run in particular
  LinearRuns linear;
};
OwnProblem own_problem(std::span<const OwnRun> runs, const Spread& spread);

Seconds predict_time(const Job& job, const Layout& layout);
/// What holds of a record's job, its task included.
Traits traits_of(const RunRecord& record, const Spread& spread);

}  // namespace meshwright::calibrate
