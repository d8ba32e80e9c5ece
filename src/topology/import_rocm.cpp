// `rocm-smi --showtopo` (tables "Weight", "Hops", "Link Type between two GPUs") and `amd-smi topology`.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <set>

#include "meshwright/core/error.hpp"
#include "meshwright/core/text.hpp"
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
Table read_table(const std::vector<std::string>& lines, std::string_view title, const std::string& name) {
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
      refuse_too_many(line.size(), name);
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
  std::set<std::string> values;
  for (std::size_t r = 0; r < table.rows.size(); ++r)
    for (std::size_t c = 0; c < table.rows[r].size(); ++c)
      if (r != c) values.insert(table.rows[r][c]);
  if (values.empty()) return "";
  const auto numeric = [](const std::string& a, const std::string& b) {
    return a.size() != b.size() ? a.size() < b.size() : a < b;
  };
  const auto [least, most] = std::minmax_element(values.begin(), values.end(), numeric);
  return values.size() == 1 ? printable(*values.begin()) : fmt::format("{} to {}", printable(*least), printable(*most));
}

/// The driver's distance of one xGMI link; over two links it says twice that (amdkfd, kfd_crat.c:
/// KFD_CRAT_XGMI_WEIGHT).
constexpr int one_link = 15;

std::optional<int> number_at(const Table& table, std::size_t r, std::size_t c) {
  if (r >= table.rows.size() || c >= table.rows[r].size()) return std::nullopt;
  return parse_whole(table.rows[r][c], 0, 100000);
}

struct Tables {
  Table types, weights, hops;
  const Table& shape() const { return types.devices.empty() ? weights : types; }
};

/// "XGMI" for a link of the pair's own, "XGMI-2" for a way over two, "PCIE"; "" where nothing says. The type table
/// calls both kinds XGMI, and the hop count of some drivers is one for both: the weight tells them apart.
std::string cell_of(const Tables& t, std::size_t r, std::size_t c) {
  const std::optional<int> weight = number_at(t.weights, r, c), hops = number_at(t.hops, r, c);
  std::string type;
  if (!t.types.devices.empty()) {
    if (c < t.types.rows[r].size()) type = t.types.rows[r][c];
  } else if (weight) {
    type = *weight > 0 && *weight <= 4 * one_link && *weight % one_link == 0 ? "XGMI" : "PCIE";
  }
  if (type != "XGMI") return type == "PCIE" ? type : "";
  const int links = std::max(hops.value_or(1), weight ? *weight / one_link : 1);
  return links > 1 ? fmt::format("XGMI-{}", links) : "XGMI";
}

}  // namespace

std::optional<NodeTopology> import_rocm(const std::vector<std::string>& lines, const std::string& name) {
  const bool rocm = std::any_of(lines.begin(), lines.end(), [](const auto& l) {
    return contains(l, "ROCM") || contains(l, "BETWEEN TWO GPUS") || contains(l, "LINK TYPE TABLE");
  });
  if (!rocm) return std::nullopt;
  const Tables tables{read_table(lines, "LINK TYPE", name), read_table(lines, "WEIGHT", name),
                      read_table(lines, "HOPS", name)};
  const Table& shape = tables.shape();
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
                            .label = starts_with_gpu(shape.devices[r]) ? "" : shape.devices[r],  // PCI address
                            .gpu = true,
                            .affinity = ""});
    const bool whole = shape.rows[r].size() == n;
    if (!shape.rows[r].empty()) ++node.rows_present;
    if (whole) ++node.rows_usable, node.devices[r].row = RowState::read;
    for (std::size_t c = 0; c < n; ++c) {
      std::string& cell = node.cells[r * n + c];
      cell = r == c ? "X" : whole ? cell_of(tables, r, c) : "";
      node.links.push_back(links_of(cell));
      if (r == 0 && cell == "XGMI") ++links;
    }
  }
  for (const auto& [key, table] :
       {std::pair<const char*, const Table&>{"link", tables.types}, {"weight", tables.weights}, {"hops", tables.hops}})
    if (!table.devices.empty()) node.facts[key] = summary(table);
  if (links > 0) node.facts["links_per_gpu"] = std::to_string(links);
  if (node.rows_usable < static_cast<int>(n))
    node.findings.push_back(
        {"rows-missing", Severity::warning, fmt::format("{} of {} rows could be read", node.rows_usable, n), {}});
  return node;
}

}  // namespace meshwright::topology
