#include "meshwright/capacity/site.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "meshwright/hardware/network.hpp"
#include "meshwright/topology/analysis.hpp"

namespace meshwright::capacity {
namespace {

/// The newest rent.
const Price* last_rent(const std::vector<Price>& prices) {
  const Price* last = nullptr;
  for (const Price& p : prices) {
    if (p.rate.value() > 0 && (last == nullptr || p.date >= last->date)) last = &p;
  }
  return last;
}

/// A node with its usual NICs, at its own price.
Purchase buy_nodes(const Cluster& cluster, double hosts) {
  Purchase line;
  line.what = "nodes";
  line.model = cluster.node.name;
  line.count = hosts;
  line.part = Purchase::Part::node;
  line.power = cluster.node.power;
  if (const Price* own = first_amount(cluster.node.prices)) {
    line.each = own->amount;
    line.note = price_note(*own);
  }
  return line;
}

/// NICs of so many hosts, at their own price or by their capacity.
Purchase buy_nics(const hardware::Catalog& catalog, const std::string& name, BytesPerSecond rate, double count) {
  Purchase line{.what = "NICs",
                .model = name,
                .count = count,
                .gigabits = rate.value() * 8e-9,
                .part = Purchase::Part::nic,
                .note = {}};
  const auto nic = std::ranges::find(catalog.nics, name, &Nic::name);
  if (nic == catalog.nics.end()) return line;
  line.power = nic->power;
  if (const Price* price = first_amount(nic->prices)) {
    line.each = price->amount;
    line.note = price_note(*price);
  }
  return line;
}

/// NICs that the node's price doesn't include: other ones, in place of the usual.
void add_nic_difference(const hardware::Catalog& catalog, const Cluster& cluster, double hosts,
                        std::vector<Purchase>& lines) {
  const auto usual = std::ranges::find(catalog.nodes, cluster.node.name, &Node::name);
  if (usual == catalog.nodes.end()) return;
  const Node& node = cluster.node;
  if (node.nics == usual->nics && node.nic == usual->nic && node.nic_bandwidth == usual->nic_bandwidth) return;
  lines.push_back(buy_nics(catalog, node.nic, node.nic_bandwidth, hosts * node.nics));
  if (usual->nics == 0) return;
  lines.push_back(buy_nics(catalog, usual->nic, usual->nic_bandwidth, -hosts * usual->nics));
  lines.back().what = "less the node's usual NICs";
}

/// What a line of the bill is priced as.
Purchase::Part part_of(topology::BillItem::Kind kind) {
  using Kind = topology::BillItem::Kind;
  if (kind == Kind::nics) return Purchase::Part::nic;
  if (kind == Kind::circuit_switches) return Purchase::Part::optical_switch;
  return kind == Kind::switches ? Purchase::Part::switch_ : Purchase::Part::cable;
}

void buy_network(const hardware::Catalog& catalog, const Cluster& cluster, const topology::Fabric& fabric, double part,
                 std::vector<Purchase>& lines) {
  const topology::Bill bill = topology::bill_of_materials(fabric, cluster);
  const Switch& box = cluster.fabric_switch;
  for (const topology::BillItem& item : bill.items) {
    const Purchase::Part kind = part_of(item.kind);
    if (kind == Purchase::Part::nic) continue;  // nodes are bought with theirs
    lines.push_back({.what = item.what,
                     .model = item.model,
                     .count = static_cast<double>(item.count) * part,
                     .each = item.each,
                     .power = item.power,
                     .gigabits = kind == Purchase::Part::switch_ ? box.radix * box.port_bandwidth.value() * 8e-9 : 0,
                     .part = kind,
                     .note = item.note});
  }
  add_nic_difference(catalog, cluster, part * cluster.nodes, lines);
}

double ring_slowdown(const std::vector<topology::FaultCost>& costs, std::initializer_list<topology::FaultKind> kinds) {
  double worst = 1;
  for (const topology::FaultCost& cost : costs) {
    // A fault that cuts accelerators off stops the job: no slowdown of one that goes on.
    if (std::ranges::find(kinds, cost.fault) != kinds.end() && cost.cut_off == 0) worst = std::max(worst, cost.ring);
  }
  return worst;
}

}  // namespace

double hosts_per_rack(const Site& site, double rack_power, double nameplate) {
  if (site.scale_up_hosts > 1) return site.scale_up_hosts;
  return nameplate > 0 ? std::max(1.0, std::floor(rack_power / nameplate + 1e-9)) : 1;
}

Site make_site(const hardware::Catalog& catalog, const Cluster& cluster, int accelerators) {
  using topology::FaultKind;
  const topology::Fabric fabric = topology::build_fabric(cluster);
  const double part = static_cast<double>(accelerators) / std::max(1, cluster.accelerators());
  Site site;
  site.cluster = cluster.name;
  site.accelerators = accelerators;
  site.per_host = std::max(1, cluster.node.accelerators);
  site.hosts = static_cast<double>(accelerators) / site.per_host;
  site.accelerator = cluster.accelerator.name;
  site.node = cluster.node.name;
  site.tdp = cluster.accelerator.tdp;
  site.node_power = cluster.node.power;
  site.host_link = hardware::host_line_rate(cluster);
  site.host_network = hardware::nic_rate(cluster).rate * cluster.node.nics;
  site.counts = unit_counts(cluster, fabric, accelerators);
  const bool switched = cluster.node.scale_up == hardware::ScaleUpKind::switched;
  if (switched) site.scale_up_hosts = std::max(1, cluster.node.scale_up_domain / site.per_host);
  site.survives_leaf = fabric.clos.splits_ports && fabric.clos.fabrics > 1;
  const std::vector<topology::FaultCost> costs = topology::fault_costs(fabric);
  for (const topology::FaultCost& cost : costs) {
    site.faults.push_back({fmt::format("{} ({})", name(cost.fault), cost.what), cost.ring, cost.cut_off});
    site.leaf_cuts_off |= cost.fault == FaultKind::leaf && (cost.cut_off > 0 || !std::isfinite(cost.ring));
  }
  if (fabric.clos.nics_per_host > 0)
    site.hosts_below_leaf = std::clamp<double>(
        fabric.clos.leaf_down / (fabric.clos.rails ? 1 : fabric.clos.nics_per_host), 1, std::max(1.0, site.hosts));
  const double nic = ring_slowdown(costs, {FaultKind::nic});
  const auto at_most_a_nic = [&](double slowdown, bool one_of_several) {
    return one_of_several && nic > 1 ? std::min(slowdown, nic) : slowdown;
  };
  site.slowdown_cable = at_most_a_nic(ring_slowdown(costs, {FaultKind::nic_port}), true);
  site.slowdown_leaf = at_most_a_nic(ring_slowdown(costs, {FaultKind::leaf}), fabric.clos.rails);
  site.slowdown_plane = ring_slowdown(costs, {FaultKind::plane});
  site.slowdown_upper = ring_slowdown(costs, {FaultKind::leaf_uplink, FaultKind::spine, FaultKind::core});
  site.purchases.push_back(buy_nodes(cluster, site.hosts));
  buy_network(catalog, cluster, fabric, part, site.purchases);
  if (const Price* part_price = first_amount(cluster.accelerator.prices)) {
    site.accelerator_price = part_price->amount;
    site.accelerator_note = price_note(*part_price);
  }
  const Price* rent = last_rent(cluster.node.prices);
  if (rent != nullptr) site.rent = rent->rate / site.per_host;
  if (rent == nullptr && (rent = last_rent(cluster.accelerator.prices)) != nullptr) site.rent = rent->rate;
  if (rent != nullptr) site.rent_note = fmt::format("{} {}", rent->provider, price_note(*rent));
  return site;
}

}  // namespace meshwright::capacity
