#include "meshwright/topology/tiers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>

#include "topology/switches.hpp"

namespace meshwright::topology {
namespace {

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

/// Ports down and up of a switch of radix k with downlink:uplink o.
struct Split {
  long long down, up;
};
Split split(int radix, double oversubscription) {
  const long long down = std::clamp<long long>(
      static_cast<long long>(std::floor(radix * oversubscription / (1 + oversubscription) + 1e-9)), 1, radix - 1);
  return {down, radix - down};
}

double oversubscription_at(const Network& network, std::size_t tier) {
  return tier < network.oversubscription.size() ? network.oversubscription[tier] : 1.0;
}

/// What the radix reaches: endpoints of one fabric below one unit of each tier, for 1, 2 and 3 tiers deep.
struct Reach {
  long long leaf, pod;            // below one leaf, below one second-tier unit
  std::array<long long, 3> most;  // all endpoints of a fabric 1, 2, 3 tiers deep
};
Reach reach_of(int radix, const Network& network) {
  const Split leaf = split(radix, oversubscription_at(network, 0));
  const Split spine = split(radix, oversubscription_at(network, 1));
  return {leaf.down, leaf.down * spine.down, {radix, leaf.down * radix, leaf.down * spine.down * radix}};
}

bool starts_with(std::string_view text, std::string_view head) { return text.substr(0, head.size()) == head; }

/// How NICs are spread over fabrics: endpoints that one fabric must reach, and accelerators that one endpoint of a
/// leaf stands for.
struct Spread {
  int rails, planes;
  bool joins_rails;
  double accelerators_per_endpoint;  // at the leaf
  double pod_accelerators_per_endpoint;
  long long endpoints;
};
Spread spread_of(const Cluster& cluster) {
  const Node& node = cluster.node;
  const int nics = std::max(1, node.nics);
  const std::string_view topology = cluster.network.topology;
  const bool rails = starts_with(topology, "rail") || topology == "dual-plane" || topology == "multi-plane";
  const bool joined = topology != "rail-only" && topology != "multi-plane";
  const double a = node.accelerators;
  const int planes = topology == "multi-plane" ? std::max(1, std::min(cluster.network.planes, nics))
                                               : std::max(1, cluster.network.planes);
  // A rail leaf takes one NIC of each node; other leaves take whole nodes.
  const int nics_a_fabric = joined ? nics : std::max(1, nics / (topology == "rail-only" ? nics : planes));
  return {rails ? nics : 1,
          planes,
          joined,
          rails ? a : a / nics,
          a / nics_a_fabric,
          static_cast<long long>(cluster.nodes) * nics_a_fabric};
}

long long as_accelerators(long long endpoints, double each, const Node& node) {
  const long long whole = static_cast<long long>(static_cast<double>(endpoints) * each) / node.accelerators;
  return std::max<long long>(1, whole) * node.accelerators;
}

std::string fewest_reason(const Spread& spread, int tiers, const Reach& reach, int radix, bool forced) {
  const std::string each = spread.joins_rails ? "" : " of one plane";
  if (forced)
    return fmt::format("{} tiers as given; {} endpoints{}, {}-port switches", tiers, spread.endpoints, each, radix);
  if (tiers == 1) return fmt::format("1 tier: {} endpoints{} fit one {}-port switch", spread.endpoints, each, radix);
  const auto t = static_cast<std::size_t>(tiers);
  return fmt::format("{} tiers: {} endpoints{} exceed the {} that {} reach{} with {}-port switches; {} tiers reach {}",
                     tiers, spread.endpoints, each, reach.most[t - 2], tiers == 2 ? "1 tier" : "2 tiers",
                     tiers == 2 ? "es" : "", radix, tiers, reach.most[t - 1]);
}

}  // namespace

double routing_efficiency(const FabricKind& fabric, std::string_view routing) {
  // Sixteen flows a pair on 64 uplinks, hashed: the fullest uplink leaves 0.62 (expected_ecmp_efficiency). Between what
  // was measured with 1 and 32 queue pairs in the worst case, 0.2 and 0.52 of roofline (Meta, SIGCOMM 2024,
  // 10.1145/3651890.3672233), and 0.5 to 0.8 of adaptive routing (DeepSeek-V3, ISCA 2025, figure 8).
  if (routing == "ecmp") return 0.62;
  // Routes fixed by destination: conflict-free for the patterns of training on a tree (D-mod-k), one part in ten lost.
  if (routing == "static") return 0.9;
  return fabric.tier_efficiency;
}

BytesPerSecond pcie_bandwidth(std::string_view pcie, int lanes) {
  const auto digit = std::find_if(pcie.begin(), pcie.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
  if (digit == pcie.end() || *digit < '1' || *digit > '7') return {};
  return pcie_bandwidth(pcie_rates[static_cast<std::size_t>(*digit - '1')], lanes);
}

BytesPerSecond pcie_bandwidth(double giga_transfers, int lanes) {
  const double coding = giga_transfers <= 5 ? 0.8 : giga_transfers <= 32 ? 128.0 / 130 : 236.0 / 256;
  return BytesPerSecond::base(giga_transfers * 1e9 / 8 * coding * lanes);
}

BytesPerSecond nic_bandwidth_per_rank(const Cluster& cluster) {
  const Node& node = cluster.node;
  if (node.nics <= 0 || node.nic_bandwidth.value() <= 0) {
    // No training NICs: what is left is the data-centre network, or the host's Ethernet, taken as 100 Gb/s.
    const double host = node.dcn_bandwidth.value() > 0 ? node.dcn_bandwidth.value() : 12.5e9;
    return BytesPerSecond::base(host / std::max(1, node.accelerators));
  }
  const BytesPerSecond share = node.nic_bandwidth * (static_cast<double>(node.nics) / std::max(1, node.accelerators));
  // A NIC without a PCIe interface of its own sits on the accelerator (Gaudi) or is not described: no slot limits it.
  if (!cluster.nic.name.empty() && cluster.nic.pcie.empty()) return share;
  const BytesPerSecond slot = pcie_bandwidth(node.pcie);
  return slot.value() > 0 && starts_with(lower(node.pcie), "pcie") ? std::min(share, slot) : share;
}

TierPlan plan_tiers(const Cluster& cluster) {
  TierPlan plan;
  if (cluster.nodes <= 1) return plan;
  const Network& network = cluster.network;
  const Spread spread = spread_of(cluster);
  const SwitchShape shape = switch_shape(cluster);
  const Reach reach = reach_of(shape.radix, network);
  plan.radix = shape.radix;
  plan.planes = spread.planes;
  plan.rails = spread.rails;
  plan.joins_rails = spread.joins_rails;

  int tiers = 1;
  if (network.tiers > 0)
    tiers = std::min(network.tiers, 3);
  else if (network.topology == "single-switch")
    tiers = 1;
  else if (spread.endpoints > reach.most[1])
    tiers = 3;
  else if (spread.endpoints > reach.most[0])
    tiers = 2;

  BytesPerSecond nic = nic_bandwidth_per_rank(cluster);
  if (cluster.node.nics <= 0 && network.dcn_bandwidth > 0)
    nic = BytesPerSecond::base(network.dcn_bandwidth / std::max(1, cluster.node.accelerators));
  const double routed =
      network.efficiency > 0 ? network.efficiency : routing_efficiency(cluster.fabric, network.routing);
  const double leaf_factor = network.efficiency > 0 ? network.efficiency : 1;
  const long long all = static_cast<long long>(cluster.nodes) * cluster.node.accelerators;
  constexpr std::array<const char*, 3> names = {"leaf", "spine", "core"};
  double over = 1;
  for (int t = 0; t < tiers; ++t) {
    long long below = all;
    if (t + 1 < tiers && t == 0) below = as_accelerators(reach.leaf, spread.accelerators_per_endpoint, cluster.node);
    if (t + 1 < tiers && t == 1) below = as_accelerators(reach.pod, spread.pod_accelerators_per_endpoint, cluster.node);
    const auto index = static_cast<std::size_t>(t);
    if (t + 1 < tiers && index < network.reach.size() && network.reach[index] > 0)
      below = as_accelerators(network.reach[index], 1, cluster.node);
    if (t > 0) over *= oversubscription_at(network, static_cast<std::size_t>(t - 1));
    plan.tiers.push_back({names[static_cast<std::size_t>(t)], std::min(below, all), 2 * t + 1, over,
                          nic * (t == 0 ? leaf_factor : routed) / std::max(1.0, over)});
  }
  plan.reason = fewest_reason(spread, tiers, reach, shape.radix, network.tiers > 0);
  return plan;
}

}  // namespace meshwright::topology
