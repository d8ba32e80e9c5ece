#pragma once
// The options by which plan says that a job is a run: tokens, prices, failures.
#include <string>

#include "command.hpp"
#include "meshwright/capacity/estimate.hpp"
#include "meshwright/search/search.hpp"

namespace meshwright::cli {

struct RunOptions {
  std::string tokens, gpu_hour, assume;
};

/// Adds --tokens, --gpu-hour, --assume.
void add_run_options(CLI::App& command, RunOptions& options);
/// What they state over the defaults. Throws Error that names the flag or the file's place.
RunAssumptions run_assumptions(const RunOptions& options);
/// The run of a layout; Error that names the flag.
RunEstimate run_of(const Catalog& catalog, const Job& job, const Prediction& prediction, const RunOptions& options,
                   const RunAssumptions& assumptions);

/// Days, goodput, money and power as a table, and where the time and the money go.
std::string run_text(const RunEstimate& estimate);

}  // namespace meshwright::cli
