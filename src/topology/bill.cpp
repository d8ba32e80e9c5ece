#include "meshwright/topology/bill.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "topology/clos.hpp"
#include "topology/switches.hpp"

namespace meshwright::topology {
namespace {

/// Transceivers and copper by port speed: middle of street-price ranges, 2025, low confidence (recalled); power from
/// vendors' data sheets (NVIDIA MMS4X00: twin-port 800G 17 W; 1.6T DR8 25 to 30 W).
struct Part {
  double gigabits;  // up to
  double nic_side, nic_watts, switch_side_a_port, switch_watts_a_port, copper;
};
constexpr Part parts[] = {
    {100, 100, 3.5, 100, 3.5, 60}, {200, 300, 5, 300, 5, 100},     {400, 700, 8.5, 575, 8.5, 165},
    {800, 1150, 17, 800, 14, 450}, {1e9, 1600, 27, 1600, 27, 900},
};
constexpr const char* part_note = "street price 2025, mid-range, low confidence";

const Part& part_of(double gigabits) {
  return *std::find_if(std::begin(parts), std::end(parts),
                       [&](const Part& p) { return gigabits <= p.gigabits * 1.001; });
}

/// A price and how it is known.
struct Priced {
  Dollars amount{};
  std::string note = "no price known";
};
Priced priced(const std::vector<Price>& prices) {
  const Price* price = first_amount(prices);
  return price == nullptr ? Priced{} : Priced{price->amount, price_note(*price)};
}

void add_switches(Bill& bill, const Fabric& f, const Cluster& cluster) {
  const Clos& c = f.clos;
  const SwitchShape shape = switch_shape(cluster);
  const Priced price = priced(cluster.fabric_switch.prices);
  const auto add = [&](const char* what, long long count, long long ports_used) {
    if (count == 0) return;
    std::string note = price.note;
    // A spine with more ports than one switch has stands for a chassis or several switches.
    if (const long long radix = std::max(1, shape.radix); ports_used > radix) {
      const long long several = (ports_used + radix - 1) / radix;
      note = fmt::format("{} ports each: {} switches a place; {}", ports_used, several, note);
      count *= several;
    }
    bill.items.push_back({what, shape.name, count, price.amount, cluster.fabric_switch.power, note});
    bill.switches += count;
  };
  const long long copies = c.fabrics;
  const long long spine_down =
      c.spines_per_pod > 0 ? static_cast<long long>(c.leaves_per_pod) * c.leaf_up / c.spines_per_pod : 0;
  add("leaf switches", c.leaves * copies, c.leaf_down + c.leaf_up);
  add("spine switches", c.spines() * copies, spine_down + c.spine_up);
  add("core switches", c.cores() * copies,
      c.cores() > 0 ? static_cast<long long>(c.pods) * c.spine_up / std::max(1, c.cores_per_group) : 0);
}

void add_cables(Bill& bill, const Fabric& f, const Cluster& cluster) {
  const Clos& c = f.clos;
  const long long nic_cables = static_cast<long long>(cluster.nodes) * cluster.node.nics * ports(c);
  const auto cables = [](std::uint32_t first, std::size_t end) {
    return end > first ? static_cast<long long>(end - first) / 2 : 0;
  };
  const long long leaf_cables = c.leaf_up > 0 ? static_cast<long long>(c.leaves) * c.fabrics * c.leaf_up : 0;
  const long long spine_cables = c.spine_up > 0 ? cables(c.spine_link, f.links.size()) : 0;
  const double gigabits = cluster.node.nic_bandwidth.value() * 8e-9 / ports(c);
  const Part& part = part_of(gigabits);
  const bool copper = !c.rails && c.leaves > 1;
  const bool plugs = !cluster.fabric_switch.co_packaged;  // else the fibres end in the switch
  const auto add = [&](std::string what, long long count, double price, double watts, const char* note) {
    if (count > 0)
      bill.items.push_back(
          {std::move(what), fmt::format("{:g}G", gigabits), count, Dollars::base(price), Watts::base(watts), note});
  };
  if (copper) add("copper cables, host to leaf", nic_cables, part.copper, 0.1, part_note);
  const long long optical = leaf_cables + spine_cables + (copper ? 0 : nic_cables);
  if (!copper) add("transceivers, NIC side", nic_cables, part.nic_side, part.nic_watts, part_note);
  add("transceiver ports, switch side", plugs ? 2 * (leaf_cables + spine_cables) + (copper ? 0 : nic_cables) : 0,
      part.switch_side_a_port, part.switch_watts_a_port, part_note);
  add("fibre cables", optical, 40, 0, part_note);
}

void add_nics(Bill& bill, const Cluster& cluster) {
  const long long count = static_cast<long long>(cluster.nodes) * cluster.node.nics;
  if (count == 0) return;
  const Priced price = priced(cluster.nic.prices);
  bill.items.push_back({"NICs (in the nodes)", cluster.node.nic, count, price.amount, cluster.nic.power, price.note});
}

/// TPU v4: a 4x4x4 cube has 96 optical links, 16 a face; two cubes' opposite faces share an optical switch: 48 switches
/// for 64 cubes (Jouppi et al., ISCA 2023, section 2.2).
void add_torus(Bill& bill, const Fabric& f, const Cluster& cluster) {
  long long cables = 0;
  for (std::size_t l = 0; l < f.links.size(); l += 2) cables += f.links[l].capacity > 0 ? 1 : 0;
  const long long cubes = f.torus.edge.size() == 3 && f.accelerators % 64 == 0 ? f.accelerators / 64 : 0;
  const long long optical = cubes > 1 ? cubes * 96 / 2 : 0;
  bill.items.push_back({"copper cables and traces between chips", "", cables - optical, {}, {}, "no price known"});
  if (optical == 0) return;
  bill.items.push_back({"optical cables through circuit switches", "", 2 * optical, {}, {}, "no price known"});
  const long long switches = 48 * ((cubes + 63) / 64);
  bill.items.push_back({"optical circuit switches",
                        cluster.fabric_switch.name,
                        switches,
                        {},
                        cluster.fabric_switch.power,
                        "no price known"});
  bill.switches += switches;
}

}  // namespace

Bill bill_of_materials(const Fabric& fabric, const Cluster& cluster) {
  Bill bill;
  if (fabric.is_torus())
    add_torus(bill, fabric, cluster);
  else if (fabric.clos.leaves > 0) {
    add_switches(bill, fabric, cluster);
    add_cables(bill, fabric, cluster);
    add_nics(bill, cluster);
  }
  for (const BillItem& item : bill.items) {
    bill.total += item.total();
    bill.power += item.power * static_cast<double>(item.count);
    if (item.each.value() <= 0) ++bill.unpriced;
  }
  return bill;
}

}  // namespace meshwright::topology
