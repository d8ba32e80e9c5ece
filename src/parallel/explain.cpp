// The explanation of a prediction: the fields of StepTime as a tree, each with formula, parameter and parts.
#include <fmt/format.h>

#include "parallel/explained.hpp"

namespace meshwright::parallel {

Term explain(const Job& job, const Prediction& prediction) {
  Tables tables(job);
  Explained e{job, prediction.layout, tables.entries(prediction.layout), {}, nullptr};
  e.times = times_of(tables.constants(), prediction.layout);
  e.step = step_time(tables.constants(), e.entries, prediction.layout);
  for (const StageKind& kind : e.entries.stages->kinds) {
    if (kind.first == e.step.worst_stage) e.stage = &kind;
  }
  Term root{.name = "step_time",
            .value = total(e.step.time).value(),
            .unit = "s",
            .formula = fmt::format("sum of disjoint terms on the critical path; worst stage {}", e.step.worst_stage),
            .source = "",
            .parts = {}};
  for (const StepField& field : step_fields()) {
    root.parts.push_back({.name = field.name,
                          .value = (e.step.time.*field.value).value(),
                          .unit = "s",
                          .formula = field.formula(e),
                          .source = field.parameter(e),
                          .parts = field.parts != nullptr ? field.parts(e) : std::vector<Term>{}});
  }
  return root;
}

}  // namespace meshwright::parallel
