// Nodes, networks and reference clusters.
#include <algorithm>
#include <array>
#include <charconv>

#include "hardware/entries.hpp"
#include "hardware/fields.hpp"
#include "meshwright/hardware/network.hpp"
#include "meshwright/hardware/torus.hpp"

namespace meshwright::hardware {
namespace {

const std::vector<std::string>& scale_up_names() {
  static const std::vector<std::string> names = {"none",     "pcie",      "cube_mesh", "nvlink_bridge",
                                                 "switched", "full_mesh", "torus_2d",  "torus_3d"};
  return names;
}

const std::vector<std::string>& routings() {
  static const std::vector<std::string> names = {"adaptive", "ecmp", "static", "spray"};
  return names;
}

std::optional<std::string> one_of(const Reader& r, std::string_view key, const std::vector<std::string>& names) {
  const auto member = r.find(key);
  return member ? std::optional(names[member->one_of(names)]) : std::nullopt;
}

template <Dimension D>
std::optional<Quantity<D>> optional_quantity(const Reader& r, std::string_view key) {
  const auto member = r.find(key);
  return member ? std::optional(member->quantity<D>()) : std::nullopt;
}
std::optional<BytesPerSecond> bandwidth(const Reader& r, std::string_view key) {
  if (!r.has(key)) return std::nullopt;
  BytesPerSecond value{};
  take_bandwidth(r, key, value);
  return value;
}
std::optional<int> whole(const Reader& r, std::string_view key, int least, int most) {
  const auto member = r.find(key);
  return member ? std::optional(member->integer(least, most)) : std::nullopt;
}
std::optional<std::string> text(const Reader& r, std::string_view key) {
  const auto member = r.find(key);
  return member ? std::optional(member->string()) : std::nullopt;
}

double fraction(const Reader& r) {
  const double share = r.number();
  if (share < 1e-6 || share > 1) r.fail("expected a fraction above 0 and at most 1, found " + r.dump());
  return share;
}

template <class T>
void put(const std::optional<T>& said, T& field) {
  if (said) field = *said;
}

/// 4, "4:1" or "4".
double read_ratio(const Reader& item) {
  double ratio = 0;
  if (item.is_string()) {
    const std::string text = item.string();
    const char* end = text.data() + text.size();
    const auto read = std::from_chars(text.data(), end, ratio);
    if (read.ec != std::errc() || (read.ptr != end && std::string_view(read.ptr, end) != ":1"))
      item.fail("expected downlink:uplink as 4 or \"4:1\", found " + item.dump());
  } else {
    ratio = item.number();
  }
  if (!(ratio >= 1 && ratio <= 1000))
    item.fail("expected downlink:uplink of at least 1 and at most 1000, found " + item.dump());
  return ratio;
}

/// By tier, leaf first; one alone is the leaf's.
std::vector<double> read_ratios(const Reader& said) {
  if (!said.is_array()) return {read_ratio(said)};
  std::vector<double> ratios;
  for (const Reader& item : said.items()) ratios.push_back(read_ratio(item));
  return ratios;
}

template <class T>
void over(const std::optional<T>& said, std::optional<T>& field) {
  if (said) field = said;
}

/// A topology's name; a torus may state the edges of its slice behind it, which check_network() looks at.
std::optional<std::string> topology_of(const Reader& r) {
  const auto member = r.find("topology");
  if (member && member->is_string()) {
    const std::string text = member->string(), kind(torus_kind(text));
    if (kind != text && std::ranges::find(topologies(), kind) != topologies().end()) return text;
  }
  return one_of(r, "topology", topologies());
}

}  // namespace

std::string_view name(ScaleUpKind kind) { return scale_up_names()[static_cast<std::size_t>(kind)]; }

NodeSpec read_node_spec(const Reader& r) {
  NodeSpec n;
  n.where = r.where();
  if (r.is_string()) {
    n.name = r.string();
    return n;
  }
  r.allow_only({"name",         "aliases",       "title",  "announced",       "accelerator",
                "accelerators", "scale_up",      "nics",   "scale_up_domain", "scale_up_bandwidth",
                "nic",          "nic_bandwidth", "fabric", "scale_up_switch", "dcn_bandwidth",
                "pcie",         "sockets",       "cpu",    "power",           "notes",
                "prices",       "sources"});
  n.name = r.string_or("name", "");
  n.accelerator = r.string_or("accelerator", "");
  n.accelerators = whole(r, "accelerators", 1, 4096);
  n.scale_up_domain = whole(r, "scale_up_domain", 1, 1 << 20);
  n.nics = whole(r, "nics", 0, 1024);
  n.sockets = whole(r, "sockets", 1, 16);
  if (const auto kind = r.find("scale_up")) n.scale_up = static_cast<ScaleUpKind>(kind->one_of(scale_up_names()));
  n.scale_up_bandwidth = bandwidth(r, "scale_up_bandwidth");
  n.nic_bandwidth = bandwidth(r, "nic_bandwidth");
  n.dcn_bandwidth = optional_quantity<BytesPerSecond::dimension>(r, "dcn_bandwidth");
  n.scale_up_switch = text(r, "scale_up_switch");
  n.nic = text(r, "nic");
  n.fabric = text(r, "fabric");
  n.pcie = text(r, "pcie");
  n.cpu = text(r, "cpu");
  n.title = text(r, "title");
  n.notes = text(r, "notes");
  n.power = optional_quantity<Watts::dimension>(r, "power");
  if (const auto announced = r.find("announced")) n.announced = announced->boolean();
  if (r.has("aliases")) take_texts(r, "aliases", n.aliases.emplace());
  if (r.has("prices")) take_prices(r, n.prices.emplace());
  take_sources(r, n.sources);
  return n;
}

void apply(const NodeSpec& spec, Node& n) {
  if (!spec.name.empty()) n.name = spec.name;
  const bool other_device = !spec.accelerator.empty() && spec.accelerator != n.accelerator;
  const bool other_kind = spec.scale_up && *spec.scale_up != n.scale_up;
  if (other_device) n.accelerator = spec.accelerator, n.pcie.clear();
  if (other_device || other_kind) n.scale_up_bandwidth = {};  // follows the accelerator or its slot
  put(spec.scale_up, n.scale_up);
  if (other_kind && n.scale_up != ScaleUpKind::switched) n.scale_up_switch.clear();
  put(spec.accelerators, n.accelerators);
  put(spec.scale_up_domain, n.scale_up_domain);
  put(spec.scale_up_bandwidth, n.scale_up_bandwidth);
  put(spec.scale_up_switch, n.scale_up_switch);
  put(spec.nics, n.nics);
  if (spec.nic) n.nic = *spec.nic, n.nic_bandwidth = {};  // follows the NIC unless stated
  put(spec.nic_bandwidth, n.nic_bandwidth);
  put(spec.fabric, n.fabric);
  put(spec.dcn_bandwidth, n.dcn_bandwidth);
  put(spec.pcie, n.pcie);
  put(spec.sockets, n.sockets);
  put(spec.cpu, n.cpu);
  put(spec.title, n.title);
  put(spec.notes, n.notes);
  put(spec.power, n.power);
  put(spec.announced, n.announced);
  put(spec.aliases, n.aliases);
  put(spec.prices, n.prices);
  n.sources.insert(n.sources.end(), spec.sources.begin(), spec.sources.end());
}

void merge(const NodeSpec& said, NodeSpec& n) {
  if (!said.name.empty()) n.name = said.name;
  if (!said.accelerator.empty()) n.accelerator = said.accelerator;
  for (const auto field : {&NodeSpec::accelerators, &NodeSpec::scale_up_domain, &NodeSpec::nics, &NodeSpec::sockets})
    over(said.*field, n.*field);
  for (const auto field : {&NodeSpec::scale_up_bandwidth, &NodeSpec::nic_bandwidth, &NodeSpec::dcn_bandwidth})
    over(said.*field, n.*field);
  for (const auto field : {&NodeSpec::scale_up_switch, &NodeSpec::nic, &NodeSpec::fabric, &NodeSpec::pcie,
                           &NodeSpec::cpu, &NodeSpec::title, &NodeSpec::notes})
    over(said.*field, n.*field);
  over(said.scale_up, n.scale_up);
  over(said.power, n.power);
}

Node read_entry(const Reader& r, Node n) {
  const bool fresh = n.name.empty();
  const NodeSpec spec = read_node_spec(r);
  if (fresh) {
    for (const char* key : {"name", "accelerator", "accelerators", "scale_up", "nics", "fabric"}) r.at(key);
    n.scale_up_domain = *spec.scale_up == ScaleUpKind::none ? 1 : *spec.accelerators;
  }
  apply(spec, n);
  if (n.nics > 0 && n.nic.empty() && n.nic_bandwidth.value() <= 0) r.at("nic_bandwidth");
  return n;
}

NetworkSpec read_network_spec(const Reader& r) {
  r.allow_only({"topology", "tiers", "oversubscription", "reach", "planes", "nodes", "switch", "routing", "efficiency",
                "dcn_bandwidth"});
  NetworkSpec n;
  n.where = r.where();
  n.topology = topology_of(r);
  n.routing = one_of(r, "routing", routings());
  n.switch_name = text(r, "switch");
  n.tiers = whole(r, "tiers", 0, 4);
  n.planes = whole(r, "planes", 1, 64);
  n.nodes = whole(r, "nodes", 1, 1 << 24);
  if (const auto list = r.find("oversubscription")) n.oversubscription = read_ratios(*list);
  if (const auto list = r.find("reach")) {
    n.reach.emplace();
    for (const Reader& item : list->items()) n.reach->push_back(item.integer(0, 1 << 24));
  }
  if (const auto share = r.find("efficiency")) n.efficiency = fraction(*share);
  n.dcn_bandwidth = optional_quantity<BytesPerSecond::dimension>(r, "dcn_bandwidth");
  return n;
}

void apply(const NetworkSpec& spec, Network& n) {
  put(spec.topology, n.topology);
  put(spec.routing, n.routing);
  put(spec.switch_name, n.switch_name);
  put(spec.tiers, n.tiers);
  put(spec.planes, n.planes);
  put(spec.nodes, n.nodes);
  put(spec.oversubscription, n.oversubscription);
  put(spec.reach, n.reach);
  put(spec.efficiency, n.efficiency);
  if (spec.dcn_bandwidth) n.dcn_bandwidth = spec.dcn_bandwidth->value();
}

void merge(const NetworkSpec& said, NetworkSpec& n) {
  for (const auto field : {&NetworkSpec::topology, &NetworkSpec::switch_name, &NetworkSpec::routing})
    over(said.*field, n.*field);
  over(said.tiers, n.tiers);
  over(said.planes, n.planes);
  over(said.nodes, n.nodes);
  over(said.oversubscription, n.oversubscription);
  over(said.reach, n.reach);
  over(said.efficiency, n.efficiency);
  over(said.dcn_bandwidth, n.dcn_bandwidth);
}

FabricKind read_entry(const Reader& r, FabricKind f) {
  r.allow_only({"name", "aliases", "words", "hints", "topology", "routing", "hop", "tier_efficiency", "lossless",
                "by_plugin", "switched", "switches", "reduces_from", "media", "hashed_flows", "over_rdma", "per_rank",
                "notes", "sources"});
  need(r, "name", f.name);
  take_texts(r, "aliases", f.aliases);
  take_texts(r, "words", f.words);
  take_texts(r, "hints", f.hints);
  if (f.topology.empty()) r.at("topology"), r.at("routing"), r.at("hop"), r.at("switches");
  put(one_of(r, "topology", topologies()), f.topology);
  put(one_of(r, "routing", routings()), f.routing);
  take(r, "hop", f.hop);
  if (const auto share = r.find("tier_efficiency")) f.tier_efficiency = fraction(*share);
  take(r, "lossless", f.lossless);
  take(r, "by_plugin", f.by_plugin);
  take(r, "switched", f.switched);
  take(r, "switches", f.switches);
  take(r, "hashed_flows", f.hashed_flows, 1, 4096);
  take(r, "over_rdma", f.over_rdma);
  take_bandwidth(r, "per_rank", f.per_rank);
  take_bandwidth(r, "reduces_from", f.reduces_from);
  if (const auto rows = r.find("media")) {
    f.media.clear();
    for (const Reader& row : rows->items()) {
      row.allow_only({"medium", "nic_bandwidth", "node_bandwidth", "stand_in"});
      FabricMedium m{.medium = row.at("medium").string(), .stand_in = row.boolean_or("stand_in", false)};
      take_bandwidth(row, "nic_bandwidth", m.nic_bandwidth);
      take_bandwidth(row, "node_bandwidth", m.node_bandwidth);
      f.media.push_back(std::move(m));
    }
  }
  take(r, "notes", f.notes);
  take_sources(r, f.sources);
  return f;
}

ReferenceCluster read_entry(const Reader& r, ReferenceCluster c) {
  r.allow_only({"name", "aliases", "title", "node", "nodes", "scale_up_domain", "network", "notes", "sources"});
  need(r, "name", c.name);
  take_texts(r, "aliases", c.aliases);
  take(r, "title", c.title);
  need(r, "node", c.node);
  if (c.nodes == 0) c.nodes = r.at("nodes").integer(1, 1 << 24);
  take(r, "nodes", c.nodes, 1, 1 << 24);
  take(r, "scale_up_domain", c.scale_up_domain, 1, 1 << 20);
  if (const auto network = r.find("network")) apply(read_network_spec(*network), c.network);
  take(r, "notes", c.notes);
  take_sources(r, c.sources);
  return c;
}

}  // namespace meshwright::hardware
