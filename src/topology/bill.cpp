#include "meshwright/topology/bill.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/embedded.hpp"
#include "meshwright/core/reader.hpp"
#include "meshwright/hardware/torus.hpp"
#include "topology/clos.hpp"
#include "topology/switches.hpp"

namespace meshwright::topology {
namespace {

/// Transceivers and copper of ports up to a speed.
struct Part {
  BytesPerSecond up_to{};  ///< zero = any
  Dollars nic_side{}, switch_side_a_port{}, copper{};
  Watts nic_watts{}, switch_watts_a_port{};
};
/// data/hardware/platforms/cables.json
struct Cables {
  std::vector<Part> parts;  ///< slowest first
  Dollars fibre{};
  Watts copper_watts{};
  std::string note;
};

Cables read_cables() {
  const Reader file = Reader::text(embedded_cables().front().content, "data/hardware/platforms/cables.json");
  file.allow_only({"description", "note", "sources", "fibre", "copper_power", "speeds"});
  Cables cables{.parts = {},
                .fibre = file.at("fibre").quantity<Dollars::dimension>(),
                .copper_watts = file.at("copper_power").quantity<Watts::dimension>(),
                .note = file.at("note").string()};
  for (const Reader& row : file.at("speeds").items()) {
    row.allow_only({"up_to", "nic_side", "nic_power", "switch_side", "switch_power", "copper"});
    cables.parts.push_back({.up_to = row.quantity_or("up_to", BytesPerSecond{}),
                            .nic_side = row.at("nic_side").quantity<Dollars::dimension>(),
                            .switch_side_a_port = row.at("switch_side").quantity<Dollars::dimension>(),
                            .copper = row.at("copper").quantity<Dollars::dimension>(),
                            .nic_watts = row.at("nic_power").quantity<Watts::dimension>(),
                            .switch_watts_a_port = row.at("switch_power").quantity<Watts::dimension>()});
  }
  return cables;
}

const Cables& cables_known() {
  static const Cables cables = read_cables();
  return cables;
}

const Part& part_of(BytesPerSecond port) {
  const std::vector<Part>& parts = cables_known().parts;
  const auto part =
      std::ranges::find_if(parts, [&](const Part& p) { return p.up_to.value() <= 0 || port <= p.up_to * 1.001; });
  return part == parts.end() ? parts.back() : *part;
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
    bill.items.push_back(
        {BillItem::Kind::switches, what, shape.name, count, price.amount, cluster.fabric_switch.power, note});
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
  const BytesPerSecond port = cluster.node.nic_bandwidth / ports(c);
  const Cables& known = cables_known();
  const Part& part = part_of(port);
  const bool copper = !c.rails && c.leaves > 1;
  const bool plugs = !cluster.fabric_switch.co_packaged;  // else the fibres end in the switch
  const auto add = [&](std::string what, long long count, Dollars price, Watts watts) {
    if (count > 0)
      bill.items.push_back({BillItem::Kind::cables, std::move(what), fmt::format("{:g}G", port.value() * 8e-9), count,
                            price, watts, known.note});
  };
  if (copper) add("copper cables, host to leaf", nic_cables, part.copper, known.copper_watts);
  const long long optical = leaf_cables + spine_cables + (copper ? 0 : nic_cables);
  if (!copper) add("transceivers, NIC side", nic_cables, part.nic_side, part.nic_watts);
  add("transceiver ports, switch side", plugs ? 2 * (leaf_cables + spine_cables) + (copper ? 0 : nic_cables) : 0,
      part.switch_side_a_port, part.switch_watts_a_port);
  add("fibre cables", optical, known.fibre, {});
}

void add_nics(Bill& bill, const Cluster& cluster) {
  const long long count = static_cast<long long>(cluster.nodes) * cluster.node.nics;
  if (count == 0) return;
  const Priced price = priced(cluster.nic.prices);
  bill.items.push_back({BillItem::Kind::nics, "NICs (in the nodes)", cluster.node.nic, count, price.amount,
                        cluster.nic.power, price.note});
}

/// TPU v4: a 4x4x4 cube has 96 optical links, 16 a face; two cubes' opposite faces share an optical switch: 48 switches
/// for 64 cubes (Jouppi et al., ISCA 2023, section 2.2).
void add_torus(Bill& bill, const Fabric& f, const Cluster& cluster) {
  long long cables = 0;
  for (std::size_t l = 0; l < f.links.size(); l += 2) cables += f.links[l].capacity > 0 ? 1 : 0;
  constexpr long long face = hardware::cube_edge * hardware::cube_edge;
  const bool whole = f.torus.edge.size() == 3 && f.accelerators % hardware::cube_chips == 0;
  const long long cubes = whole ? f.accelerators / hardware::cube_chips : 0;
  const long long optical = cubes > 1 ? cubes * 6 * face / 2 : 0;
  using Kind = BillItem::Kind;
  bill.items.push_back(
      {Kind::cables, "copper cables and traces between chips", "", cables - optical, {}, {}, "no price known"});
  if (optical == 0) return;
  bill.items.push_back(
      {Kind::cables, "optical cables through circuit switches", "", 2 * optical, {}, {}, "no price known"});
  const long long switches = 3 * face * ((cubes + 63) / 64);  // a dimension and place of a face each, 64 cubes a switch
  bill.items.push_back({Kind::circuit_switches,
                        "optical circuit switches",
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
