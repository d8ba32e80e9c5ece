#pragma once
// The figures that training runs may move, and that a prediction may be wrong by: where each lives in a job, and whose
// it is.
#include <limits>
#include <span>
#include <string>
#include <string_view>

#include "meshwright/parallel/job.hpp"
#include "meshwright/parallel/spread.hpp"

namespace meshwright::parallel {

constexpr double no_limit = std::numeric_limits<double>::infinity();

/// One row: a field of a device, a medium or a profile. `spread` is the prior's standard deviation in log units, `most`
/// the highest value that is physical.
struct RunField {
  std::string_view field;
  double spread;
  double most;
  std::string (*owner)(const Job&);
  double (*get)(const Job&);
  void (*set)(Figures&, double);
  bool (*enters)(const Job&, const Layout&);
  bool of_experts = false;                 ///< only runs of expert models tell it
  bool (*measured)(const Job&) = nullptr;  ///< whether a benchmark of it exists; null = yes. Without one its prior is
                                           ///< wide, and there is no ceiling of which it would be a share
  /// Whether the fit to published runs may move it, where benchmarks say less of it than runs; null = wherever it
  /// enters. One's own runs may move all.
  bool (*published)(const Job&, const Layout&) = nullptr;
  double TraitSpread::*by_traits = nullptr;  ///< its prior is as wide as this, by what holds of the job, not `spread`
  bool by_release = false;                   ///< each release of a stack has its own, near that of the release before
};
std::span<const RunField> run_fields();
/// The row of that name.
const RunField& run_field(std::string_view field);

}  // namespace meshwright::parallel
