#pragma once
// Logs of training stacks: the steps that they print, the arguments that they dump, and the job file that follows.
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "meshwright/calibrate/run_records.hpp"

namespace meshwright::calibrate {

/// The steps of a log without its warm-up and without steps that something else held up.
struct LoggedSteps {
  int read = 0;           ///< steps that the log shows with a time or a rate
  int warm_up = 0;        ///< left out at the start: compilation, allocation, connections
  double median = 0;      ///< of what is left, in the unit of the log's figure
  double spread = 0;      ///< robust standard deviation of what is left over its median (1.4826 * MAD)
  std::vector<int> sick;  ///< numbers of steps beyond half or one and a half medians: at most the first 20
  int sick_count = 0;
};

/// What a log says, as it stands there.
struct RunLog {
  std::string path;
  std::string dialect;                          ///< which stack prints so: "megatron-core", "torchtitan", ...
  std::string framework;                        ///< the profile or alias that stands for it
  std::map<std::string, std::string> settings;  ///< arguments that the log dumps and a job file needs
  std::string model_config;                     ///< a Hugging Face config that the log prints, as JSON
  std::string figure;  ///< what a step line tells: "step_time", "tokens_per_s_per_gpu", "sequences_per_s" or
                       ///< "model_tflops_per_gpu"
  LoggedSteps steps;
  double global_batch = 0;           ///< sequences a step, where a step line says them; 0 otherwise
  double processes = 0, nodes = 0;   ///< that a launch configuration starts; 0 = it does not say
  std::optional<Bytes> peak_memory;  ///< the largest that the log shows
  std::vector<std::string> notes;    ///< sick steps, cut lines, batch ramps: one sentence each
};

/// Reads a log (plain or gzip by content) line by line: memory does not grow with the file. ANSI colours, rank prefixes
/// and progress bars are understood. Throws Error(path, ...) where no known stack's step line is in it.
RunLog read_run_log(const std::filesystem::path& path);

/// Reads a launch configuration: YAML, TOML or JSON by the file's extension, else the command line of a script, with
/// what torchrun, deepspeed, accelerate, srun and SBATCH lines say of processes and nodes. The stack is `framework`, or
/// the one most of whose arguments stand there. What it tells stands in `settings`, what was not understood in `notes`;
/// there are no steps. Throws Error(path, ...) where no known stack's arguments are in it.
RunLog read_launch(const std::filesystem::path& path, std::string_view framework = {});

/// What a log does not say, from the command line: names as `plan` takes them, or a job file whose members fill in and
/// win over the log.
struct LogCompletion {
  std::string model{}, cluster{};
  int nodes = 0, gpus = 0, seq_len = 0;  ///< 0 = as the text says
  std::string job{};                     ///< path of a (partial) job file; "" = none
  int all_gpus = 0;                      ///< of the cluster, where neither the text nor the caller says how many
};

/// The log as a job file with "measured" (step_time_s, peak_mem_gib, and what was left out), in JSON; a launch
/// configuration as a job file. Throws
/// Error(path, "the log does not say ...") that lists everything that is missing and the option that gives it.
std::string job_of_log(const RunLog& log, const LogCompletion& completion);

/// True where the object is a job file that says what was measured: {"model", "cluster", "seq_len", ..., "measured"}.
bool is_measured_job(const Reader& reader);
/// A job file with "measured" {"step_time_s" | "tokens_per_s_per_gpu" | "model_tflops_per_gpu", "peak_mem_gib"} as a
/// record of set "own". Throws Error as read_job does.
RunRecord read_measured_job(const Reader& reader, const Catalog& catalog);

/// The runs of a file: records or job files with "measured" (.jsonl, .json, gzip; lines of other kinds are passed
/// over), or a log (any other name). A record that cannot be predicted comes back `skipped`. Throws Error as the
/// readers do.
std::vector<RunRecord> read_own_runs(const std::filesystem::path& path, const Catalog& catalog,
                                     const LogCompletion& completion = {});

/// The runs of these files, or the published ones where there are none.
std::vector<RunRecord> records_or_published(const std::vector<std::string>& paths, const Catalog& catalog);

/// The stacks whose logs are understood, by name: for help and documents.
std::vector<std::string> log_dialects();

}  // namespace meshwright::calibrate
