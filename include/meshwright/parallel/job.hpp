#pragma once
// A job: everything that a prediction needs besides the layout.
#include <string>
#include <vector>

#include "meshwright/core/reader.hpp"
#include "meshwright/hardware/catalog.hpp"
#include "meshwright/parallel/framework.hpp"
#include "meshwright/parallel/layout.hpp"
#include "meshwright/workload/precision.hpp"
#include "meshwright/workload/presets.hpp"

namespace meshwright::parallel {

struct Job {
  Transformer model;
  Cluster cluster;
  int accelerators = 0;  ///< used, at most cluster.accelerators()
  int seq_len = 0;
  int global_batch = 0;  ///< sequences a step
  Precision precision;
  Framework framework;
  Recipe recipe;                         ///< complete_recipe()
  double moe_imbalance = 1;              ///< busiest expert rank over the mean
  std::vector<std::string> assumptions;  ///< every default that entered
};

/// {"model", "cluster", "nodes", "gpus", "seq_len", "global_batch", "precision", "framework",
/// "framework_version", "recipe", "moe_imbalance"} and, for
/// `predict`, "layout". Unknown keys are refused; what is left out is listed in `assumptions`.
/// "model" and "cluster" are names, paths or objects; "seq_len" and "global_batch" have no default. Without "gpus" and
/// "nodes" the layout's degrees say how many accelerators are used, without a layout it is the whole cluster.
Job read_job(const Reader& reader, const Catalog& catalog);
/// Throws Error(where, ...) where the accelerator has no matrix rate for a number format of the job's precision.
void check_precision(const Job& job, const std::string& where);
/// The busiest expert rank over the mean, from 1 to 1000; Error(where, ...) otherwise, and for a dense model.
double moe_imbalance(const Transformer& model, double value, const std::string& where);
/// The "layout" of a job: a missing dp is what is left of the accelerators, missing overlaps are the framework's. Each
/// default that entered is added to `job.assumptions`.
Layout read_job_layout(const Reader& layout, Job& job);

}  // namespace meshwright::parallel
