#include "job_options.hpp"

#include <fmt/format.h>

#include "command.hpp"
#include "meshwright/parallel/job_recipe.hpp"

namespace meshwright::cli {
namespace {

constexpr int largest_count = 1 << 24;  // as in job files

}  // namespace

void add_job_options(CLI::App& command, JobOptions& o) {
  command.add_option("--model", o.model, "A preset (see 'model list') or a Hugging Face config.json")
      ->required()
      ->type_name("MODEL");
  command.add_option("--cluster", o.cluster, "A reference cluster, a cluster file, or a node name")
      ->required()
      ->type_name("CLUSTER");
  command.add_option("--nodes", o.nodes, "Nodes, with a node name")->check(whole_number(1, largest_count));
  command.add_option("--gpus", o.gpus, "Accelerators to use; all of the cluster by default")
      ->check(whole_number(1, largest_count));
  command.add_option("--global-batch", o.global_batch, "Sequences a step")
      ->required()
      ->check(whole_number(1, largest_count));
  command.add_option("--seq-len", o.seq_len, "Tokens a sequence")->required()->check(whole_number(1, largest_count));
  command.add_option("--precision", o.precision, "bf16, fp8, mxfp8, ...; bf16 by default")
      ->type_name("RECIPE")
      ->check(some_text());
  command.add_option("--framework", o.framework, "Training stack; megatron-core by default")
      ->type_name("NAME")
      ->check(some_text());
  command
      .add_option("--moe-imbalance", o.moe_imbalance, "Tokens of the busiest expert rank over the mean; 1 by default")
      ->check(decimal_number(1, 1000));
}

Job make_job(const JobOptions& o, const Catalog& catalog) {
  Job job;
  job.model = load_model(o.model, "--model");
  job.cluster = make_cluster(catalog, o.cluster, o.nodes, o.gpus);
  job.accelerators = o.gpus > 0 ? o.gpus : job.cluster.accelerators();
  job.seq_len = o.seq_len;
  job.global_batch = o.global_batch;
  job.assumptions = job.cluster.assumptions;
  const auto defaulted = [&](const std::string& value, const char* flag, const char* fallback) {
    if (value.empty()) job.assumptions.push_back(fmt::format("{} {} (default)", flag, fallback));
    return value.empty() ? std::string(fallback) : value;
  };
  job.precision = precision(defaulted(o.precision, "--precision", "bf16"), "--precision");
  job.framework = framework(defaulted(o.framework, "--framework", "megatron-core"), "--framework", catalog);
  if (o.moe_imbalance > 0) {
    job.moe_imbalance = moe_imbalance(job.model, o.moe_imbalance, "--moe-imbalance");
  } else if (job.model.is_moe()) {
    job.assumptions.push_back("--moe-imbalance 1 (default): every expert gets the same number of tokens");
  }
  check_precision(job, "--precision");
  complete_recipe(job);
  return job;
}

}  // namespace meshwright::cli
