// What is said of a cluster: read from a file, written back, compared and narrowed.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/json_text.hpp"
#include "hardware/entries.hpp"
#include "hardware/fields.hpp"
#include "meshwright/core/document.hpp"
#include "meshwright/core/limits.hpp"
#include "meshwright/hardware/cluster_file.hpp"
#include "meshwright/hardware/schema.hpp"

namespace meshwright::hardware {
namespace {

using Json = nlohmann::ordered_json;

const Members<ClusterSpec>& cluster_members() {
  static const Members<ClusterSpec> rows = {
      {"description", "", shape::text()},
      text_member<&ClusterSpec::name>("name", "what it is called in results"),
      text_member<&ClusterSpec::of>("of",
                                    "a cluster, a node or an accelerator of the catalogue, over which the rest stands"),
      {"node", "a node of the catalogue, or its members over the catalogue's of that name or accelerator",
       shape::either({shape::text(), node_shape()}),
       [](const Reader& r, ClusterSpec& c) { c.node = read_node_spec(r); }},
      whole_member<&ClusterSpec::nodes>("nodes", 1, largest_count, ""),
      whole_member<&ClusterSpec::accelerators>("accelerators", 1, largest_count, "that are used: the first so many"),
      {"network", "", network_shape(), [](const Reader& r, ClusterSpec& c) { c.network = read_network_spec(r); }},
      sources_member<&ClusterSpec::sources>()};
  return rows;
}

}  // namespace

JsonSchema cluster_shape() { return shape_of(cluster_members()); }

ClusterSpec read_cluster_spec(const Reader& r) {
  if (r.is_object() && r.has("kind") && r.has("spec"))
    return read_cluster_spec(r.at("spec"));  // `hardware show --json`
  ClusterSpec spec;
  spec.where = r.where();
  read_members(r, cluster_members(), spec);
  if (spec.of.empty()) r.at("node");
  return spec;
}

ClusterSpec cluster_spec_of(const std::string& text, const std::string& where) {
  if (names_document(text)) return read_cluster_spec(Reader::file(text));
  return {.of = text, .where = where};
}

ClusterSpec spelled_out(const Node& n) {
  ClusterSpec spec;
  NodeSpec& s = spec.node;
  s.name = n.name, s.accelerator = n.accelerator, s.accelerators = n.accelerators;
  s.scale_up = n.scale_up, s.scale_up_domain = n.scale_up_domain, s.nics = n.nics;
  const auto put_text = [](const std::string& text, std::optional<std::string>& field) {
    if (!text.empty()) field = text;
  };
  const auto put_rate = [](BytesPerSecond rate, std::optional<BytesPerSecond>& field) {
    if (rate.value() > 0) field = rate;
  };
  put_rate(n.scale_up_bandwidth, s.scale_up_bandwidth), put_rate(n.dcn_bandwidth, s.dcn_bandwidth);
  if (n.nics > 0) put_rate(n.nic_bandwidth, s.nic_bandwidth);
  put_text(n.scale_up_switch, s.scale_up_switch), put_text(n.nic, s.nic), put_text(n.fabric, s.fabric);
  put_text(n.pcie, s.pcie), put_text(n.cpu, s.cpu);
  if (n.sockets > 0) s.sockets = n.sockets;
  if (n.power.value() > 0) s.power = n.power;
  return spec;
}

ClusterSpec spelled_out(const ReferenceCluster& cluster, const CatalogData& catalog) {
  ClusterSpec spec = spelled_out(catalog.node(cluster.node));
  spec.name = cluster.name, spec.nodes = cluster.nodes;
  if (cluster.scale_up_domain > 0) spec.node.scale_up_domain = cluster.scale_up_domain;
  const Network& n = cluster.network;
  NetworkSpec& s = spec.network;
  if (!n.topology.empty()) s.topology = n.topology;
  if (!n.routing.empty()) s.routing = n.routing;
  if (!n.switch_name.empty()) s.switch_name = n.switch_name;
  if (n.tiers > 0) s.tiers = n.tiers;
  if (n.planes > 0) s.planes = n.planes;
  if (!n.oversubscription.empty()) s.oversubscription = n.oversubscription;
  if (!n.reach.empty()) s.reach = n.reach;
  return spec;
}

std::string to_json(const ClusterSpec& spec) {
  Json object = Json::object();
  if (!spec.name.empty()) object["name"] = spec.name;
  if (!spec.of.empty()) object["of"] = spec.of;
  if (const Json node = Json::parse(to_json(spec.node)); !node.empty()) object["node"] = node;
  if (spec.nodes > 0) object["nodes"] = spec.nodes;
  if (spec.accelerators > 0) object["accelerators"] = spec.accelerators;
  if (const Json network = Json::parse(to_json(spec.network)); !network.empty()) object["network"] = network;
  return json_text(object);
}

bool operator==(const ClusterSpec& a, const ClusterSpec& b) { return to_json(a) == to_json(b); }

ClusterSpec narrowed(ClusterSpec spec, int nodes, int accelerators, const std::string& where) {
  const auto narrow = [&](int& said, int wanted, std::string_view what) {
    if (wanted <= 0) return;
    if (said > 0 && wanted > said)
      throw Error(where, fmt::format("found {} {}, the cluster is described with {}", wanted, what, said));
    said = wanted;
  };
  // The fabric stays as it was wired for all of them.
  if (nodes > 0 && spec.nodes > nodes) spec.network.nodes = std::max(spec.network.nodes.value_or(0), spec.nodes);
  narrow(spec.nodes, nodes, "nodes");
  narrow(spec.accelerators, accelerators, "accelerators");
  return spec;
}

}  // namespace meshwright::hardware
