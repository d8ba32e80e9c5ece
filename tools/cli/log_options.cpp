#include "log_options.hpp"

#include "command.hpp"
#include "meshwright/core/limits.hpp"

namespace meshwright::cli {

void add_log_options(CLI::App& command, LogCompletion& completion) {
  command.add_option("--cluster", completion.cluster, "The machine of a training log, which none of them says")
      ->check(some_text());
  command.add_option("--nodes", completion.nodes, "Its nodes, where --cluster names a node and the log no GPUs")
      ->check(whole_number(1, largest_count));
  command
      .add_option("--gpus", completion.gpus,
                  "Its GPUs, where the text doesn't say them (torchrun, srun and #SBATCH do)")
      ->transform(whole_size(1, largest_count));
  command.add_option("--seq-len", completion.seq_len, "Its tokens a sequence, where the text doesn't say them")
      ->transform(whole_size(1, largest_count));
  command.add_option("--model", completion.model, "The model, where the log does not show its sizes")
      ->check(some_text());
  command.add_option("--job", completion.job, "A job file, whole or in part: its members win over the log's")
      ->type_name("JOB.json");
}

}  // namespace meshwright::cli
