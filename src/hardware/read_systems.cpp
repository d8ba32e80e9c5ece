// Nodes, networks and reference clusters.
#include <array>

#include "hardware/entries.hpp"
#include "hardware/fields.hpp"

namespace meshwright::hardware {
namespace {

const std::vector<std::string>& scale_up_names() {
  static const std::vector<std::string> names = {"none",     "pcie",      "cube_mesh", "nvlink_bridge",
                                                 "switched", "full_mesh", "torus_2d",  "torus_3d"};
  return names;
}

constexpr std::array<std::string_view, 4> evidence_names = {"measured", "calibrated", "extrapolated", "data sheet"};

const std::vector<std::string>& topologies() {
  static const std::vector<std::string> names = {"fat-tree",    "rail-optimised", "rail-only",  "dual-plane",
                                                 "multi-plane", "dragonfly",      "dragonfly+", "torus-2d",
                                                 "torus-3d",    "single-switch"};
  return names;
}

const std::vector<std::string>& routings() {
  static const std::vector<std::string> names = {"adaptive", "ecmp", "static", "spray"};
  return names;
}

const std::vector<std::string>& fabrics() {
  static const std::vector<std::string> names = {"infiniband", "roce", "efa",   "slingshot", "omni-path",
                                                 "ethernet",   "tcpx", "tcpxo", "ici",       "none"};
  return names;
}

std::string one_of(const Reader& r, std::string_view key, const std::string& fallback,
                   const std::vector<std::string>& names) {
  const auto member = r.find(key);
  return member ? names[member->one_of(names)] : fallback;
}

std::vector<double> read_ratios(const Reader& list) {
  std::vector<double> ratios;
  for (const Reader& item : list.items()) {
    const double ratio = item.number();
    if (ratio < 1) item.fail("expected downlink:uplink of at least 1, found " + item.dump());
    ratios.push_back(ratio);
  }
  return ratios;
}

}  // namespace

std::string_view name(ScaleUpKind kind) { return scale_up_names()[static_cast<std::size_t>(kind)]; }
std::string_view name(Evidence evidence) { return evidence_names[static_cast<std::size_t>(evidence)]; }

Node read_entry(const Reader& r, Node n) {
  r.allow_only({"name",         "aliases",       "title",  "announced",       "accelerator",
                "accelerators", "scale_up",      "nics",   "scale_up_domain", "scale_up_bandwidth",
                "nic",          "nic_bandwidth", "fabric", "scale_up_switch", "dcn_bandwidth",
                "pcie",         "sockets",       "cpu",    "power",           "notes",
                "prices",       "sources"});
  const bool fresh = n.name.empty();
  need(r, "name", n.name);
  take_texts(r, "aliases", n.aliases);
  take(r, "title", n.title);
  take(r, "announced", n.announced);
  need(r, "accelerator", n.accelerator);
  if (fresh) n.accelerators = r.at("accelerators").integer(1, 4096);
  take(r, "accelerators", n.accelerators, 1, 4096);
  if (fresh) r.at("scale_up");
  if (const auto kind = r.find("scale_up")) n.scale_up = static_cast<ScaleUpKind>(kind->one_of(scale_up_names()));
  if (fresh) n.scale_up_domain = n.scale_up == ScaleUpKind::none ? 1 : n.accelerators;
  take(r, "scale_up_domain", n.scale_up_domain, 1, 1 << 20);
  take_bandwidth(r, "scale_up_bandwidth", n.scale_up_bandwidth);
  take(r, "scale_up_switch", n.scale_up_switch);
  if (fresh) n.nics = r.at("nics").integer(0, 1024);
  take(r, "nics", n.nics, 0, 1024);
  if (r.has("nic")) n.nic_bandwidth = {};  // follows the new NIC unless stated
  take(r, "nic", n.nic);
  take_bandwidth(r, "nic_bandwidth", n.nic_bandwidth);
  if (n.nics > 0 && n.nic.empty()) need(r, "nic_bandwidth", n.nic_bandwidth);
  if (n.fabric.empty()) r.at("fabric");
  n.fabric = one_of(r, "fabric", n.fabric, fabrics());
  take(r, "dcn_bandwidth", n.dcn_bandwidth);
  take(r, "pcie", n.pcie);
  take(r, "sockets", n.sockets, 1, 16);
  take(r, "cpu", n.cpu);
  take(r, "power", n.power);
  take(r, "notes", n.notes);
  take_prices(r, n.prices);
  take_sources(r, n.sources);
  return n;
}

Network read_network(const Reader& r, Network n) {
  r.allow_only(
      {"topology", "tiers", "oversubscription", "reach", "planes", "switch", "routing", "efficiency", "dcn_bandwidth"});
  n.topology = one_of(r, "topology", n.topology, topologies());
  take(r, "tiers", n.tiers, 0, 4);
  if (const auto list = r.find("oversubscription")) n.oversubscription = read_ratios(*list);
  if (const auto list = r.find("reach")) {
    n.reach.clear();
    for (const Reader& item : list->items()) n.reach.push_back(item.integer());
  }
  take(r, "planes", n.planes, 1, 64);
  take(r, "switch", n.switch_name);
  n.routing = one_of(r, "routing", n.routing, routings());
  if (const auto share = r.find("efficiency")) {
    n.efficiency = share->number();
    if (n.efficiency <= 0 || n.efficiency > 1)
      share->fail("expected a fraction above 0 and at most 1, found " + share->dump());
  }
  if (const auto dcn = r.find("dcn_bandwidth")) n.dcn_bandwidth = dcn->quantity<BytesPerSecond::dimension>().value();
  return n;
}

ReferenceCluster read_entry(const Reader& r, ReferenceCluster c) {
  r.allow_only({"name", "aliases", "title", "node", "nodes", "scale_up_domain", "network", "notes", "sources"});
  need(r, "name", c.name);
  take_texts(r, "aliases", c.aliases);
  take(r, "title", c.title);
  need(r, "node", c.node);
  if (c.nodes == 0) c.nodes = r.at("nodes").integer(1);
  take(r, "nodes", c.nodes, 1, 1 << 24);
  take(r, "scale_up_domain", c.scale_up_domain, 1, 1 << 20);
  if (const auto network = r.find("network")) c.network = read_network(*network, c.network);
  take(r, "notes", c.notes);
  take_sources(r, c.sources);
  return c;
}

}  // namespace meshwright::hardware
