#pragma once
// What was measured of a machine's collectives and links, laid beside the prediction, with a diagnosis: shared by
// `collective --measured` and `topo check --measured`.
#include <CLI/CLI.hpp>
#include <string>

#include "meshwright/calibrate/collective_records.hpp"

namespace meshwright::cli {

struct ObservationOptions {
  std::string measured;  ///< a log of nccl-tests or perftest, or a table of `collective`
  std::string policy{};  ///< "fastest", "nccl", or "" = whichever lies nearer to the log
  std::string busbw, one_node_busbw, raw_rdma, lines;
  double scaling = 0;
  bool unstable = false;

  bool any() const;
};

/// Adds --measured, --busbw, --one-node-busbw, --raw-rdma, --scaling, --unstable and --lines.
void add_observation_options(CLI::App& command, ObservationOptions& options);

/// Prints measurement beside prediction, under the policy's choice and the table's own options, and what a shortfall is
/// consistent with. `asked.ranks` 0 = those of the log.
void print_diagnosis(const ObservationOptions& options, const CollectiveTable& asked, const Cluster& cluster,
                     bool json);

}  // namespace meshwright::cli
