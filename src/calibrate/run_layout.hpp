#pragma once
// Layouts of training records, with the rules for what their sources leave unsaid.
#include <string>

#include "meshwright/calibrate/run_records.hpp"

namespace meshwright::calibrate {

/// The profile that a record's stack and date stand for.
Framework framework_of_record(const std::string& framework, const std::string& date, const std::string& where,
                              const Catalog& catalog);
/// Fills run.layout, run.job.global_batch and run.job.precision from the record's "layout", and lists each default
/// among the assumptions; sets run.skipped where a degree is missing.
void resolve_layout(const Reader& record, RunRecord& run);
/// The record's model object; nothing where its shape was not published.
std::optional<Transformer> model_of_record(const Reader& model, std::string& why_not);

}  // namespace meshwright::calibrate
