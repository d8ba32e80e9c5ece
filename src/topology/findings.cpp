// What a matrix says about a node, and what a description says about a cluster.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>

#include "meshwright/core/units.hpp"
#include "meshwright/topology/tiers.hpp"
#include "topology/import.hpp"

namespace meshwright::topology {
namespace {

using Names = std::vector<std::string>;

std::string list(const Names& names) { return fmt::format("{}", fmt::join(names, ", ")); }

int nvlinks(const std::string& cell) {
  return cell.starts_with("NV") ? std::atoi(cell.c_str() + 2) : cell == "XGMI" ? 1 : 0;
}

/// Either side of the diagonal; "" where neither is known.
const std::string& either(const NodeTopology& node, int a, int b) {
  return node.cell(a, b).empty() ? node.cell(b, a) : node.cell(a, b);
}

const std::string& device(const NodeTopology& node, int i) { return node.devices[static_cast<std::size_t>(i)].name; }

std::string shown(const ImportedDevice& nic) {
  return nic.label.empty() || nic.label == nic.name ? nic.name : fmt::format("{} ({})", nic.name, nic.label);
}

/// A GPU with fewer NVLinks than its peers, or without any, splits the node. Only pairs that the matrix shows count.
void find_missing_nvlink(const NodeTopology& node, std::vector<Finding>& out) {
  const int n = node.gpus();
  std::vector<double> each(static_cast<std::size_t>(n), 0);  // NVLinks a known pair
  std::vector<double> sorted;
  for (int a = 0; a < n; ++a) {
    int known = 0, sum = 0;
    for (int b = 0; b < n; ++b)
      if (a != b && !either(node, a, b).empty()) ++known, sum += nvlinks(either(node, a, b));
    each[static_cast<std::size_t>(a)] = known > 0 ? static_cast<double>(sum) / known : -1;
    if (known > 0) sorted.push_back(each[static_cast<std::size_t>(a)]);
  }
  std::sort(sorted.begin(), sorted.end());
  const double usual = sorted.empty() ? 0 : sorted[sorted.size() / 2];
  // Where one GPU has none, its peers have one pair fewer: not their fault.
  const bool some_without = std::any_of(each.begin(), each.end(), [](double e) { return e == 0; });
  Names without, fewer;
  for (int g = 0; g < n; ++g) {
    const double e = each[static_cast<std::size_t>(g)];
    if (e == 0)
      without.push_back(device(node, g));
    else if (e > 0 && e < usual * (1 - 1e-9) && !some_without)
      fewer.push_back(device(node, g));
  }
  const bool fast = usual > 0 || std::any_of(each.begin(), each.end(), [](double e) { return e > 0; });
  if (!fast) return;
  if (!without.empty())
    out.push_back({"missing-nvlink", Severity::error,
                   fmt::format("{} {} no NVLink while the other GPUs have: this is no {}-GPU NVLink domain; check "
                               "`nvidia-smi nvlink --status` and the fabric manager",
                               list(without), without.size() == 1 ? "has" : "have", n),
                   without});
  if (!fewer.empty() && without.empty())
    out.push_back(
        {"missing-nvlink", Severity::warning,
         fmt::format("{} {} fewer NVLinks than the other GPUs: links are down; check `nvidia-smi nvlink --status`",
                     list(fewer), fewer.size() == 1 ? "has" : "have"),
         fewer});
}

void find_asymmetry(const NodeTopology& node, std::vector<Finding>& out) {
  Names pairs;
  const int n = static_cast<int>(node.devices.size());
  for (int a = 0; a < n; ++a)
    for (int b = a + 1; b < n; ++b)
      if (!node.cell(a, b).empty() && !node.cell(b, a).empty() && node.cell(a, b) != node.cell(b, a))
        pairs.push_back(
            fmt::format("{}-{} ({} / {})", device(node, a), device(node, b), node.cell(a, b), node.cell(b, a)));
  if (pairs.empty()) return;
  const std::size_t more = pairs.size() > 4 ? pairs.size() - 4 : 0;
  pairs.resize(pairs.size() - more);
  out.push_back(
      {"asymmetric",
       Severity::warning,
       fmt::format("the two directions disagree: {}{}", list(pairs), more > 0 ? fmt::format(" and {} more", more) : ""),
       {}});
}

Names find_storage_nics(const NodeTopology& node, std::vector<Finding>& out) {
  Names storage;
  for (const ImportedDevice& nic : node.devices)
    if (nic.storage) storage.push_back(shown(nic));
  if (!storage.empty())
    out.push_back({"storage-nic", Severity::note,
                   fmt::format("{} {} near no GPU{}: storage or management, no rail; keep {} out of NCCL_IB_HCA",
                               list(storage), storage.size() == 1 ? "is" : "are",
                               storage.size() == 1 && storage[0].find("bond") != std::string::npos ? " (a bond)" : "",
                               storage.size() == 1 ? "it" : "them"),
                   storage});
  return storage;
}

void find_near_nics(const NodeTopology& node, std::vector<Finding>& out) {
  std::map<Names, Names> gpus_of;  // rails near them -> GPUs
  Names far, host_bridge;
  const int gpus = node.gpus(), n = static_cast<int>(node.devices.size());
  for (int g = 0; g < gpus; ++g) {
    std::string best;
    Names rails;
    for (int i = gpus; i < n; ++i) {
      const std::string& link = either(node, g, i);
      if (link.empty() || node.devices[static_cast<std::size_t>(i)].storage) continue;
      if (best.empty() || distance(link) < distance(best)) best = link, rails.clear();
      if (link == best) rails.push_back(shown(node.devices[static_cast<std::size_t>(i)]));
    }
    if (best.empty()) continue;
    if (distance(best) >= 5)
      far.push_back(fmt::format("{} ({})", device(node, g), best));
    else if (best == "PHB")
      host_bridge.push_back(device(node, g));
    if (distance(best) <= 3) gpus_of[rails].push_back(device(node, g));
  }
  if (!far.empty())
    out.push_back(
        {"no-near-nic", Severity::warning,
         fmt::format(
             "no NIC near {}: traffic crosses the CPU's fabric{}, GPUDirect RDMA is slow or off", list(far),
             std::any_of(far.begin(), far.end(), [](const auto& f) { return f.find("SYS") != std::string::npos; })
                 ? " and the socket link"
                 : ""),
         far});
  if (!host_bridge.empty())
    out.push_back(
        {"host-bridge-nic", Severity::note,
         fmt::format("{} {} the nearest NIC behind the CPU's host bridge (PHB), not behind the same PCIe switch",
                     list(host_bridge), host_bridge.size() == 1 ? "has" : "have"),
         host_bridge});
  for (const auto& [rails, sharing] : gpus_of) {
    if (sharing.size() > rails.size())
      out.push_back({"shared-nic", Severity::warning,
                     fmt::format("{} share {}: each gets {} of a NIC", list(sharing), list(rails),
                                 rails.size() == 1 ? fmt::format("1/{}", sharing.size())
                                                   : fmt::format("{}/{}", rails.size(), sharing.size())),
                     sharing});
    else if (sharing.size() > 1 && rails.size() == sharing.size())
      out.push_back({"paired-nics", Severity::note,
                     fmt::format("{} share {} behind one PCIe switch: one NIC a GPU", list(sharing), list(rails)),
                     sharing});
    else if (rails.size() > sharing.size())
      out.push_back(
          {"many-nics", Severity::note,
           fmt::format("{} near {}: ports of dual-port cards or virtual functions count once; check with `lspci`",
                       list(rails), list(sharing)),
           rails});
  }
}

/// "rocep145s0f1np1" -> "rocep145s0": the card of a port whose name carries its PCI function; "" where it does not.
std::string card_of(const std::string& port) {
  const auto f = port.rfind('f');
  if (f == std::string::npos || f == 0 || f + 1 >= port.size() ||
      std::isdigit(static_cast<unsigned char>(port[f - 1])) == 0)
    return "";
  const std::string_view after = std::string_view(port).substr(f + 1);
  const bool function = after.size() <= 4 && std::isdigit(static_cast<unsigned char>(after[0])) != 0 &&
                        after.find_first_not_of("0123456789np") == std::string_view::npos;
  return function ? port.substr(0, f) : "";
}

/// Ports of one card count once: by name, or (storage NICs) by a single PCIe bridge between two that are near no GPU.
void find_dual_ports(const NodeTopology& node, std::vector<Finding>& out) {
  std::map<std::string, Names> cards;
  const int gpus = node.gpus(), n = static_cast<int>(node.devices.size());
  for (int i = gpus; i < n; ++i) {
    const ImportedDevice& nic = node.devices[static_cast<std::size_t>(i)];
    if (const std::string card = card_of(nic.label.empty() ? nic.name : nic.label); !card.empty())
      cards[card].push_back(shown(nic));
  }
  for (const auto& [card, all] : cards)
    if (all.size() > 1)
      out.push_back(
          {"dual-port", Severity::note, fmt::format("{} are ports of one card, counted once", list(all)), all});
  for (int a = gpus; a < n; ++a)
    for (int b = a + 1; b < n; ++b) {
      const ImportedDevice &x = node.devices[static_cast<std::size_t>(a)],
                           &y = node.devices[static_cast<std::size_t>(b)];
      if (x.storage && y.storage && either(node, a, b) == "PIX" && card_of(x.label).empty())
        out.push_back(
            {"dual-port",
             Severity::note,
             fmt::format("{} and {} are PIX to each other: most likely the two ports of one card, counted once",
                         shown(x), shown(y)),
             {x.name, y.name}});
    }
}

/// Rails whose NIC order does not follow GPU order.
void find_order(const NodeTopology& node, std::vector<Finding>& out) {
  const int gpus = node.gpus(), n = static_cast<int>(node.devices.size());
  std::vector<int> partner;
  Names pairs;
  for (int g = 0; g < gpus; ++g)
    for (int i = gpus; i < n; ++i)
      if (distance(node.cell(g, i)) <= 3) {
        partner.push_back(i);
        pairs.push_back(fmt::format("{}-{}", device(node, g), device(node, i)));
        break;
      }
  if (partner.size() < 2 || std::is_sorted(partner.begin(), partner.end())) return;
  const bool reversed = std::is_sorted(partner.rbegin(), partner.rend());
  out.push_back({"nic-order",
                 Severity::note,
                 fmt::format("NIC order {} GPU order ({}): pair by distance, not by index",
                             reversed ? "is the reverse of" : "does not follow", list(pairs)),
                 {}});
}

void find_domain(const NodeTopology& node, std::vector<Finding>& out) {
  const int n = node.gpus();
  const auto groups = nvlink_groups(node);
  int nv = 0, direct = 0, pairs = 0;
  for (int a = 0; a < n; ++a)
    for (int b = 0; b < n; ++b) {
      if (a == b) continue;
      pairs += either(node, a, b).empty() ? 0 : 1;
      if (const int k = nvlinks(either(node, a, b)); k > 0) nv = std::max(nv, k), ++direct;
    }
  const bool silent = std::any_of(node.findings.begin(), node.findings.end(), [](const Finding& f) {
    return f.kind == "class-only" || f.kind == "nvlink-to-self";
  });
  if (groups.empty() && n > 1 && !silent)
    out.push_back({"pcie-only", Severity::note, fmt::format("no NVLink or xGMI: {} GPUs talk over PCIe", n), {}});
  if (groups.size() > 1)
    out.push_back({"split-domain",
                   Severity::note,
                   fmt::format("{} separate groups of NVLink: {} GPUs in the largest", groups.size(),
                               std::max_element(groups.begin(), groups.end(),
                                                [](const auto& a, const auto& b) { return a.size() < b.size(); })
                                   ->size()),
                   {}});
  if (nv >= 18 && n <= 4)
    out.push_back({"domain-not-visible",
                   Severity::note,
                   "NV18 among four GPUs or fewer: a tray of a larger domain (NVL72) looks like this; the size of the "
                   "domain is not in the matrix",
                   {}});
  const bool direct_links = nv > 0 && direct < pairs && groups.size() == 1 && static_cast<int>(groups[0].size()) == n;
  if (direct_links)
    out.push_back({"sparse-mesh",
                   Severity::note,
                   fmt::format("direct links without a switch: {} of {} pairs are joined (cube mesh or sparse xGMI); "
                               "other pairs go over PCIe or another GPU",
                               direct / 2, pairs / 2),
                   {}});
  if (node.vendor == "amd" && nv > 0 && direct == pairs)
    out.push_back(
        {"full-mesh",
         Severity::note,
         fmt::format("full xGMI mesh: {} links a GPU, one to each peer; a pair gets one link, not the sum", n - 1),
         {}});
  if (n > 2 && (n & (n - 1)) != 0)
    out.push_back({"odd-gpu-count",
                   Severity::note,
                   fmt::format("{} GPUs: no power of two; tensor parallel degrees are limited to its divisors", n),
                   {}});
}

void find_nic_count(const NodeTopology& node, const Names& storage, std::vector<Finding>& out) {
  const int nics = node.nics() - static_cast<int>(storage.size());
  if (node.nics() == 0) {
    if (node.format != "rocm-smi topology")
      out.push_back({"no-nic", Severity::note, "no NIC in the matrix: multi-node traffic cannot be judged", {}});
    return;
  }
  if (nics < node.gpus())
    out.push_back({"few-nics",
                   Severity::warning,
                   fmt::format("{} NIC{} for {} GPUs: {} GPUs share each", nics, nics == 1 ? "" : "s", node.gpus(),
                               nics > 0 ? fmt::format("{:.3g}", static_cast<double>(node.gpus()) / nics) : "all"),
                   {}});
  Names slow;
  for (const ImportedDevice& d : node.devices)
    if (!d.gpu && d.gigabits > 0 && d.gigabits < 25) slow.push_back(fmt::format("{} ({:g} Gb/s)", d.label, d.gigabits));
  if (!slow.empty())
    out.push_back(
        {"slow-nic", Severity::warning, fmt::format("{}: a management port, no training network", list(slow)), slow});
}

void find_numa(const NodeTopology& node, std::vector<Finding>& out) {
  Names numa;
  for (const ImportedDevice& d : node.devices)
    if (d.gpu && d.numa >= 0 && std::find(numa.begin(), numa.end(), std::to_string(d.numa)) == numa.end())
      numa.push_back(std::to_string(d.numa));
  std::sort(numa.begin(), numa.end());
  if (numa.size() > 2)
    out.push_back({"numa-split",
                   Severity::note,
                   fmt::format("GPUs on {} NUMA nodes ({}): sockets are split (NPS4 or sub-NUMA clustering); bind "
                               "processes by the affinity shown",
                               numa.size(), list(numa)),
                   {}});
}

}  // namespace

void mark_storage_nics(NodeTopology& node) {
  const int gpus = node.gpus(), n = static_cast<int>(node.devices.size());
  const auto near = [&](int g, int nic) { return distance(either(node, g, nic)) <= 3; };
  int near_nics = 0;
  for (int i = gpus; i < n; ++i)
    for (int g = 0; g < gpus; ++g)
      if (near(g, i)) {
        ++near_nics;
        break;
      }
  for (int i = gpus; i < n; ++i) {
    ImportedDevice& nic = node.devices[static_cast<std::size_t>(i)];
    bool known = true, close = false;
    for (int g = 0; g < gpus; ++g) {
      known = known && !either(node, g, i).empty();
      close = close || near(g, i);
    }
    const bool named = nic.label.find("bond") != std::string::npos || nic.name.find("bond") != std::string::npos;
    nic.storage = named || (known && !close && near_nics >= std::min(2, gpus));
  }
}

std::vector<Finding> node_findings(const NodeTopology& node) {
  std::vector<Finding> out;
  const Names storage = find_storage_nics(node, out);
  find_missing_nvlink(node, out);
  find_asymmetry(node, out);
  find_near_nics(node, out);
  find_dual_ports(node, out);
  find_order(node, out);
  find_nic_count(node, storage, out);
  find_domain(node, out);
  find_numa(node, out);
  return out;
}

std::vector<Finding> check_cluster(const Cluster& cluster) {
  std::vector<Finding> out;
  const Node& node = cluster.node;
  const auto add = [&](std::string kind, Severity severity, std::string text) {
    out.push_back({std::move(kind), severity, std::move(text), {}});
  };
  const BytesPerSecond slot = pcie_bandwidth(node.pcie);
  if (cluster.nodes > 1 && node.nics > 0 && node.nics < node.accelerators)
    add("shared-nic", Severity::warning,
        fmt::format("{} NICs for {} accelerators: each gets {}", node.nics, node.accelerators,
                    format(nic_bandwidth_per_rank(cluster))));
  if (node.nics > 0 && slot.value() > 0 && node.nic_bandwidth > slot * 1.01)
    add("wrong-speed", Severity::warning,
        fmt::format("NICs of {} on {} slots of {}: the slot is the limit", format(node.nic_bandwidth), node.pcie,
                    format(slot)));
  if (cluster.nodes > 1 && node.nics == 0 && node.fabric != "ici")
    add("no-nic", Severity::warning, "no NICs for training: scale-out is taken as 100 Gb/s of host Ethernet");
  if (node.scale_up == ScaleUpKind::none || node.scale_up == ScaleUpKind::pcie)
    add("pcie-only", Severity::note, "no NVLink or the like: tensor parallelism runs over PCIe and the socket link");
  const TierPlan plan = plan_tiers(cluster);
  for (const Tier& tier : plan.tiers)
    if (tier.oversubscription > 1.001)
      add("oversubscribed", Severity::warning,
          fmt::format("{} is oversubscribed {:.3g}:1; an accelerator gets {} when all cross it", tier.name,
                      tier.oversubscription, format(tier.per_rank)));
  if (cluster.nodes > 1 && cluster.network.routing == "ecmp" && plan.tiers.size() > 1)
    add("ecmp", Severity::warning,
        fmt::format("plain ECMP hashing: collisions leave about {:.0f} % of line rate above the leaf",
                    100 * routing_efficiency(node.fabric, "ecmp")));
  if (!plan.joins_rails && node.scale_up_domain <= 1)
    add("rail-relay", Severity::error,
        "rails are not joined and accelerators cannot relay over NVLink: ranks on different rails cannot talk");
  return out;
}

}  // namespace meshwright::topology
