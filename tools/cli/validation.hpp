#pragma once
// Checked records of every kind, as JSON and as a table for people.
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "meshwright/calibrate/collective_records.hpp"
#include "meshwright/calibrate/kernel_points.hpp"
#include "meshwright/calibrate/validate_runs.hpp"
#include "meshwright/collectives/message_program.hpp"
#include "meshwright/collectives/nccl_policy.hpp"

namespace meshwright::cli {

/// A record that names something the library doesn't know, and nothing else to say of it.
struct LeftOutRecord {
  std::string where, why;
};

struct Validation {
  std::vector<RunCheck> runs;
  std::vector<CollectiveCheck> collectives;
  std::vector<KernelErrors> kernels;
  std::vector<NcclGraphs> graphs;  ///< read ahead of the choices that they belong to
  std::vector<std::pair<std::string, std::optional<NcclChoiceCheck>>> choices;  ///< with the record's place
  std::vector<std::pair<std::string, LoggopsimCheck>> loggopsim;
  std::vector<LeftOutRecord> left_out;
};

/// {"runs": [...], "summary": {"count", "skipped", "mape", "median_ape", "p90_ape", "by_group": {...}}}
nlohmann::ordered_json validation_json(const Validation& validation);
std::string validation_text(const Validation& validation);

}  // namespace meshwright::cli
