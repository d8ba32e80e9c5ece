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
/// 0 same device, 1 NVLink or xGMI (direct or through another GPU), 2 PIX, 3 PXB, 4 PHB, 5 NODE, 6 SYS; 7 unknown.
int distance(std::string_view link);

/// Nothing where the text is of another format.
std::optional<NodeTopology> import_matrix(const std::vector<std::string>& lines, const std::string& name);
std::optional<NodeTopology> import_rocm(const std::vector<std::string>& lines, const std::string& name);
NodeTopology import_xml(std::string_view text, const std::string& name, const Catalog& catalog);

/// Sets ImportedDevice::storage: bonds, and NICs that are near no GPU, nor the nearest of one, while others are.
void mark_storage_nics(NodeTopology& node);
/// NVLinks of a cell: "NV18" is 18, "XGMI" one, anything else none.
int links_of(std::string_view cell);
/// Error(name, ...) where `count` devices are more than one node has.
void refuse_too_many(std::size_t count, const std::string& name);

/// What the matrix says about links between GPUs, and about NICs.
void find_in_links(const NodeTopology& node, const Catalog& catalog, std::vector<Finding>& out);
void find_in_nics(const NodeTopology& node, std::vector<Finding>& out);
/// Either side of the diagonal; "" where neither is known.
const std::string& either(const NodeTopology& node, int a, int b);

}  // namespace meshwright::topology
