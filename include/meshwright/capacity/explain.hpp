#pragma once
// Where the numbers of a planned run come from: trees of terms whose leaves name formula, inputs and sources.
#include "meshwright/capacity/points.hpp"

namespace meshwright::capacity {

struct ExplainedRun {
  RunEstimate run;  ///< time, cost and capex are trees already
  Term step;        ///< seconds of the main phase's step, without power cap and stragglers
  Term power;       ///< watts at the meter while training
  Term energy;      ///< joules at the meter; sums to run.energy
  Term carbon;      ///< kilograms of CO2 equivalent
};
/// Of a point that has a run.
ExplainedRun explain_run(const PlannedPoint& point);

}  // namespace meshwright::capacity
