#pragma once
// The options by which plan (and its kin) describe a job.
#include <string>

#include "command.hpp"
#include "meshwright/parallel/job.hpp"

namespace meshwright::cli {

struct JobOptions {
  std::string model, cluster, precision, framework;
  int nodes = 0, gpus = 0, global_batch = 0, seq_len = 0;
  double moe_imbalance = 0;
};

/// Adds --model, --cluster, --nodes, --gpus, --global-batch, --seq-len, --precision, --framework, --moe-imbalance.
void add_job_options(CLI::App& command, JobOptions& options);
/// The job they describe, every default listed in its assumptions. Throws Error that names the flag.
Job make_job(const JobOptions& options, const Catalog& catalog);

}  // namespace meshwright::cli
