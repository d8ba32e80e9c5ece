#include "meshwright/topology/tiers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "meshwright/hardware/network.hpp"
#include "topology/switches.hpp"

namespace meshwright::topology {
namespace {

double oversubscription_at(const Network& network, std::size_t tier) {
  return tier < network.oversubscription.size() ? network.oversubscription[tier] : 1.0;
}

/// What the radix reaches: endpoints of one fabric below one unit of each tier, for 1, 2 and 3 tiers deep.
struct Reach {
  long long leaf, pod;            // below one leaf, below one second-tier unit
  std::array<long long, 3> most;  // all endpoints of a fabric 1, 2, 3 tiers deep
};
/// Half of a switch's ports go down, whatever the oversubscription: it takes uplinks away and moves no node to another
/// leaf, so that more of them are never worse. Fabrics that fill the ports with nodes instead state their `reach`.
Reach reach_of(int radix) {
  const long long down = std::max(1, radix / 2);
  return {down, down * down, {radix, down * radix, down * down * radix}};
}

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
  const TopologyKind& kind = topology_kind(cluster.network.topology);
  const bool rails = kind.rails, joined = kind.joined;
  const double a = node.accelerators;
  const int planes = planes_of(cluster);
  // A rail leaf takes one NIC of each node; other leaves take whole nodes.
  const int nics_a_fabric = joined ? nics : std::max(1, nics / planes);
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

/// Of its NICs, before slots and transports: what the tiers' cables carry.
BytesPerSecond line_rate_per_rank(const Cluster& cluster, const Limited& rank) {
  const Node& node = cluster.node;
  if (node.nics <= 0) return rank.rate;
  return node.nic_bandwidth * (static_cast<double>(node.nics) / std::max(1, node.accelerators));
}

std::string fewest_reason(const Spread& spread, int tiers, const Reach& reach, int radix, const Network& network) {
  const std::string each = spread.joins_rails ? "" : " of one plane";
  const auto most = static_cast<std::size_t>(std::max(0, tiers - 2));
  if (network.tiers == 0 && tiers > 1 && spread.endpoints <= reach.most[most])
    return fmt::format("{} tiers, because oversubscribed uplinks are stated; {} endpoints{}, {}-port switches", tiers,
                       spread.endpoints, each, radix);
  if (network.tiers > 0)
    return fmt::format("{} tiers as given; {} endpoints{}, {}-port switches", tiers, spread.endpoints, each, radix);
  if (tiers == 1) return fmt::format("1 tier: {} endpoints{} fit one {}-port switch", spread.endpoints, each, radix);
  const auto t = static_cast<std::size_t>(tiers);
  return fmt::format("{} tiers: {} endpoints{} exceed the {} that {} reach{} with {}-port switches; {} tiers reach {}",
                     tiers, spread.endpoints, each, reach.most[t - 2], tiers == 2 ? "1 tier" : "2 tiers",
                     tiers == 2 ? "es" : "", radix, tiers, reach.most[t - 1]);
}

}  // namespace

double fullest_uplink(double flows, double uplinks) {
  const double mean = flows / uplinks;
  // P(load < k) of a Poisson count, term by term.
  double term = std::exp(-mean), below = 0, sum = 0;
  for (int k = 1; k < 100000; ++k) {
    below += term;
    const double some_reaches = 1 - std::pow(std::min(1.0, below), uplinks);
    sum += some_reaches;
    if (k > mean && some_reaches < 1e-6) break;
    term *= mean / k;
  }
  return std::max(sum, mean);
}

double tier_efficiency(const FabricKind& fabric, std::string_view routing) {
  // Routes fixed by destination: conflict-free for the patterns of training on a tree (D-mod-k), one part in ten lost.
  constexpr double fixed = 0.9;
  if (routing_kind(routing, "routing") == RoutingKind::fixed && fabric.routing != routing)
    return std::min(fixed, fabric.tier_efficiency);
  return fabric.tier_efficiency;
}

double routing_efficiency(const FabricKind& fabric, std::string_view routing, double nics, double uplinks) {
  const double even = std::min(1.0, uplinks / nics);
  // Sixteen flows a NIC, 64 NICs on 64 uplinks: 0.62. Between what was measured with 1 and 32 queue pairs in the worst
  // case, 0.2 and 0.52 of roofline (Meta, SIGCOMM 2024, 10.1145/3651890.3672233), and 0.5 to 0.8 of adaptive routing
  // (DeepSeek-V3, ISCA 2025, figure 8).
  if (routing_kind(routing, "routing") == RoutingKind::ecmp) {
    const double flows = fabric.hashed_flows;
    return std::min(1.0, flows / fullest_uplink(nics * flows, uplinks));
  }
  return tier_efficiency(fabric, routing) * even;
}

BytesPerSecond nic_bandwidth_per_rank(const Cluster& cluster) { return rank_rate(cluster).rate; }

namespace {

int tiers_of(const Network& network, const Spread& spread, const Reach& reach) {
  if (network.tiers > 0) return std::min(network.tiers, 3);
  if (topology_kind(network.topology).one_switch) return 1;
  int tiers = spread.endpoints > reach.most[1] ? 3 : spread.endpoints > reach.most[0] ? 2 : 1;
  // Uplinks that are said to be short are there.
  for (std::size_t t = 0; t < 2; ++t)
    if (oversubscription_at(network, t) > 1) tiers = std::max(tiers, static_cast<int>(t) + 2);
  return tiers;
}

/// Accelerators below one unit of tier `t` of `tiers`.
long long below(const Cluster& cluster, const Spread& spread, const Reach& reach, int t, int tiers) {
  const Network& network = cluster.network;
  const Node& node = cluster.node;
  const long long all = static_cast<long long>(cluster.nodes) * node.accelerators;
  if (t + 1 == tiers) return all;
  const auto index = static_cast<std::size_t>(t);
  if (index < network.reach.size() && network.reach[index] > 0)
    return std::min(all, as_accelerators(network.reach[index], 1, node));
  long long reached = t == 0 ? as_accelerators(reach.leaf, spread.accelerators_per_endpoint, node)
                             : as_accelerators(reach.pod, spread.pod_accelerators_per_endpoint, node);
  // Where uplinks are said to be short, the nodes that the network is wired for need them: they fill two units at
  // least.
  const long long wired = std::max(cluster.nodes, network.nodes);
  if (oversubscription_at(network, index) > 1 && wired > 1)
    reached = std::min(reached, (wired + 1) / 2 * node.accelerators);
  return std::min(all, reached);
}

/// NIC ports below one full leaf, which collisions are planned for, also where the cluster fills less of it.
double nics_of_a_leaf(const Cluster& cluster, const Spread& spread, const Reach& reach) {
  const std::vector<int>& stated = cluster.network.reach;
  if (stated.empty() || stated[0] <= 0) return static_cast<double>(reach.leaf);
  return std::max(1.0, stated[0] / spread.accelerators_per_endpoint);
}

}  // namespace

TierPlan plan_tiers(const Cluster& cluster) {
  TierPlan plan;
  if (cluster.nodes <= 1) return plan;
  const Network& network = cluster.network;
  const Spread spread = spread_of(cluster);
  const SwitchShape shape = switch_shape(cluster);
  const Reach reach = reach_of(shape.radix);
  plan.radix = shape.radix;
  plan.planes = spread.planes;
  plan.rails = spread.rails;
  plan.joins_rails = spread.joins_rails;
  const int tiers = tiers_of(network, spread, reach);
  const Limited rank = rank_rate(cluster);
  const BytesPerSecond line = line_rate_per_rank(cluster, rank);
  constexpr std::array<const char*, 3> names = {"leaf", "spine", "core"};
  const double nics = nics_of_a_leaf(cluster, spread, reach);
  double over = 1;
  for (int t = 0; t < tiers; ++t) {
    const long long reached = below(cluster, spread, reach, t, tiers);
    if (t > 0) over *= std::max(1.0, oversubscription_at(network, static_cast<std::size_t>(t - 1)));
    const auto crossing = [&](double uplinks) {
      if (network.efficiency > 0) return network.efficiency * uplinks / nics;
      return t == 0 ? 1.0 : routing_efficiency(cluster.fabric, network.routing, nics, uplinks);
    };
    Tier tier{.name = names[static_cast<std::size_t>(t)],
              .reach = reached,
              .hops = 2 * t + 1,
              .oversubscription = over,
              .per_rank = line * crossing(nics / over),
              .flow = line * crossing(nics)};
    // The slot is one more link on the way: the tightest counts.
    if (rank.rate < tier.per_rank) tier.per_rank = rank.rate, tier.limit = rank.limit;
    tier.flow = std::min(tier.flow, rank.rate);
    plan.tiers.push_back(std::move(tier));
  }
  plan.reason = fewest_reason(spread, tiers, reach, shape.radix, network);
  return plan;
}

}  // namespace meshwright::topology
