#include "meshwright/topology/import.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "meshwright/core/error.hpp"
#include "meshwright/core/reader.hpp"
#include "meshwright/core/text.hpp"
#include "topology/import.hpp"

namespace meshwright::topology {
namespace {

bool all_digits(std::string_view s) {
  return !s.empty() && std::all_of(s.begin(), s.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
}

constexpr std::size_t most_dump = 8 << 20;

std::string without_ansi(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\x1b') {
      if (i + 1 < text.size() && text[i + 1] == '[') ++i;
      while (i + 1 < text.size() && !std::isalpha(static_cast<unsigned char>(text[i + 1]))) ++i;
      ++i;
    } else if (text.compare(i, 2, "\xc2\xa0") == 0) {  // no-break space
      out += ' ', ++i;
    } else if (text[i] != '\r') {
      out += text[i];
    }
  }
  return out;
}

/// "| GPU0 | X |" and "GPU0 | X" as tab-separated cells; rules of dashes as nothing.
std::string without_markdown(std::string line) {
  const std::string_view rule = "-|: \t+=";
  if (line.find('-') != std::string::npos && line.find('|') != std::string::npos &&
      line.find_first_not_of(rule) == std::string::npos)
    return "";
  if (const auto first = line.find_first_not_of(" \t"); first != std::string::npos && line[first] == '|')
    line[first] = ' ';
  std::replace(line.begin(), line.end(), '|', '\t');
  std::replace(line.begin(), line.end(), '`', ' ');
  std::replace(line.begin(), line.end(), '*', ' ');
  return line;
}

/// What the text is instead, where that is known: the hint in the refusal.
std::string what_it_is(std::string_view text) {
  const auto has = [&](std::string_view needle) { return text.find(needle) != std::string_view::npos; };
  if (has("Status Ok") || has("CNS ") || has("Chipset not supported"))
    return "this is a peer-to-peer status matrix (`nvidia-smi topo -p2p`), which says only whether peers may talk; "
           "give "
           "the output of `nvidia-smi topo -m`";
  if (has("NVIDIA-SMI") && has("Driver Version"))
    return "this is the status table of nvidia-smi; give the output of `nvidia-smi topo -m`";
  if (has("out-of-place") && has("busbw")) return "this is an nccl-tests log; see `meshwright calibrate nccl-tests`";
  if (has("NVLink") && has("GB/s") && has("Link 0"))
    return "this is `nvidia-smi nvlink --status`; give the output of `nvidia-smi topo -m`";
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) return "the file is empty";
  return "expected the output of `nvidia-smi topo -m` or `rocm-smi --showtopo`, or a NCCL topology XML "
         "(NCCL_TOPO_DUMP_FILE)";
}

}  // namespace

std::string_view name(Severity severity) {
  constexpr std::string_view names[] = {"note", "warning", "error"};
  return names[static_cast<int>(severity)];
}

std::vector<std::string> clean_lines(std::string_view text) {
  if (text.substr(0, 3) == "\xef\xbb\xbf") text.remove_prefix(3);
  const std::string plain = without_ansi(text);
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < plain.size();) {
    const std::size_t end = std::min(plain.find('\n', at), plain.size());
    lines.push_back(without_markdown(plain.substr(at, end - at)));
    at = end + 1;
  }
  return lines;
}

std::vector<std::string> words(std::string_view line) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < line.size();) {
    while (i < line.size() && std::isspace(static_cast<unsigned char>(line[i]))) ++i;
    const std::size_t first = i;
    while (i < line.size() && !std::isspace(static_cast<unsigned char>(line[i]))) ++i;
    if (i > first) out.emplace_back(line.substr(first, i - first));
  }
  return out;
}

bool starts_with_gpu(std::string_view word) {
  return word.size() > 3 && word.substr(0, 3) == "GPU" && all_digits(word.substr(3));
}

int distance(std::string_view link) {
  if (link == "X") return 0;
  if (link.substr(0, 2) == "NV" || link.substr(0, 4) == "XGMI" || link == "C2C") return 1;
  if (link == "PIX" || link == "PSB") return 2;
  if (link == "PXB") return 3;
  if (link == "PHB") return 4;
  if (link == "NODE") return 5;
  return link == "SYS" || link == "SOC" ? 6 : 7;
}

bool is_link_word(std::string_view word) {
  if (word.size() > 2 && word.substr(0, 2) == "NV")
    return (all_digits(word.substr(2)) && word.size() < 6) || word == "NV#";
  return distance(word) < 7 && word != "NV";
}

int NodeTopology::gpus() const {
  return static_cast<int>(std::count_if(devices.begin(), devices.end(), [](const auto& d) { return d.gpu; }));
}
int NodeTopology::nics() const { return static_cast<int>(devices.size()) - gpus(); }

std::map<std::string, int> gpu_links(const NodeTopology& node) {
  const int n = node.gpus();
  std::map<std::string, int> links;
  for (int r = 0; r < n; ++r)
    for (int c = 0; c < n; ++c)
      if (r != c && node.devices[static_cast<std::size_t>(r)].row == RowState::read && !node.cell(r, c).empty())
        ++links[node.cell(r, c)];
  return links;
}

std::vector<std::vector<std::string>> nvlink_groups(const NodeTopology& node) {
  const int n = node.gpus();
  std::vector<int> group(static_cast<std::size_t>(n), -1);
  std::vector<std::vector<std::string>> groups;
  for (int start = 0; start < n; ++start) {
    if (group[static_cast<std::size_t>(start)] >= 0) continue;
    std::vector<int> members{start};
    group[static_cast<std::size_t>(start)] = start;
    for (std::size_t i = 0; i < members.size(); ++i)
      for (int other = 0; other < n; ++other)
        if (group[static_cast<std::size_t>(other)] < 0 &&
            (distance(node.cell(members[i], other)) == 1 || distance(node.cell(other, members[i])) == 1)) {
          group[static_cast<std::size_t>(other)] = start;
          members.push_back(other);
        }
    if (members.size() < 2) continue;
    std::sort(members.begin(), members.end());
    groups.emplace_back();
    for (const int m : members) groups.back().push_back(node.devices[static_cast<std::size_t>(m)].name);
  }
  return groups;
}

std::map<std::string, NearNics> nearest_nics(const NodeTopology& node, bool all) {
  std::map<std::string, NearNics> near;
  const int gpus = node.gpus(), n = static_cast<int>(node.devices.size());
  for (int g = 0; g < gpus; ++g) {
    if (!all && node.devices[static_cast<std::size_t>(g)].row != RowState::read) continue;
    NearNics best;
    for (int c = gpus; c < n; ++c) {
      const std::string& link = node.cell(g, c);
      if (link.empty()) continue;
      if (best.link.empty() || distance(link) < distance(best.link)) best = {link, {}};
      if (link == best.link) best.nics.push_back(node.devices[static_cast<std::size_t>(c)].name);
    }
    if (!best.link.empty()) near[node.devices[static_cast<std::size_t>(g)].name] = std::move(best);
  }
  return near;
}

void refuse_too_many(std::size_t count, const std::string& name) {
  if (count > static_cast<std::size_t>(most_devices))
    throw Error(name, fmt::format("names {}{} devices; expected the GPUs and NICs of one node, at most {}",
                                  count > 100000 ? "over " : "", std::min<std::size_t>(count, 100000), most_devices));
}

std::vector<Finding> node_findings(const NodeTopology& node, const Catalog& catalog) {
  std::vector<Finding> out;
  find_in_links(node, catalog, out);
  find_in_nics(node, out);
  return out;
}

NodeTopology import_topology(std::string_view text, const std::string& name, const Catalog& catalog) {
  const auto first = text.find_first_not_of(" \t\r\n\xef\xbb\xbf");
  std::optional<NodeTopology> node;
  if (first != std::string_view::npos && text[first] == '<') {
    node = import_xml(text.substr(first), name, catalog);
  } else {
    const std::vector<std::string> lines = clean_lines(text);
    node = import_rocm(lines, name);
    if (!node) node = import_matrix(lines, name);
  }
  if (!node) throw Error(name, "no topology matrix found: " + what_it_is(text));
  for (ImportedDevice& device : node->devices) {
    device.name = printable(device.name);
    device.label = printable(device.label);
    device.affinity = printable(device.affinity);
  }
  mark_storage_nics(*node);
  for (Finding& finding : node_findings(*node, catalog)) node->findings.push_back(std::move(finding));
  std::stable_sort(node->findings.begin(), node->findings.end(),
                   [](const Finding& a, const Finding& b) { return a.severity > b.severity; });
  return std::move(*node);
}

NodeTopology import_topology_file(const std::filesystem::path& path, const Catalog& catalog) {
  const std::string text = read_file(path);
  if (text.size() > most_dump)
    throw Error(path.string(),
                fmt::format("holds {} bytes, expected the dump of one node, at most {}", text.size(), most_dump));
  return import_topology(text, path.string(), catalog);
}

}  // namespace meshwright::topology
