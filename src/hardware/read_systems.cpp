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
std::string topology_of(const Reader& r) {
  if (r.is_string()) {
    const std::string text = r.string(), kind(torus_kind(text));
    if (kind != text && std::ranges::find(topologies(), kind) != topologies().end()) return text;
  }
  return topologies()[r.one_of(topologies())];
}

}  // namespace

std::string_view name(ScaleUpKind kind) { return scale_up_names()[static_cast<std::size_t>(kind)]; }

const Members<NodeSpec>& node_members() {
  static const Members<NodeSpec> rows = {
      text_member<&NodeSpec::name>("name", "a node of the catalogue, or what a new one is called"),
      texts_member<&NodeSpec::aliases>("aliases", "other names"),
      text_member<&NodeSpec::title>("title", "in words"),
      switch_member<&NodeSpec::announced>("announced", "not sold yet"),
      text_member<&NodeSpec::accelerator>("accelerator", "an accelerator of the catalogue"),
      whole_member<&NodeSpec::accelerators>("accelerators", 1, 4096, "in a node"),
      choice_member<&NodeSpec::scale_up>("scale_up", scale_up_names(), "how they are joined inside"),
      whole_member<&NodeSpec::scale_up_domain>("scale_up_domain", 1, 1 << 20, "accelerators that share it"),
      bandwidth_member<&NodeSpec::scale_up_bandwidth>("scale_up_bandwidth", "of an accelerator, each way"),
      text_member<&NodeSpec::scale_up_switch>("scale_up_switch", "the switch that joins them"),
      whole_member<&NodeSpec::nics>("nics", 0, 1024, "NICs of a node for training"),
      text_member<&NodeSpec::nic>("nic", "a NIC of the catalogue"),
      bandwidth_member<&NodeSpec::nic_bandwidth>("nic_bandwidth", "of a NIC, each way: \"400 Gb/s\""),
      text_member<&NodeSpec::fabric>("fabric", "infiniband, roce, spectrum-x, ethernet, ..."),
      quantity_member<&NodeSpec::dcn_bandwidth>("dcn_bandwidth", "of a node to the data-centre network"),
      text_member<&NodeSpec::pcie>("pcie", "generation of the slots: pcie-gen5"),
      whole_member<&NodeSpec::sockets>("sockets", 1, 16, "host processors"),
      text_member<&NodeSpec::cpu>("cpu", "which"),
      quantity_member<&NodeSpec::power>("power", "of a whole node under load"),
      text_member<&NodeSpec::notes>("notes", ""),
      prices_member<&NodeSpec::prices>(),
      sources_member<&NodeSpec::sources>()};
  return rows;
}

NodeSpec read_node_spec(const Reader& r) {
  NodeSpec n;
  n.where = r.where();
  if (r.is_string())
    n.name = r.string();
  else
    read_members(r, node_members(), n);
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

const Members<NetworkSpec>& network_members() {
  static const JsonSchema ratio =
      shape::either({shape::number(1, 1000), {R"({"type": "string", "pattern": "^[0-9.]+(:1)?$"})"}});
  static const Members<NetworkSpec> rows = {
      {"topology", "how nodes are joined; of a torus also with its edges: torus-3d 4x4x8",
       shape::either({shape::one_of(topologies()), {R"({"type": "string", "pattern": "^torus-[23]d."})"}}),
       [](const Reader& r, NetworkSpec& n) { n.topology = topology_of(r); }},
      whole_member<&NetworkSpec::tiers>("tiers", 0, 4, "of switches; 0 = as many as it takes"),
      {"oversubscription", "downlink:uplink: 4, \"4:1\", or a list by tier, leaf first",
       shape::either({ratio, shape::list(ratio)}),
       [](const Reader& r, NetworkSpec& n) { n.oversubscription = read_ratios(r); }},
      {"reach", "nodes below one switch of each tier, leaf first", shape::list(shape::whole(0, 1 << 24)),
       [](const Reader& r, NetworkSpec& n) {
         n.reach.emplace();
         for (const Reader& item : r.items()) n.reach->push_back(item.integer(0, 1 << 24));
       }},
      whole_member<&NetworkSpec::planes>("planes", 1, 64, "independent copies that split each NIC's ports"),
      whole_member<&NetworkSpec::nodes>("nodes", 1, 1 << 24, "that it was wired for, where fewer are used"),
      text_member<&NetworkSpec::switch_name>("switch", "a switch of the catalogue"),
      choice_member<&NetworkSpec::routing>("routing", routings(), ""),
      {"efficiency", "of the links under load", shape::number(1e-6, 1),
       [](const Reader& r, NetworkSpec& n) { n.efficiency = fraction(r); }},
      quantity_member<&NetworkSpec::dcn_bandwidth>("dcn_bandwidth", "of a node to the data-centre network")};
  return rows;
}

NetworkSpec read_network_spec(const Reader& r) {
  NetworkSpec n;
  n.where = r.where();
  read_members(r, network_members(), n);
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

namespace {

const Members<FabricMedium>& fabric_medium_members() {
  static const Members<FabricMedium> rows = {
      needed(text_member<&FabricMedium::medium>("medium", "")),
      bandwidth_member<&FabricMedium::nic_bandwidth>("nic_bandwidth", "of NICs that it was measured with"),
      bandwidth_member<&FabricMedium::node_bandwidth>("node_bandwidth", "of nodes that it was measured with"),
      switch_member<&FabricMedium::stand_in>("stand_in", "for want of measurements of its own")};
  return rows;
}

std::vector<FabricMedium> read_fabric_media(const Reader& list) {
  std::vector<FabricMedium> media;
  for (const Reader& item : list.items()) read_members(item, fabric_medium_members(), media.emplace_back());
  return media;
}

}  // namespace

const Members<FabricKind>& fabric_members() {
  static const Members<FabricKind> rows = {
      needed(text_member<&FabricKind::name>("name", "")),
      texts_member<&FabricKind::aliases>("aliases", "other names"),
      texts_member<&FabricKind::words>("words", "that name it in a free text"),
      texts_member<&FabricKind::hints>("hints", "words that hint at it"),
      choice_member<&FabricKind::topology>("topology", topologies(), "the usual one"),
      choice_member<&FabricKind::routing>("routing", routings(), "the usual one"),
      quantity_member<&FabricKind::hop>("hop", "latency of a switch"),
      {"tier_efficiency", "of the links above the leaf under load", shape::number(1e-6, 1),
       [](const Reader& r, FabricKind& f) { f.tier_efficiency = fraction(r); }},
      switch_member<&FabricKind::lossless>("lossless", ""),
      switch_member<&FabricKind::by_plugin>("by_plugin", "NCCL reaches it by a plugin"),
      switch_member<&FabricKind::switched>("switched", "false: accelerators wired to each other"),
      text_member<&FabricKind::switches>("switches", "the fabric of the switches that it is built of"),
      whole_member<&FabricKind::hashed_flows>("hashed_flows", 1, 4096, "flows of a rank that ECMP spreads"),
      text_member<&FabricKind::over_rdma>("over_rdma", "the fabric that it becomes where NICs do RDMA"),
      bandwidth_member<&FabricKind::per_rank>("per_rank", "the most that a rank moves"),
      bandwidth_member<&FabricKind::reduces_from>("reduces_from", "NICs whose switches reduce"),
      {"media", "measurements that it takes", shape::list(shape_of(fabric_medium_members())),
       [](const Reader& r, FabricKind& f) { f.media = read_fabric_media(r); }},
      text_member<&FabricKind::notes>("notes", ""),
      sources_member<&FabricKind::sources>()};
  return rows;
}

FabricKind read_entry(const Reader& r, FabricKind f) {
  if (f.topology.empty()) r.at("name"), r.at("topology"), r.at("routing"), r.at("hop"), r.at("switches");
  read_members(r, fabric_members(), f);
  need(r, "name", f.name);
  return f;
}

const Members<ReferenceCluster>& reference_members() {
  static const Members<ReferenceCluster> rows = {
      needed(text_member<&ReferenceCluster::name>("name", "")),
      texts_member<&ReferenceCluster::aliases>("aliases", "other names"),
      text_member<&ReferenceCluster::title>("title", "in words"),
      text_member<&ReferenceCluster::node>("node", "a node of the catalogue"),
      whole_member<&ReferenceCluster::nodes>("nodes", 1, 1 << 24, ""),
      whole_member<&ReferenceCluster::scale_up_domain>("scale_up_domain", 1, 1 << 20, "of a TPU job's slice"),
      {"network", "", shape_of(network_members()),
       [](const Reader& r, ReferenceCluster& c) { apply(read_network_spec(r), c.network); }},
      text_member<&ReferenceCluster::notes>("notes", ""),
      sources_member<&ReferenceCluster::sources>()};
  return rows;
}

ReferenceCluster read_entry(const Reader& r, ReferenceCluster c) {
  if (c.nodes == 0) r.at("name"), r.at("node"), r.at("nodes");
  read_members(r, reference_members(), c);
  need(r, "name", c.name);
  need(r, "node", c.node);
  return c;
}

}  // namespace meshwright::hardware
