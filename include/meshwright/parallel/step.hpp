#pragma once
// Phase 1: the time of one step from table entries. Pure arithmetic: no allocation, strings, maps or virtual calls.
#include "meshwright/parallel/prediction.hpp"
#include "meshwright/parallel/tables.hpp"

namespace meshwright::parallel {

struct Step {
  StepTime time;
  Hidden hidden;
  int worst_stage = 0;    ///< the stage whose micro-batches take longest
  int micro_batches = 1;  ///< per replica and step
};

/// The step of a layout: slots of the first, middle and last pipeline stage, the schedule's closed form, gradient
/// reduction and parameter gathers beside their windows, optimizer, host. docs/models-step.md has every formula.
Step step_time(const StepConstants& constants, const Entries& entries, const Layout& layout) noexcept;

}  // namespace meshwright::parallel
