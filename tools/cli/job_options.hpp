#pragma once
// The options by which plan (and its kin) describe a job.
#include <string>

#include "command.hpp"
#include "meshwright/parallel/job.hpp"

namespace meshwright::cli {

struct JobOptions {
  std::string job, model, cluster, precision, framework, framework_version, algorithm;
  int nodes = 0, gpus = 0, global_batch = 0, seq_len = 0, document_len = 0;
  double moe_imbalance = 0;
  bool nvls_off = false, sharp = false;
};

/// Adds JOB.json (whose members the options replace), --model, --cluster, --nodes, --gpus, --global-batch, --seq-len,
/// --precision, --framework, --framework-version,
/// --moe-imbalance, --algo, --no-nvls, --sharp.
void add_job_options(CLI::App& command, JobOptions& options);
/// What they say of a job; messages about it name the flags, or the place in the file. A layout that the file has is
/// kept. Throws Error that names what is missing.
JobSpec job_spec(const JobOptions& options);

}  // namespace meshwright::cli
