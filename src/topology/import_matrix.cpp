// `nvidia-smi topo -m`.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <unordered_map>

#include "meshwright/core/error.hpp"
#include "meshwright/core/text.hpp"
#include "topology/import.hpp"

namespace meshwright::topology {
namespace {

/// Column names of a header line: everything between the corner and "CPU Affinity".
std::vector<std::string> header_devices(const std::string& line) {
  std::vector<std::string> names;
  std::size_t before = 0;  // a log's prefix, a row label
  for (const std::string& word : words(line)) {
    if (names.empty() && !starts_with_gpu(word) && ++before <= 3) continue;
    if (word == "CPU" || word == "NUMA" || word == "GPU" || word == "Affinity") break;
    if (is_link_word(word) || word.find_first_of("=#:,") != std::string::npos) return {};
    names.push_back(word);
  }
  return names;
}

bool looks_like_header(const std::vector<std::string>& names) {
  return !names.empty() && starts_with_gpu(names.front());
}

struct Header {
  std::size_t line = 0;  ///< of the last line that belongs to it
  std::vector<std::string> names;
  bool gpu_numa = false;  ///< a last column "GPU NUMA ID": the memory of a GPU as a NUMA node, no CPU affinity
};

/// The header, with device names that a narrow terminal wrapped onto the next line.
std::optional<Header> find_header(const std::vector<std::string>& lines, const std::string& name) {
  for (std::size_t i = 0; i < lines.size(); ++i) {
    Header header{i, header_devices(lines[i])};
    if (!looks_like_header(header.names)) continue;
    refuse_too_many(header.names.size(), name);
    if (header.names.size() == 1 && words(lines[i]).size() > 1 && !lines[i].starts_with('\t') &&
        lines[i].find("Affinity") == std::string::npos)
      continue;  // a row or a sentence that begins with GPU0
    const auto is_device = [](const std::string& w) {
      return w.size() > 2 && std::isdigit(static_cast<unsigned char>(w.back()));
    };
    while (header.line + 1 < lines.size() && lines[header.line].find("Affinity") == std::string::npos) {
      std::vector<std::string> more;
      for (const std::string& word : words(lines[header.line + 1])) {
        if (word == "CPU" || word == "NUMA" || word == "GPU" || word == "Affinity") break;
        more.push_back(word);
      }
      const bool repeats =
          !more.empty() && std::find(header.names.begin(), header.names.end(), more.front()) != header.names.end();
      if (more.empty() || repeats || !std::all_of(more.begin(), more.end(), is_device)) break;
      header.names.insert(header.names.end(), more.begin(), more.end());
      refuse_too_many(header.names.size(), name);
      ++header.line;
    }
    for (std::size_t l = i; l <= header.line; ++l)
      header.gpu_numa = header.gpu_numa || lines[l].find("GPU NUMA ID") != std::string::npos;
    return header;
  }
  return std::nullopt;
}

/// Splits a cell of several link words without space between ("NODENODE", "SYSPIX"); empty where it is not one.
std::vector<std::string> split_glued(const std::string& cell) {
  static const std::vector<std::string> known = {"NODE", "SYS", "PIX", "PXB", "PHB", "SOC"};
  std::vector<std::string> parts;
  for (std::size_t at = 0; at < cell.size();) {
    std::size_t length = 0;
    for (const std::string& word : known)
      if (cell.compare(at, word.size(), word) == 0) length = word.size();
    if (length == 0 && cell.compare(at, 2, "NV") == 0) {
      length = 2;
      while (at + length < cell.size() && std::isdigit(static_cast<unsigned char>(cell[at + length]))) ++length;
      if (length == 2) return {};
    }
    if (length == 0 && cell[at] == 'X') length = 1;
    if (length == 0) return {};
    parts.push_back(cell.substr(at, length));
    at += length;
  }
  return parts;
}

struct Row {
  std::vector<std::string> cells, rest;  ///< link words; affinity and the like
  std::vector<std::string> glued;        ///< cells that had to be split
};

/// Cells after the row's name.
Row read_row(const std::string& line, std::size_t columns) {
  Row row;
  std::vector<std::string> all = words(line);
  all.erase(all.begin());
  std::size_t i = 0;
  for (; i < all.size() && row.cells.size() < columns; ++i) {
    if (is_link_word(all[i])) {
      row.cells.push_back(all[i]);
    } else if (const std::vector<std::string> parts = split_glued(all[i]); parts.size() > 1) {
      row.glued.push_back(all[i]);
      row.cells.insert(row.cells.end(), parts.begin(), parts.end());
    } else if (all[i] == "N/A" || all[i] == "?" || all[i] == "--") {
      row.cells.emplace_back();
    } else {
      break;
    }
  }
  row.rest.assign(all.begin() + static_cast<std::ptrdiff_t>(i), all.end());
  return row;
}

struct Matrix {
  NodeTopology node;
  std::vector<std::string> unusable, repaired;
  std::unordered_map<std::string, int> places;
  bool gpu_numa = false;

  void add(const std::string& name, bool gpu) {
    places.emplace(name, static_cast<int>(node.devices.size()));
    node.devices.push_back({.name = name, .label = "", .gpu = gpu, .affinity = ""});
  }
  int index(const std::string& name) const {
    const auto at = places.find(name);
    return at == places.end() ? -1 : at->second;
  }
  std::string& cell(int r, int c) {
    return node.cells[static_cast<std::size_t>(r) * node.devices.size() + static_cast<std::size_t>(c)];
  }
};

/// Words after the cells: cores ("0-35,72-107"), NUMA node (or nodes, "0,2-17": the first is the CPU's). Either may be
/// blank. A GPU's own NUMA id, the last column where there is one, says nothing about CPUs.
void read_affinity(ImportedDevice& device, std::vector<std::string> rest, bool gpu_numa) {
  if (gpu_numa && !rest.empty()) rest.pop_back();
  for (const std::string& word : rest) {
    if (word.find_first_not_of("0123456789,-") != std::string::npos) continue;
    const std::optional<int> one = parse_whole(word, 0, 999);
    if (!one && device.affinity.empty())
      device.affinity = word;
    else if (device.numa < 0)
      device.numa = one ? *one : parse_whole(word.substr(0, word.find_first_of(",-")), 0, 999).value_or(-1);
  }
}

void take_row(Matrix& m, const std::string& name, Row row) {
  const int r = m.index(name);
  const std::size_t columns = m.node.devices.size();
  ++m.node.rows_present;
  ImportedDevice& device = m.node.devices[static_cast<std::size_t>(r)];
  const bool fits = row.cells.size() == columns && row.cells[static_cast<std::size_t>(r)] == "X" &&
                    std::count(row.cells.begin(), row.cells.end(), "X") == 1;
  if (!fits) {
    m.unusable.push_back(fmt::format("{} ({} of {} cells)", printable(name), row.cells.size(), columns));
    return;
  }
  device.row = row.glued.empty() ? RowState::read : RowState::repaired;
  if (row.glued.empty())
    ++m.node.rows_usable;
  else
    m.repaired.push_back(fmt::format("{} ('{}')", printable(name), fmt::join(row.glued, "', '")));
  for (std::size_t c = 0; c < columns; ++c) m.cell(r, static_cast<int>(c)) = row.cells[c];
  read_affinity(device, row.rest, m.gpu_numa);
}

/// Where a row begins in a line, past a log's prefix of a few words; the line's size where it holds none.
std::size_t row_begins(const Matrix& m, const std::vector<std::string>& line) {
  constexpr std::size_t longest_prefix = 16;
  for (std::size_t i = 0; i + 1 < line.size() && i < longest_prefix; ++i)
    if (m.index(line[i]) >= 0 && (is_link_word(line[i + 1]) || !split_glued(line[i + 1]).empty())) return i;
  return line.size();
}

/// Rows under the header; a row cut by a narrow terminal goes on in lines that begin with a link word.
void read_rows(Matrix& m, const std::vector<std::string>& lines, std::size_t first) {
  for (std::size_t i = first; i < lines.size(); ++i) {
    std::vector<std::string> line = words(lines[i]);
    if (line.empty()) continue;
    if (line.front() == "Legend:" || line.front() == "NIC") break;
    const std::size_t prefix = row_begins(m, line);
    if (prefix == line.size()) continue;
    line.erase(line.begin(), line.begin() + static_cast<std::ptrdiff_t>(prefix));
    const int r = m.index(line.front());
    if (m.node.devices[static_cast<std::size_t>(r)].row != RowState::missing) {
      m.node.findings.push_back(
          {"second-matrix", Severity::note, "the file holds more than one matrix; only the first is used", {}});
      break;
    }
    const std::string name = line.front();
    std::string whole = fmt::format("{}", fmt::join(line, " "));
    while (i + 1 < lines.size()) {
      const std::vector<std::string> next = words(lines[i + 1]);
      if (next.empty() || !is_link_word(next.front()) || (next.size() > 1 && next[1] == "=")) break;
      whole += " " + lines[++i];
    }
    take_row(m, name, read_row(whole, m.node.devices.size()));
  }
}

/// "NIC0: mlx5_0" lines.
void read_legend(Matrix& m, const std::vector<std::string>& lines) {
  for (const std::string& text : lines) {
    const std::vector<std::string> line = words(text);
    if (line.size() != 2 || line[0].back() != ':') continue;
    if (const int d = m.index(line[0].substr(0, line[0].size() - 1)); d >= 0)
      m.node.devices[static_cast<std::size_t>(d)].label = line[1];
  }
}

/// Cells of missing rows from the other side of the diagonal; the number of cells filled.
int mirror(Matrix& m) {
  int filled = 0;
  const int n = static_cast<int>(m.node.devices.size());
  for (int r = 0; r < n; ++r) {
    if (m.node.devices[static_cast<std::size_t>(r)].row == RowState::missing) m.cell(r, r) = "X";
    for (int c = 0; c < n; ++c)
      if (m.cell(r, c).empty() && !m.cell(c, r).empty()) m.cell(r, c) = m.cell(c, r), ++filled;
  }
  return filled;
}

void report(Matrix& m, int filled) {
  std::vector<std::string> absent;
  for (const ImportedDevice& d : m.node.devices)
    if (d.row == RowState::missing) absent.push_back(printable(d.name));
  auto& findings = m.node.findings;
  if (!m.unusable.empty())
    findings.push_back({"malformed-row",
                        Severity::warning,
                        fmt::format("rows that don't fit the header are left out: {}", fmt::join(m.unusable, ", ")),
                        {}});
  if (!m.repaired.empty())
    findings.push_back(
        {"repaired-row",
         Severity::warning,
         fmt::format("malformed: glued cells were split so that the row fits the header: {}; check against the machine",
                     fmt::join(m.repaired, ", ")),
         {}});
  if (!absent.empty())
    findings.push_back({"rows-missing", Severity::warning,
                        fmt::format("{} of {} rows are missing ({}); {} cells were filled in by symmetry",
                                    absent.size(), m.node.devices.size(), fmt::join(absent, ", "), filled),
                        absent});
}

}  // namespace

std::optional<NodeTopology> import_matrix(const std::vector<std::string>& lines, const std::string& name) {
  const std::optional<Header> header = find_header(lines, name);
  if (!header) return std::nullopt;
  Matrix m;
  m.node.format = "nvidia-smi topo -m", m.node.vendor = "nvidia";
  for (const bool gpu : {true, false})
    for (const std::string& device : header->names)
      if (starts_with_gpu(device) == gpu) {
        if (m.index(device) >= 0)
          throw Error(name, fmt::format("column '{}' stands twice in the header", printable(device)));
        m.add(device, gpu);
      }
  if (header->names.size() > 1 && !std::is_partitioned(header->names.begin(), header->names.end(), starts_with_gpu))
    throw Error(name,
                "NIC columns stand between GPU columns; the order of the header is not one that nvidia-smi prints");
  m.gpu_numa = header->gpu_numa;
  m.node.cells.assign(m.node.devices.size() * m.node.devices.size(), "");
  read_rows(m, lines, header->line + 1);
  if (m.node.rows_present == 0) return std::nullopt;
  const bool any = std::any_of(m.node.devices.begin(), m.node.devices.end(),
                               [](const auto& d) { return d.row != RowState::missing; });
  if (!any) {
    const bool status = std::any_of(lines.begin(), lines.end(), [](const std::string& l) {
      return l.find("Status Ok") != std::string::npos || l.find("Chipset not supported") != std::string::npos;
    });
    if (status) return std::nullopt;
    throw Error(name, fmt::format("no row of the matrix fits its header of {} columns ({})", m.node.devices.size(),
                                  m.unusable.front()));
  }
  read_legend(m, lines);
  if (std::any_of(lines.begin(), lines.end(), [](const std::string& l) { return l.find("MIG") != std::string::npos; }))
    m.node.findings.push_back(
        {"mig",
         Severity::warning,
         "MIG instances are named: an instance is a part of a GPU and has no NVLink or peer-to-peer of its own",
         {}});
  report(m, mirror(m));
  for (const std::string& cell : m.node.cells) m.node.links.push_back(links_of(cell));
  return std::move(m.node);
}

}  // namespace meshwright::topology
