#include "job_options.hpp"

#include "command.hpp"

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
  command.add_option("--framework-version", o.framework_version, "Its release; the newest by default")
      ->type_name("VERSION")
      ->check(some_text());
  command
      .add_option("--moe-imbalance", o.moe_imbalance, "Tokens of the busiest expert rank over the mean; 1 by default")
      ->check(decimal_number(1, 1000));
}

JobSpec job_spec(const JobOptions& o) {
  JobSpec spec{.model = o.model,
               .cluster = {.of = o.cluster, .nodes = o.nodes, .accelerators = o.gpus, .where = "--cluster"},
               .seq_len = o.seq_len,
               .global_batch = o.global_batch,
               .precision = o.precision,
               .framework = o.framework,
               .framework_version = o.framework_version,
               .places = {"--", Places::Spelling::flag}};
  if (o.moe_imbalance > 0) spec.moe_imbalance = o.moe_imbalance;
  return spec;
}

}  // namespace meshwright::cli
