// What a matrix says about the NICs of a node: which GPUs have one of their own, and which share.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <utility>

#include "topology/import.hpp"

namespace meshwright::topology {
namespace {

using Names = std::vector<std::string>;

std::string list(const Names& names) { return fmt::format("{}", fmt::join(names, ", ")); }
const std::string& device(const NodeTopology& node, int i) { return node.devices[static_cast<std::size_t>(i)].name; }

std::string shown(const ImportedDevice& nic) {
  return nic.label.empty() || nic.label == nic.name ? nic.name : fmt::format("{} ({})", nic.name, nic.label);
}

void find_storage_nics(const NodeTopology& node, std::vector<Finding>& out) {
  Names storage;
  for (const ImportedDevice& nic : node.devices)
    if (nic.storage) storage.push_back(shown(nic));
  if (storage.empty()) return;
  const bool one = storage.size() == 1;
  out.push_back(
      {"storage-nic", Severity::note,
       fmt::format("{} {} near no GPU{}: storage or management, no rail; keep {} out of NCCL_IB_HCA", list(storage),
                   one ? "is" : "are", one && storage[0].find("bond") != std::string::npos ? " (a bond)" : "",
                   one ? "it" : "them"),
       storage});
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

/// Index of the card that each device is a port of: itself, or the first port of its card.
std::vector<int> cards_of(const NodeTopology& node) {
  std::map<std::string, int> first;
  std::vector<int> cards;
  for (int i = 0; i < static_cast<int>(node.devices.size()); ++i) {
    const ImportedDevice& nic = node.devices[static_cast<std::size_t>(i)];
    const std::string card = nic.gpu ? "" : card_of(nic.label.empty() ? nic.name : nic.label);
    cards.push_back(card.empty() ? i : first.try_emplace(card, i).first->second);
  }
  return cards;
}

/// Nearest rails of one GPU, ports of one card once.
struct Near {
  std::string link;
  std::vector<int> cards;
};

Near near_cards(const NodeTopology& node, const std::vector<int>& cards, int gpu) {
  Near near;
  for (int i = node.gpus(); i < static_cast<int>(node.devices.size()); ++i) {
    const std::string& link = either(node, gpu, i);
    if (link.empty() || node.devices[static_cast<std::size_t>(i)].storage) continue;
    if (near.link.empty() || distance(link) < distance(near.link)) near = {link, {}};
    const int card = cards[static_cast<std::size_t>(i)];
    if (link == near.link && std::find(near.cards.begin(), near.cards.end(), card) == near.cards.end())
      near.cards.push_back(card);
  }
  return near;
}

/// Gives as many GPUs as possible a nearest card of their own (augmenting paths: Kuhn 1955).
struct Matching {
  const std::vector<Near>& near;
  std::map<int, int> gpu_of;  ///< by card
  std::vector<int> tried;     ///< by GPU: the round in which it was last asked

  bool place(int gpu, int round) {
    tried[static_cast<std::size_t>(gpu)] = round;
    for (const int card : near[static_cast<std::size_t>(gpu)].cards) {
      const auto holder = gpu_of.find(card);
      const bool free = holder == gpu_of.end() ||
                        (tried[static_cast<std::size_t>(holder->second)] != round && place(holder->second, round));
      if (!free) continue;
      gpu_of[card] = gpu;
      return true;
    }
    return false;
  }
};

/// GPUs and cards that nearest pairs join, directly or through others.
struct Crowd {
  std::vector<int> gpus, cards;
};

std::vector<Crowd> crowds_of(const std::vector<Near>& near) {
  std::map<int, std::vector<int>> users;  // of a card
  for (int g = 0; g < static_cast<int>(near.size()); ++g)
    for (const int card : near[static_cast<std::size_t>(g)].cards) users[card].push_back(g);
  std::vector<bool> seen(near.size(), false);
  std::vector<Crowd> crowds;
  for (int first = 0; first < static_cast<int>(near.size()); ++first) {
    if (seen[static_cast<std::size_t>(first)] || near[static_cast<std::size_t>(first)].cards.empty()) continue;
    Crowd crowd{{first}, {}};
    seen[static_cast<std::size_t>(first)] = true;
    for (std::size_t i = 0; i < crowd.gpus.size(); ++i)
      for (const int card : near[static_cast<std::size_t>(crowd.gpus[i])].cards)
        for (const int other : std::exchange(users[card], {})) {
          if (crowd.cards.empty() || crowd.cards.back() != card) crowd.cards.push_back(card);
          if (seen[static_cast<std::size_t>(other)]) continue;
          seen[static_cast<std::size_t>(other)] = true;
          crowd.gpus.push_back(other);
        }
    std::sort(crowd.gpus.begin(), crowd.gpus.end());
    std::sort(crowd.cards.begin(), crowd.cards.end());
    crowds.push_back(std::move(crowd));
  }
  return crowds;
}

void describe_crowd(const NodeTopology& node, const Crowd& crowd, std::size_t with_own, int farthest,
                    std::vector<Finding>& out) {
  Names gpus, rails;
  for (const int g : crowd.gpus) gpus.push_back(device(node, g));
  for (const int c : crowd.cards) rails.push_back(shown(node.devices[static_cast<std::size_t>(c)]));
  if (with_own < gpus.size()) {
    const std::string share =
        rails.size() == 1 ? fmt::format("1/{}", gpus.size()) : fmt::format("{}/{}", with_own, gpus.size());
    out.push_back({"shared-nic", Severity::warning,
                   fmt::format("{} share {} as their nearest: each gets {} of a NIC, or a NIC that is farther away",
                               list(gpus), list(rails), share),
                   gpus});
  } else if (gpus.size() > 1 && rails.size() == gpus.size() && farthest <= 3) {
    out.push_back({"paired-nics", Severity::note,
                   fmt::format("{} are equally near {}: one NIC a GPU, as long as these are cards of their own",
                               list(gpus), list(rails)),
                   gpus});
  } else if (rails.size() > gpus.size() && farthest <= 3) {
    out.push_back({"many-nics", Severity::note,
                   fmt::format("{} near {}: ports of dual-port cards or virtual functions count once; check with "
                               "`lspci`",
                               list(rails), list(gpus)),
                   rails});
  }
}

void find_sharing(const NodeTopology& node, const std::vector<Near>& near, std::vector<Finding>& out) {
  Matching matching{near, {}, std::vector<int>(near.size(), -1)};
  std::vector<bool> own(near.size(), false);
  for (int g = 0; g < static_cast<int>(near.size()); ++g)
    own[static_cast<std::size_t>(g)] = matching.place(g, g);  // a GPU that found one keeps one
  for (const Crowd& crowd : crowds_of(near)) {
    const auto with_own = static_cast<std::size_t>(
        std::count_if(crowd.gpus.begin(), crowd.gpus.end(), [&](int g) { return own[static_cast<std::size_t>(g)]; }));
    int farthest = 0;
    for (const int g : crowd.gpus) farthest = std::max(farthest, distance(near[static_cast<std::size_t>(g)].link));
    describe_crowd(node, crowd, with_own, farthest, out);
  }
}

void find_near_nics(const NodeTopology& node, std::vector<Finding>& out) {
  const std::vector<int> cards = cards_of(node);
  std::vector<Near> near;
  Names far, host_bridge;
  bool socket = false;
  for (int g = 0; g < node.gpus(); ++g) {
    near.push_back(near_cards(node, cards, g));
    const std::string& link = near.back().link;
    if (link.empty()) continue;
    if (distance(link) >= 5) {
      far.push_back(fmt::format("{} ({})", device(node, g), link));
      socket = socket || distance(link) >= 6;
      if (distance(link) >= 6) near.back().cards.clear();  // any NIC is as far: nothing is shared as the nearest
    } else if (link == "PHB") {
      host_bridge.push_back(device(node, g));
    }
  }
  if (!far.empty())
    out.push_back({"no-near-nic", Severity::warning,
                   fmt::format("no NIC near {}: traffic crosses the CPU's fabric{}, GPUDirect RDMA is slow or off",
                               list(far), socket ? " and the socket link" : ""),
                   far});
  if (!host_bridge.empty())
    out.push_back(
        {"host-bridge-nic", Severity::note,
         fmt::format("{} {} the nearest NIC behind the CPU's host bridge (PHB), not behind the same PCIe switch",
                     list(host_bridge), host_bridge.size() == 1 ? "has" : "have"),
         host_bridge});
  find_sharing(node, near, out);
}

/// Ports of one card count once: by name, or (storage NICs) by a single PCIe bridge between two that are near no GPU.
void find_dual_ports(const NodeTopology& node, std::vector<Finding>& out) {
  const std::vector<int> cards = cards_of(node);
  std::map<int, Names> ports;
  const int gpus = node.gpus(), n = static_cast<int>(node.devices.size());
  for (int i = gpus; i < n; ++i)
    ports[cards[static_cast<std::size_t>(i)]].push_back(shown(node.devices[static_cast<std::size_t>(i)]));
  for (const auto& [card, all] : ports)
    if (all.size() > 1)
      out.push_back(
          {"dual-port", Severity::note, fmt::format("{} are ports of one card, counted once", list(all)), all});
  for (int a = gpus; a < n; ++a)
    for (int b = a + 1; b < n; ++b) {
      const ImportedDevice &x = node.devices[static_cast<std::size_t>(a)],
                           &y = node.devices[static_cast<std::size_t>(b)];
      if (!x.storage || !y.storage || either(node, a, b) != "PIX" || !card_of(x.label).empty()) continue;
      out.push_back({"dual-port",
                     Severity::note,
                     fmt::format("{} and {} are PIX to each other: most likely the two ports of one card, counted once",
                                 shown(x), shown(y)),
                     {x.name, y.name}});
      break;
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

void find_nic_count(const NodeTopology& node, std::vector<Finding>& out) {
  const auto storage = std::count_if(node.devices.begin(), node.devices.end(), [](const auto& d) { return d.storage; });
  const int nics = node.nics() - static_cast<int>(storage);
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
  std::set<int> numa;
  for (const ImportedDevice& d : node.devices)
    if (d.gpu && d.numa >= 0) numa.insert(d.numa);
  if (numa.size() > 2)
    out.push_back({"numa-split",
                   Severity::note,
                   fmt::format("GPUs on {} NUMA nodes ({}): sockets are split (NPS4 or sub-NUMA clustering); bind "
                               "processes by the affinity shown",
                               numa.size(), fmt::join(numa, ", ")),
                   {}});
}

}  // namespace

void mark_storage_nics(NodeTopology& node) {
  const int gpus = node.gpus(), n = static_cast<int>(node.devices.size());
  std::vector<bool> known(node.devices.size(), true), close(node.devices.size(), false);
  for (int g = 0; g < gpus; ++g) {
    int nearest = 5;  // across the socket link, no NIC is near
    for (int i = gpus; i < n; ++i) nearest = std::min(nearest, distance(either(node, g, i)));
    for (int i = gpus; i < n; ++i) {
      const auto at = static_cast<std::size_t>(i);
      known[at] = known[at] && !either(node, g, i).empty();
      close[at] = close[at] || distance(either(node, g, i)) <= std::max(nearest, 3);
    }
  }
  const auto near_nics = std::count(close.begin(), close.end(), true);
  for (int i = gpus; i < n; ++i) {
    const auto at = static_cast<std::size_t>(i);
    ImportedDevice& nic = node.devices[at];
    const bool named = nic.label.find("bond") != std::string::npos || nic.name.find("bond") != std::string::npos;
    nic.storage = named || (known[at] && !close[at] && near_nics >= std::min(2, gpus));
  }
}

void find_in_nics(const NodeTopology& node, std::vector<Finding>& out) {
  find_storage_nics(node, out);
  find_near_nics(node, out);
  find_dual_ports(node, out);
  find_order(node, out);
  find_nic_count(node, out);
  find_numa(node, out);
}

}  // namespace meshwright::topology
