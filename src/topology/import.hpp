#pragma once
// Readers of the single formats.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "meshwright/topology/import.hpp"

namespace meshwright::topology {

/// Lines without ANSI codes, byte-order mark, carriage returns, code fences and Markdown bars; tabs stay.
std::vector<std::string> clean_lines(std::string_view text);
std::vector<std::string> words(std::string_view line);
bool starts_with_gpu(std::string_view word);  ///< "GPU0", "GPU12"
bool is_link_word(std::string_view word);     ///< "X", "NV12", "PIX", "SYS", ...
/// 0 same device, 1 NVLink or xGMI, 2 PIX, 3 PXB, 4 PHB, 5 NODE, 6 SYS; 7 unknown.
int distance(std::string_view link);

/// Nothing where the text is of another format.
std::optional<NodeTopology> import_matrix(const std::vector<std::string>& lines, const std::string& name);
std::optional<NodeTopology> import_rocm(const std::vector<std::string>& lines, const std::string& name);
NodeTopology import_xml(std::string_view text, const std::string& name);

/// Sets ImportedDevice::storage: bonds, and NICs near no GPU while others are near one.
void mark_storage_nics(NodeTopology& node);

}  // namespace meshwright::topology
