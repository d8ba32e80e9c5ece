// `rocm-smi --showtopo` (tables "Weight", "Hops", "Link Type between two GPUs") and `amd-smi topology`.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "meshwright/core/error.hpp"
#include "topology/import.hpp"

namespace meshwright::topology {
namespace {

bool is_device(const std::string& word) {
  return starts_with_gpu(word) ||
         (word.size() >= 10 && std::count(word.begin(), word.end(), ':') == 2);  // 0000:0c:00.0
}

struct Table {
  std::vector<std::string> devices;
  std::vector<std::vector<std::string>> rows;  ///< in the order of devices; empty where missing
};

bool contains(const std::string& line, std::string_view needle) {
  std::string upper(line);
  std::transform(upper.begin(), upper.end(), upper.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return upper.find(needle) != std::string::npos;
}

/// The table under the title that contains `title` (upper case); no devices where there is none.
Table read_table(const std::vector<std::string>& lines, std::string_view title) {
  Table table;
  std::size_t i = 0;
  while (i < lines.size() && !contains(lines[i], title)) ++i;
  for (++i; i < lines.size(); ++i) {
    const std::vector<std::string> line = words(lines[i]);
    if (line.empty()) {
      if (!table.devices.empty()) break;
      continue;
    }
    if (table.devices.empty()) {
      if (!std::all_of(line.begin(), line.end(), is_device)) break;
      table.devices = line;
      table.rows.resize(line.size());
      continue;
    }
    const auto at = std::find(table.devices.begin(), table.devices.end(), line.front());
    if (at == table.devices.end()) break;
    table.rows[static_cast<std::size_t>(at - table.devices.begin())].assign(line.begin() + 1, line.end());
  }
  return table;
}

/// The value that all cells off the diagonal share; "a to b" where they differ.
std::string summary(const Table& table) {
  std::vector<std::string> values;
  for (std::size_t r = 0; r < table.rows.size(); ++r)
    for (std::size_t c = 0; c < table.rows[r].size(); ++c)
      if (r != c && std::find(values.begin(), values.end(), table.rows[r][c]) == values.end())
        values.push_back(table.rows[r][c]);
  if (values.empty()) return "";
  const auto numeric = [](const std::string& a, const std::string& b) {
    return a.size() != b.size() ? a.size() < b.size() : a < b;
  };
  const auto [least, most] = std::minmax_element(values.begin(), values.end(), numeric);
  return values.size() == 1 ? values.front() : fmt::format("{} to {}", *least, *most);
}

/// What the weights and hops say where the link type table is missing: xGMI has weight 15 a link and one hop.
std::string guess(const Table& weights, std::size_t r, std::size_t c) {
  if (r >= weights.rows.size() || c >= weights.rows[r].size()) return "";
  const std::string& w = weights.rows[r][c];
  return w == "15" || w == "30" ? "XGMI" : "PCIE";
}

}  // namespace

std::optional<NodeTopology> import_rocm(const std::vector<std::string>& lines, const std::string& name) {
  const bool rocm = std::any_of(lines.begin(), lines.end(), [](const auto& l) {
    return contains(l, "ROCM") || contains(l, "BETWEEN TWO GPUS") || contains(l, "LINK TYPE TABLE");
  });
  if (!rocm) return std::nullopt;
  Table types = read_table(lines, "LINK TYPE");
  const Table weights = read_table(lines, "WEIGHT"), hops = read_table(lines, "HOPS");
  const Table& shape = types.devices.empty() ? weights : types;
  if (shape.devices.empty())
    throw Error(name,
                "a ROCm report without a topology table; expected 'Link Type between two GPUs' as `rocm-smi "
                "--showtopo` prints it");
  NodeTopology node;
  node.format = "rocm-smi topology", node.vendor = "amd";
  const std::size_t n = shape.devices.size();
  node.cells.assign(n * n, "");
  int links = 0;
  for (std::size_t r = 0; r < n; ++r) {
    node.devices.push_back({.name = fmt::format("GPU{}", r),
                            .label = starts_with_gpu(shape.devices[r]) ? "" : shape.devices[r],
                            .gpu = true,
                            .affinity = ""});
    const bool whole = shape.rows[r].size() == n;
    if (!shape.rows[r].empty()) ++node.rows_present;
    if (whole) ++node.rows_usable, node.devices[r].row = RowState::read;
    for (std::size_t c = 0; c < n; ++c) {
      const std::string found = types.devices.empty() ? guess(weights, r, c) : (whole ? types.rows[r][c] : "");
      std::string& cell = node.cells[r * n + c];
      cell = r == c ? "X" : found == "XGMI" || found == "PCIE" ? found : "";
      if (r == 0 && cell == "XGMI") ++links;
    }
  }
  if (!types.devices.empty()) node.facts["link"] = summary(types);
  if (!weights.devices.empty()) node.facts["weight"] = summary(weights);
  if (!hops.devices.empty()) node.facts["hops"] = summary(hops);
  if (links > 0) node.facts["links_per_gpu"] = std::to_string(links);
  if (node.rows_usable < static_cast<int>(n))
    node.findings.push_back(
        {"rows-missing", Severity::warning, fmt::format("{} of {} rows could be read", node.rows_usable, n), {}});
  return node;
}

}  // namespace meshwright::topology
