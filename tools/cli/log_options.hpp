#pragma once
// What a training log leaves unsaid, from the command line: shared by `calibrate runs` and `validate`.
#include <CLI/CLI.hpp>

#include "meshwright/calibrate/run_logs.hpp"

namespace meshwright::cli {

/// Adds --cluster, --nodes, --gpus, --seq-len, --model and --job.
void add_log_options(CLI::App& command, LogCompletion& completion);

}  // namespace meshwright::cli
