#pragma once
// Layouts of training records, with the rules for what their sources leave unsaid.
#include <optional>
#include <string>

#include "calibrate/record_stacks.hpp"
#include "meshwright/calibrate/run_records.hpp"

namespace meshwright::calibrate {

/// Fills the degrees of `layout` and spec.global_batch from the record's "layout", and lists each default among the
/// spec's assumptions. Returns why not where a degree is missing, else "".
std::string resolve_degrees(const Reader& record, const UsualChoices& usual, JobSpec& spec, Layout& layout);
/// Fills the choices that go with the degrees; `flags` are what the record's flags say of them.
void resolve_choices(const Reader& record, const UsualChoices& usual, const std::optional<Reader>& flags, JobSpec& spec,
                     Layout& layout);
/// What the record's words allow of the resolved layout that takes the least memory; nothing where they leave nothing
/// open that memory asks for (recompute, the ZeRO stage, sequence parallelism, the micro-batch).
std::optional<Layout> lightest_layout(const Reader& record, const std::optional<Reader>& flags, const Layout& resolved);
/// The record's model object; nothing where its shape was not published.
std::optional<Transformer> model_of_record(const Reader& model, std::string& why_not);

}  // namespace meshwright::calibrate
