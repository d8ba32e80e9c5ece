#pragma once
// The accuracy of collective times as a page: by platform, by collective, and the worst tables with their reasons.
#include <string>
#include <vector>

#include "meshwright/calibrate/collective_records.hpp"

namespace meshwright::calibrate {

/// Markdown: errors of rows from 1 MiB and up to 64 KiB by platform and by collective, the worst tables, and what was
/// left out by which rule. docs/accuracy-collectives.md is this text for the published tables.
std::string collective_accuracy(const std::vector<CollectiveCheck>& checks);

}  // namespace meshwright::calibrate
