#include "meshwright/topology/picture.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "meshwright/core/units.hpp"
#include "topology/clos.hpp"

namespace meshwright::topology {
namespace {

/// "[leaf 0] [leaf 1] ... [leaf 31]" in at most `width` columns.
std::string boxes(std::string_view what, int count, std::size_t width) {
  const auto box = [&](int i) { return fmt::format("[{} {}]", what, i); };
  std::string line;
  for (int i = 0; i < count; ++i) line += (i > 0 ? " " : "") + box(i);
  if (line.size() <= width) return line;
  const std::string last = fmt::format(" ... {}  ({} in all)", box(count - 1), count);
  line.clear();
  for (int i = 0; line.size() + box(i).size() + 1 + last.size() <= width; ++i) line += (i > 0 ? " " : "") + box(i);
  return line + last;
}

std::string cable(double capacity) { return format(BytesPerSecond::base(capacity)); }

void add_line(std::string& out, std::string_view text) { out += fmt::format("  {}\n", text); }

/// One unit: its switches or sockets, accelerators, NICs, and what joins them.
void add_unit(std::string& out, const Fabric& f, std::size_t width) {
  const Unit& u = f.unit;
  const auto count = [&](NodeKind kind) { return static_cast<int>(std::count(u.kinds.begin(), u.kinds.end(), kind)); };
  const auto joined = [&](NodeKind a, NodeKind b) {
    for (const FabricLink& l : u.links)
      if (u.kinds[l.from] == a && u.kinds[l.to] == b) return l.capacity;
    return 0.0;
  };
  if (u.nics > 0) add_line(out, boxes("nic", u.nics, width));
  const bool sockets = count(NodeKind::socket) > 0;
  const double direct = joined(NodeKind::nic, sockets ? NodeKind::socket : NodeKind::accelerator);
  const double nic_link = direct > 0 ? direct : joined(NodeKind::nic, NodeKind::pcie_switch);
  if (u.nics > 0 && nic_link > 0) add_line(out, fmt::format("   |  PCIe {}", cable(nic_link)));
  if (sockets) add_line(out, boxes("socket", count(NodeKind::socket), width));
  if (count(NodeKind::pcie_switch) > 0) add_line(out, boxes("pcie switch", count(NodeKind::pcie_switch), width));
  if (sockets) {
    const double slot =
        std::max(joined(NodeKind::accelerator, NodeKind::pcie_switch), joined(NodeKind::accelerator, NodeKind::socket));
    add_line(out, fmt::format("   |  PCIe {}", cable(slot)));
  }
  add_line(out, boxes("gpu", u.accelerators, width));
  if (const int planes = count(NodeKind::nvswitch); planes > 0) {
    add_line(out, fmt::format("   |  {} each, to {}", cable(joined(NodeKind::accelerator, NodeKind::nvswitch) * planes),
                              planes == 1 ? "the switches (drawn as one)" : "every switch"));
    add_line(out, boxes("nvswitch", planes, width));
  } else if (const double mesh = joined(NodeKind::accelerator, NodeKind::accelerator); mesh > 0) {
    add_line(out, fmt::format("   |  direct links between accelerators, {} the first", cable(mesh)));
  }
}

void add_clos_tiers(std::string& out, const Fabric& f, std::size_t width) {
  const Clos& c = f.clos;
  const double port = f.links[c.nic_link].capacity;
  if (c.fabrics > 1)
    add_line(out, fmt::format("{} independent copies of this ({}):", c.fabrics,
                              c.splits_ports ? "planes; every NIC has a port in each"
                                             : "NIC i is in copy i modulo the copies"));
  if (c.cores() > 0) {
    add_line(out, boxes("core", c.cores(), width));
    add_line(out, fmt::format("   |  each spine {} x {} up, in {} pods", c.spine_up, cable(port), c.pods));
  }
  if (c.spines() > 0) {
    add_line(out, boxes("spine", c.spines(), width));
    if (c.direct_groups && c.pods > 1)
      add_line(out, fmt::format("   =  {} groups, {} x {} between any two", c.pods, c.links_a_pair, cable(port)));
    add_line(out, fmt::format("   |  each leaf {} x {} up", c.leaf_up, cable(port)));
  }
  add_line(out, boxes("leaf", c.leaves, width));
  const std::string who = c.leaves == 1 ? std::string("every NIC")
                          : c.rails ? fmt::format("NIC r of {} nodes to leaf r of their set", std::max(1, c.leaf_down))
                                    : std::string("whole nodes");
  add_line(out, fmt::format("   |  each leaf {} x {} down, {}", c.leaf_down, cable(port), who));
}

std::string torus_picture(const Fabric& f, std::size_t width) {
  const auto& e = f.torus.edge;
  const double link = f.links[0].capacity;
  std::string out = fmt::format("  {} torus, x fastest; {} a link and direction{}\n", fmt::join(e, " x "), cable(link),
                                f.torus.by_difference.empty() ? "" : ", twisted");
  const int columns = std::min(e[0], static_cast<int>(width - 8) / 4), rows = e.size() > 1 ? std::min(e[1], 8) : 1;
  for (int y = 0; y < rows; ++y) {
    std::string line = f.torus.wraps[0] ? "-" : " ";
    for (int x = 0; x < columns; ++x) line += x + 1 < columns ? "o---" : "o";
    add_line(out, line + (columns < e[0] ? " ..." : f.torus.wraps[0] ? "-" : ""));
    if (y + 1 < rows) {
      line = " ";
      for (int x = 0; x < columns; ++x) line += x + 1 < columns ? "|   " : "|";
      add_line(out, line);
    }
  }
  if (e.size() > 1 && rows < e[1]) add_line(out, fmt::format("... {} rows", e[1]));
  if (e.size() > 2)
    add_line(out, fmt::format("{} such layers, joined chip by chip{}", e[2],
                              f.torus.wraps[2] ? ", the last to the first" : ""));
  return out;
}

}  // namespace

std::string picture(const Fabric& f, std::size_t width) {
  if (f.is_torus()) return torus_picture(f, width);
  std::string out;
  if (f.clos.leaves > 0) add_clos_tiers(out, f, width - 2);
  if (f.units > 1)
    add_line(out, fmt::format("{} units like this ({} accelerators each):", f.units, f.unit.accelerators));
  add_unit(out, f, width - 2);
  return out;
}

}  // namespace meshwright::topology
