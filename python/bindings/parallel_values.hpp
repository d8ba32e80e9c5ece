#pragma once
// Jobs and predictions as Python holds them.
#include "meshwright/parallel/prediction.hpp"
#include "values.hpp"

namespace meshwright::python {

/// The breakdown needs the job, so a prediction carries it along.
struct Explained : Prediction {
  Job job;
};
/// The prediction of a layout that can run.
Explained explained(const Job& job, const Layout& layout);

/// A job as plain Python values, and back.
py::tuple state_of(const Job& job);
Job job_from(const py::tuple& plain);

}  // namespace meshwright::python
