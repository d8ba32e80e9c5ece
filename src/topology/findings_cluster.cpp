// What a description says about a cluster.
#include <fmt/format.h>

#include "meshwright/core/units.hpp"
#include "meshwright/hardware/network.hpp"
#include "meshwright/topology/import.hpp"
#include "meshwright/topology/tiers.hpp"

namespace meshwright::topology {

std::vector<Finding> check_cluster(const Cluster& cluster) {
  std::vector<Finding> out;
  const Node& node = cluster.node;
  const auto add = [&](std::string kind, Severity severity, std::string text) {
    out.push_back({std::move(kind), severity, std::move(text), {}});
  };
  const Limited nic = nic_rate(cluster);
  if (cluster.nodes > 1 && node.nics > 0 && node.nics < node.accelerators)
    add("shared-nic", Severity::warning,
        fmt::format("{} NICs for {} accelerators: each gets {}", node.nics, node.accelerators,
                    format(nic_bandwidth_per_rank(cluster))));
  if (node.nics > 0 && !nic.limit.empty())
    add("wrong-speed", Severity::warning,
        fmt::format("NICs of {} behind {}, which carries {}: the slot is the limit", format(node.nic_bandwidth),
                    nic.limit, format(nic.rate)));
  if (cluster.nodes > 1 && node.nics == 0 && cluster.fabric.switched)
    add("no-nic", Severity::warning,
        fmt::format("no NICs for training: scale-out is taken as {}", without_nics(cluster).limit));
  if (node.scale_up == ScaleUpKind::none || node.scale_up == ScaleUpKind::pcie)
    add("pcie-only", Severity::note, "no NVLink or the like: tensor parallelism runs over PCIe and the socket link");
  const TierPlan plan = plan_tiers(cluster);
  for (const Tier& tier : plan.tiers)
    if (tier.oversubscription > 1.001)
      add("oversubscribed", Severity::warning,
          fmt::format("{} is oversubscribed {:.3g}:1; an accelerator gets {} when all cross it", tier.name,
                      tier.oversubscription, format(tier.per_rank)));
  if (cluster.nodes > 1 && routing_kind(cluster.network.routing, "network/routing") == RoutingKind::ecmp &&
      plan.tiers.size() > 1)
    add("ecmp", Severity::warning,
        fmt::format("plain ECMP hashing: collisions leave about {:.0f} % of line rate above the leaf",
                    100 * (plan.tiers[1].flow / plan.tiers[0].flow)));
  if (!plan.joins_rails && node.scale_up_domain <= 1)
    add("rail-relay", Severity::error,
        "rails are not joined and accelerators cannot relay over NVLink: ranks on different rails cannot talk");
  return out;
}

}  // namespace meshwright::topology
