#pragma once
// A prediction with the table entries that it came from: what the formulas of its fields may name.
#include "meshwright/parallel/prediction.hpp"
#include "meshwright/parallel/step.hpp"

namespace meshwright::parallel {

struct Explained {
  const Job& job;
  const Layout& layout;
  Entries entries;
  Step step;
  const StageKind* stage = nullptr;  ///< the worst
  double times = 1;                  ///< of every term, by own runs
};

}  // namespace meshwright::parallel
