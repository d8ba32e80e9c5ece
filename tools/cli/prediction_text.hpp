#pragma once
// A prediction as a person reads it: shared by plan and predict.
#include <string>

#include "meshwright/core/grouped.hpp"
#include "meshwright/parallel/prediction.hpp"

namespace meshwright::cli {

/// Two lines: the model on the cluster; sequence, batch, precision, framework.
std::string job_text(const Job& job);
/// Layout, step time with its band, throughput, MFU, memory with margin, placement of each axis.
std::string summary_text(const Job& job, const Prediction& prediction);
/// The fields of StepTime as a text waterfall, hidden communication beside it.
std::string waterfall_text(const Prediction& prediction);
/// Memory of the worst stage as a table.
std::string memory_text(const Job& job, const Prediction& prediction);
/// Flags for the launcher, and the release that they are written for. Error for a dialect of another stack.
std::string flags_text(const Job& job, const Layout& layout, const std::string& dialect);
/// "Warnings" and "Assumptions" lists, each left out when empty.
std::string notes_text(const std::vector<std::string>& warnings, const std::vector<std::string>& assumptions);

}  // namespace meshwright::cli
