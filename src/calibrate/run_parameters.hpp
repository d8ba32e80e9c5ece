#pragma once
// The parameters that training runs may move: where each lives in a job, and whose it is.
#include <span>
#include <string>
#include <string_view>

#include "meshwright/calibrate/fit_runs.hpp"

namespace meshwright {

/// One row: a field of a device, a medium or a profile. `spread` is the prior's standard deviation in log units.
struct RunField {
  std::string_view field;
  double spread;
  std::string (*owner)(const Job&);
  double (*get)(const Job&);
  void (*set)(Job&, double);
  bool (*enters)(const Job&, const Layout&);
};
std::span<const RunField> run_fields();

}  // namespace meshwright
