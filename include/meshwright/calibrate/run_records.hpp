#pragma once
// A published training run as a record (JSON Lines): the job and layout that it describes and what was measured.
#include <optional>
#include <string>
#include <vector>

#include "meshwright/core/reader.hpp"
#include "meshwright/hardware/catalog.hpp"
#include "meshwright/parallel/job.hpp"

namespace meshwright::calibrate {

/// What a run reported; nothing where it did not.
struct MeasuredRun {
  std::optional<Seconds> step_time;
  std::optional<Bytes> peak_memory;
  std::optional<double> mfu;
};

struct RunRecord {
  std::string id, set, tier, task, framework, accelerator;
  std::string family;                  ///< of stacks whose accuracy is shown together: "megatron", "fsdp", ...
  bool unknown_stack = false;          ///< no profile knows the stack: predicted as any
  bool tuned = false;                  ///< from a source that publishes the best layouts a vendor found
  std::string state;                   ///< "wait", "slow-twin": a sick job, told from its twins alone; else ""
  std::optional<std::string> skipped;  ///< why it is not predicted; then job and layout are not filled
  Job job;                             ///< with every null that a rule resolved among its assumptions
  Layout layout;
  std::optional<Layout> lightest;  ///< with what the record leaves open as it takes the least memory; nothing where it
                                   ///< leaves nothing open that memory asks for
  MeasuredRun measured;
};

/// True where the record is a training run ("model", "cluster", "layout" and "measured").
bool is_run_record(const Reader& record);

/// Reads a record. Unknown fields are resolved by written rules that look at the stack and its date, never at what was
/// measured: see resolve_layout in src/calibrate/run_layout.cpp. What cannot be predicted is `skipped` with the reason:
/// a model without published shape, a layout without degrees, a device or format that the library doesn't know, nothing
/// measured. A stack that no profile knows is predicted as any stack, and tagged. Throws Error for a record that is
/// malformed.
RunRecord read_run_record(const Reader& record, const Catalog& catalog);

/// The probability that the device's memory holds the run. Of a record that leaves choices open the mean over what a
/// rule made of them and what takes the least memory: it may have run either.
double fits_probability(const RunRecord& run);

/// The published runs that ship with the library (data/runs), one Reader a record.
std::vector<Reader> published_runs();

}  // namespace meshwright::calibrate
