// What a matrix says about the links between the GPUs of a node.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "meshwright/core/names.hpp"
#include "meshwright/core/text.hpp"
#include "topology/import.hpp"

namespace meshwright::topology {
namespace {

using Names = std::vector<std::string>;

std::string list(const Names& names) { return fmt::format("{}", fmt::join(names, ", ")); }
const std::string& device(const NodeTopology& node, int i) { return node.devices[static_cast<std::size_t>(i)].name; }

/// Links of a pair, from whichever side knows them.
int links_between(const NodeTopology& node, int a, int b) {
  return std::max(node.links[node.place(a, b)], node.links[node.place(b, a)]);
}

/// Links of each GPU over the pairs that the matrix shows (per known pair, so that rows that are cut off do not count
/// as links that are down); -1 where it shows none.
std::vector<double> links_a_known_pair(const NodeTopology& node) {
  const int n = node.gpus();
  std::vector<double> each(static_cast<std::size_t>(n), -1);
  for (int a = 0; a < n; ++a) {
    int known = 0, sum = 0;
    for (int b = 0; b < n; ++b)
      if (a != b && !either(node, a, b).empty()) ++known, sum += links_between(node, a, b);
    if (known > 0) each[static_cast<std::size_t>(a)] = static_cast<double>(sum) / known;
  }
  return each;
}

/// A GPU with fewer links than its peers, or without any, splits the node.
void find_missing_links(const NodeTopology& node, std::vector<Finding>& out) {
  const int n = node.gpus();
  const std::vector<double> each = links_a_known_pair(node);
  std::vector<double> sorted;
  std::copy_if(each.begin(), each.end(), std::back_inserter(sorted), [](double e) { return e >= 0; });
  std::sort(sorted.begin(), sorted.end());
  if (sorted.empty() || sorted.back() <= 0) return;
  const double usual = sorted[sorted.size() / 2];
  // Where one GPU has none, its peers have one pair fewer: not their fault.
  const bool some_without = sorted.front() == 0;
  Names without, fewer;
  for (int g = 0; g < n; ++g) {
    const double e = each[static_cast<std::size_t>(g)];
    if (e == 0)
      without.push_back(device(node, g));
    else if (e > 0 && e < usual * (1 - 1e-9) && !some_without)
      fewer.push_back(device(node, g));
  }
  const std::string_view link = node.vendor == "amd" ? "xGMI link" : "NVLink";
  const std::string_view check =
      node.vendor == "amd" ? "`rocm-smi --showxgmierr`" : "`nvidia-smi nvlink --status` and the fabric manager";
  if (!without.empty())
    out.push_back({"missing-nvlink", Severity::error,
                   fmt::format("{} {} no {} while the other GPUs have: this is no domain of {} GPUs; check {}",
                               list(without), without.size() == 1 ? "has" : "have", link, n, check),
                   without});
  else if (!fewer.empty())
    out.push_back({"missing-nvlink", Severity::warning,
                   fmt::format("{} {} fewer {}s than the other GPUs: links are down; check {}", list(fewer),
                               fewer.size() == 1 ? "has" : "have", link, check),
                   fewer});
}

/// Links that all GPUs have to all others; zero where the pairs differ.
int uniform_links(const NodeTopology& node) {
  const int n = node.gpus();
  int common = -1;
  for (int a = 0; a < n; ++a)
    for (int b = a + 1; b < n; ++b) {
      if (either(node, a, b).empty()) continue;
      const int links = links_between(node, a, b);
      if (common >= 0 && links != common) return 0;
      common = links;
    }
  return std::max(common, 0);
}

/// The same number of NVLinks to every peer is either all that a GPU has, through switches, or a share of them that
/// adds up to all, by direct cables. A number that is neither means links that are down on every GPU alike.
void find_odd_link_count(const NodeTopology& node, const Catalog& catalog, std::vector<Finding>& out) {
  const int n = node.gpus(), each = uniform_links(node);
  if (node.vendor != "nvidia" || n < 3 || each == 0) return;
  std::set<int> all, switched;  // links of one GPU; of one whose nodes have switches
  const auto its = [&](const Accelerator& a) { return folded_name(a.vendor) == node.vendor; };
  for (const Accelerator& a : catalog.accelerators)
    if (its(a) && a.scale_up_links > 0) all.insert(a.scale_up_links);
  for (const Node& node_kind : catalog.nodes)
    if (const Accelerator& a = catalog.accelerator(node_kind.accelerator);
        its(a) && node_kind.scale_up == ScaleUpKind::switched)
      switched.insert(a.scale_up_links);
  if (all.empty() || switched.count(each) > 0 || all.count(each * (n - 1)) > 0) return;
  out.push_back(
      {"odd-link-count",
       Severity::warning,
       fmt::format("NV{0} between all {1} GPUs: no GPU has {0} NVLinks to switches (those with switches have {4}), or "
                   "{2} to {3} peers directly (known: {5}): links are down or switched off on every GPU alike, or the "
                   "matrix was changed by hand; check `nvidia-smi nvlink --status`",
                   each, n, each * (n - 1), n - 1, fmt::join(switched, ", "), fmt::join(all, ", ")),
       {}});
}

void find_asymmetry(const NodeTopology& node, std::vector<Finding>& out) {
  constexpr std::size_t shown = 4;
  Names pairs;
  std::size_t count = 0;
  const int n = static_cast<int>(node.devices.size());
  for (int a = 0; a < n; ++a)
    for (int b = a + 1; b < n; ++b) {
      if (node.cell(a, b).empty() || node.cell(b, a).empty() || node.cell(a, b) == node.cell(b, a)) continue;
      if (++count <= shown)
        pairs.push_back(
            fmt::format("{}-{} ({} / {})", device(node, a), device(node, b), node.cell(a, b), node.cell(b, a)));
    }
  if (count == 0) return;
  out.push_back({"asymmetric",
                 Severity::warning,
                 fmt::format("the two directions disagree: {}{}", list(pairs),
                             count > shown ? fmt::format(" and {} more", count - shown) : ""),
                 {}});
}

void find_domain(const NodeTopology& node, std::vector<Finding>& out) {
  const int n = node.gpus();
  const auto groups = nvlink_groups(node);
  int most = 0, direct = 0, pairs = 0;
  for (int a = 0; a < n; ++a)
    for (int b = a + 1; b < n; ++b) {
      pairs += either(node, a, b).empty() ? 0 : 1;
      if (const int k = links_between(node, a, b); k > 0) most = std::max(most, k), ++direct;
    }
  const auto note = [&](std::string kind, std::string text) {
    out.push_back({std::move(kind), Severity::note, std::move(text), {}});
  };
  const bool silent = std::any_of(node.findings.begin(), node.findings.end(), [](const Finding& f) {
    return f.kind == "class-only" || f.kind == "nvlink-to-self";
  });
  if (groups.empty() && n > 1 && !silent)
    note("pcie-only", fmt::format("no NVLink or xGMI: {} GPUs talk over PCIe", n));
  if (groups.size() > 1)
    note("split-domain", fmt::format("{} separate groups of NVLink: {} GPUs in the largest", groups.size(),
                                     std::max_element(groups.begin(), groups.end(), [](const auto& a, const auto& b) {
                                       return a.size() < b.size();
                                     })->size()));
  if (most >= 18 && n <= 4)
    note("domain-not-visible",
         "NV18 among four GPUs or fewer: a tray of a larger domain (NVL72) looks like this; the size of the domain is "
         "not in the matrix");
  const bool one_group = groups.size() == 1 && static_cast<int>(groups[0].size()) == n;
  if (most > 0 && direct < pairs && one_group)
    note("sparse-mesh", fmt::format("direct links without a switch: {} of {} pairs are joined (cube mesh or sparse "
                                    "xGMI); other pairs go over PCIe or another GPU",
                                    direct, pairs));
  if (node.vendor == "amd" && most > 0 && direct == pairs)
    note("full-mesh", fmt::format("full xGMI mesh: every GPU is joined to its {} peers directly; a pair gets its own "
                                  "links, not the sum",
                                  n - 1));
  if (n > 2 && (n & (n - 1)) != 0)
    note("odd-gpu-count",
         fmt::format("{} GPUs: no power of two; tensor parallel degrees are limited to its divisors", n));
}

}  // namespace

int links_of(std::string_view cell) {
  if (cell == "XGMI") return 1;
  return cell.starts_with("NV") ? parse_whole(cell.substr(2), 0, 999).value_or(0) : 0;
}

const std::string& either(const NodeTopology& node, int a, int b) {
  return node.cell(a, b).empty() ? node.cell(b, a) : node.cell(a, b);
}

void find_in_links(const NodeTopology& node, const Catalog& catalog, std::vector<Finding>& out) {
  find_missing_links(node, out);
  find_odd_link_count(node, catalog, out);
  find_asymmetry(node, out);
  find_domain(node, out);
}

}  // namespace meshwright::topology
