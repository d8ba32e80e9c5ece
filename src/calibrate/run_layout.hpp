#pragma once
// Layouts of training records, with the rules for what their sources leave unsaid.
#include <string>

#include "meshwright/calibrate/run_records.hpp"

namespace meshwright::calibrate {

/// Name of the profile that a record's stack, version and date stand for.
std::string profile_of_record(const std::string& framework, const std::string& version, const std::string& date);
/// Fills the degrees of `layout` and spec.global_batch from the record's "layout" (`framework` as records spell it),
/// and lists each default among the spec's assumptions. Returns why not where a degree is missing, else "".
std::string resolve_degrees(const Reader& record, const std::string& framework, JobSpec& spec, Layout& layout);
/// Fills the choices that go with the degrees.
void resolve_choices(const Reader& record, const std::string& framework, JobSpec& spec, Layout& layout);
/// True where kernel launches were captured in CUDA graphs.
bool has_cuda_graphs(const Reader& record);
/// The record's model object; nothing where its shape was not published.
std::optional<Transformer> model_of_record(const Reader& model, std::string& why_not);

}  // namespace meshwright::calibrate
