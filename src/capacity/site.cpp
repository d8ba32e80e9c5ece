#include "meshwright/capacity/site.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "meshwright/hardware/network.hpp"
#include "meshwright/topology/analysis.hpp"

namespace meshwright::capacity {
namespace {

std::string price_note(const Price& price) {
  return fmt::format("{} {}, {} confidence", price.kind, price.date, price.confidence);
}

const Price* first_amount(const std::vector<Price>& prices) {
  const auto at = std::ranges::find_if(prices, [](const Price& p) { return p.amount.value() > 0; });
  return at == prices.end() ? nullptr : &*at;
}

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

/// What the node's NICs cost over those that its price includes.
void add_nic_difference(const hardware::Catalog& catalog, const Cluster& cluster, const topology::Bill& bill,
                        std::vector<Purchase>& lines, double part) {
  const auto at = std::ranges::find(catalog.nodes, cluster.node.name, &Node::name);
  for (const topology::BillItem& item : bill.items) {
    if (!item.what.starts_with("NICs")) continue;
    double included = 0;
    Dollars usual{};
    if (at != catalog.nodes.end()) {
      included = static_cast<double>(at->nics) * cluster.nodes;
      const auto nic = std::ranges::find(catalog.nics, at->nic, &Nic::name);
      if (nic != catalog.nics.end() && first_amount(nic->prices) != nullptr) usual = first_amount(nic->prices)->amount;
    }
    const Dollars more = item.total() - usual * included;
    if (at == catalog.nodes.end() || more.value() == 0) continue;
    lines.push_back({.what = "NICs over the node's usual ones",
                     .model = item.model,
                     .count = part,
                     .each = more,
                     .note = item.note});
  }
}

void buy_network(const hardware::Catalog& catalog, const Cluster& cluster, const topology::Fabric& fabric, double part,
                 std::vector<Purchase>& lines) {
  const topology::Bill bill = topology::bill_of_materials(fabric, cluster);
  const Switch& box = cluster.fabric_switch;
  for (const topology::BillItem& item : bill.items) {
    if (item.what.starts_with("NICs")) continue;
    const bool is_switch = item.what.find("switches") != std::string::npos;
    lines.push_back({.what = item.what,
                     .model = item.model,
                     .count = static_cast<double>(item.count) * part,
                     .each = item.each,
                     .power = item.power,
                     .gigabits = is_switch ? box.radix * box.port_bandwidth.value() * 8e-9 : 0,
                     .part = is_switch ? Purchase::Part::switch_ : Purchase::Part::cable,
                     .note = item.note});
  }
  add_nic_difference(catalog, cluster, bill, lines, part);
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
  site.host_link = hardware::slot_bandwidth(cluster, cluster.accelerator.pcie_lanes);
  site.host_network = cluster.node.nic_bandwidth * cluster.node.nics;
  site.counts = unit_counts(cluster, fabric, accelerators);
  site.survives_leaf = fabric.clos.splits_ports && fabric.clos.fabrics > 1;
  const std::vector<topology::FaultCost> costs = topology::fault_costs(fabric);
  for (const topology::FaultCost& cost : costs)
    site.faults.push_back({fmt::format("{} ({})", name(cost.fault), cost.what), cost.ring, cost.cut_off});
  site.slowdown_cable = ring_slowdown(costs, {FaultKind::nic_port});
  site.slowdown_leaf = ring_slowdown(costs, {FaultKind::leaf, FaultKind::plane});
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
