// Clusters by name, and from files.
#include <fmt/format.h>

#include <algorithm>

#include "hardware/entries.hpp"
#include "hardware/fields.hpp"

namespace meshwright::hardware {
namespace {

struct Usual {
  std::string_view topology, routing;
};

/// How a fabric is usually built and routed, where nothing is said about it.
Usual usual_design(const Node& node) {
  if (node.nics == 0 && node.scale_up == ScaleUpKind::torus_2d) return {"torus-2d", "static"};
  if (node.nics == 0 && node.scale_up == ScaleUpKind::torus_3d) return {"torus-3d", "static"};
  if (node.fabric == "efa") return {"fat-tree", "spray"};
  if (node.fabric == "roce" || node.fabric == "ethernet") return {"rail-optimised", "ecmp"};
  if (node.fabric == "slingshot") return {"dragonfly", "adaptive"};
  if (node.fabric == "omni-path" || node.fabric.starts_with("tcpx")) return {"fat-tree", "static"};
  return {"rail-optimised", "adaptive"};
}

Network usual_network(const Node& node) {
  const Usual usual = usual_design(node);
  Network network;
  network.topology = usual.topology;
  network.routing = usual.routing;
  return network;
}

/// The first `count` accelerators: whole nodes, or a part of one.
void take_first(Cluster& cluster, int count, const std::string& where) {
  Node& node = cluster.node;
  if (count <= node.accelerators) {
    cluster.nodes = 1;
    node.accelerators = count;
  } else if (count % node.accelerators != 0) {
    throw Error(where, fmt::format("{} accelerators don't make whole nodes of {}; expected a multiple of {}", count,
                                   node.accelerators, node.accelerators));
  } else {
    cluster.nodes = count / node.accelerators;
  }
}

Cluster from_node(const Catalog& catalog, const Node& node, int nodes, int accelerators) {
  Cluster cluster;
  cluster.name = node.name;
  cluster.node = node;
  cluster.sources = node.sources;
  cluster.nodes = std::max(nodes, 1);
  if (accelerators > 0) {
    if (nodes > 0 && accelerators > cluster.accelerators())
      throw Error("accelerators", fmt::format("{} are asked for, {} nodes of {} have {}", accelerators, nodes,
                                              node.name, cluster.accelerators()));
    take_first(cluster, accelerators, node.name);
  }
  assume_usual_network(cluster);
  complete_cluster(catalog, cluster, node.name);
  return cluster;
}

Cluster from_reference(const Catalog& catalog, const ReferenceCluster& reference, int nodes) {
  Cluster cluster;
  cluster.name = reference.name;
  cluster.node = catalog.node(reference.node);
  if (reference.scale_up_domain > 0) cluster.node.scale_up_domain = reference.scale_up_domain;
  if (nodes > reference.nodes)
    throw Error("nodes", fmt::format("{} has {} nodes, found {}", reference.name, reference.nodes, nodes));
  cluster.nodes = nodes > 0 ? nodes : reference.nodes;
  cluster.network = reference.network;
  cluster.sources = reference.sources;
  return cluster;
}

Cluster limited(Cluster cluster, int accelerators) {
  if (accelerators > cluster.accelerators())
    throw Error(cluster.name,
                fmt::format("it has {} accelerators, {} are asked for", cluster.accelerators(), accelerators));
  if (accelerators > 0) take_first(cluster, accelerators, cluster.name);
  cluster.node.scale_up_domain = std::min(cluster.node.scale_up_domain, cluster.accelerators());
  return cluster;
}

const Node* named_node(const Catalog& catalog, std::string_view name) {
  const std::string key = folded_name(name);
  for (const Node& node : catalog.nodes) {
    if (folded_name(node.name) == key) return &node;
    for (const std::string& alias : node.aliases) {
      if (folded_name(alias) == key) return &node;
    }
  }
  return nullptr;
}

/// A node spelled out: over the catalogue's node of that name, else over the usual node of its accelerator.
Node read_node(const Catalog& catalog, const Reader& r, std::vector<std::string>& assumptions) {
  if (r.is_string()) return catalog.node(r.string(), r.where());
  const auto given = r.find("name");
  if (given) {
    if (const Node* base = named_node(catalog, given->string())) return read_entry(r, *base);
  }
  const Accelerator& accelerator = catalog.accelerator(r.at("accelerator").string(), r.at("accelerator").where());
  const Node* usual = catalog.usual_node(accelerator.name, r.string_or("fabric", ""));
  if (usual == nullptr) return read_entry(r, Node{});
  Node base = *usual;
  base.name = given ? given->string() : "custom";
  base.aliases.clear();
  for (const std::string_view key : {"accelerators", "scale_up", "nics", "fabric"}) {
    if (!r.has(key)) assumptions.push_back(fmt::format("node {}: as {} (not stated)", key, usual->name));
  }
  return read_entry(r, base);
}

}  // namespace

void assume_usual_network(Cluster& cluster) {
  cluster.network = usual_network(cluster.node);
  cluster.assumptions.push_back(
      fmt::format("network: {}, full bisection, {} routing (usual for {}; state 'network' to change it)",
                  cluster.network.topology, cluster.network.routing, cluster.node.fabric));
}

void complete_cluster(const Catalog& catalog, Cluster& cluster, const std::string& where) {
  cluster.accelerator = catalog.accelerator(cluster.node.accelerator, where);
  cluster.media = catalog.media;
  if (!cluster.accelerator.scale_up_link.empty())
    cluster.scale_up_link = catalog.link(cluster.accelerator.scale_up_link, where);
  if (!cluster.node.pcie.empty()) cluster.pcie_link = catalog.link(cluster.node.pcie, where);
  if (!cluster.node.nic.empty()) cluster.nic = catalog.nic(cluster.node.nic, where);
  if (!cluster.node.scale_up_switch.empty())
    cluster.scale_up_switch = catalog.switch_named(cluster.node.scale_up_switch, where);
  cluster.node.scale_up_domain = std::min(cluster.node.scale_up_domain, cluster.accelerators());
  if (cluster.network.dcn_bandwidth == 0) cluster.network.dcn_bandwidth = cluster.node.dcn_bandwidth.value();
  const bool named = !cluster.network.switch_name.empty();
  if (named) cluster.fabric_switch = catalog.switch_named(cluster.network.switch_name, where);
  if (cluster.nodes > 1 && cluster.node.nics == 0 && cluster.node.fabric != "ici" &&
      cluster.node.scale_up_domain < cluster.accelerators()) {
    cluster.assumptions.emplace_back("no NICs: nodes talk over 100 Gb/s of host Ethernet (state 'nics' to change it)");
  }
  if (cluster.node.nics == 0) return;  // a torus: optical switches keep their ports as they are
  const int ports = cluster.network.topology == "dual-plane" ? std::max(1, cluster.network.planes) : 1;
  const BytesPerSecond port = cluster.node.nic_bandwidth / ports;
  cluster.fabric_switch =
      named ? split_to(cluster.fabric_switch, port) : catalog.usual_switch(cluster.node.fabric, port);
}

Cluster make_cluster(const Catalog& catalog, std::string_view name_or_file, int nodes, int accelerators) {
  if (name_or_file.ends_with(".json")) {
    Cluster cluster = read_cluster(catalog, Reader::file(std::filesystem::path(name_or_file)));
    if (nodes > cluster.nodes)
      throw Error("nodes", fmt::format("{} has {} nodes, found {}", name_or_file, cluster.nodes, nodes));
    if (nodes > 0) cluster.nodes = nodes;
    return limited(std::move(cluster), accelerators);
  }
  if (nodes < 0 || accelerators < 0)
    throw Error(nodes < 0 ? "nodes" : "accelerators", "expected at least 1, found a negative number");
  const std::string key = folded_name(name_or_file);
  for (const ReferenceCluster& reference : catalog.clusters) {
    const auto is_it = [&](const std::string& alias) { return folded_name(alias) == key; };
    if (!is_it(reference.name) && std::ranges::none_of(reference.aliases, is_it)) continue;
    Cluster cluster = limited(from_reference(catalog, reference, nodes), accelerators);
    complete_cluster(catalog, cluster, reference.name);
    return cluster;
  }
  if (const Node* node = named_node(catalog, name_or_file)) return from_node(catalog, *node, nodes, accelerators);
  for (const Accelerator& a : catalog.accelerators) {
    const auto is_it = [&](const std::string& alias) { return folded_name(alias) == key; };
    const Node* usual = catalog.usual_node(a.name);
    if (usual == nullptr || !(is_it(a.name) || std::ranges::any_of(a.aliases, is_it))) continue;
    Cluster cluster = from_node(catalog, *usual, nodes, accelerators);
    cluster.assumptions.push_back(fmt::format("node: {}, the usual one of {}", usual->name, a.name));
    return cluster;
  }
  std::vector<std::string> valid;
  for (const Node& node : catalog.nodes) valid.push_back(node.name);
  for (const ReferenceCluster& reference : catalog.clusters) valid.push_back(reference.name);
  throw Error("cluster", fmt::format("no cluster or node '{}'{}; a file ends in .json", name_or_file,
                                     suggestion(name_or_file, valid)));
}

Cluster read_cluster(const Catalog& catalog, const Reader& r) {
  r.allow_only({"description", "name", "node", "nodes", "accelerators", "network", "sources"});
  Cluster cluster;
  const Reader node = r.at("node");
  cluster.node = read_node(catalog, node, cluster.assumptions);
  Catalog linked = catalog;  // the node as if it stood in the catalogue
  linked.nodes = {cluster.node};
  linked.clusters.clear();
  link_up(linked, {.places = {{"nodes/" + folded_name(cluster.node.name), node.where()}}});
  cluster.node = linked.nodes.front();
  cluster.name = r.string_or("name", cluster.node.name);
  cluster.sources = cluster.node.sources;
  take_sources(r, cluster.sources);
  if (r.has("nodes") && r.has("accelerators")) r.fail("expected 'nodes' or 'accelerators', found both");
  cluster.nodes = r.integer_or("nodes", 1, 1, 1 << 24);
  if (const auto count = r.find("accelerators")) take_first(cluster, count->integer(1), count->where());
  if (const auto network = r.find("network"))
    cluster.network = read_network(*network, usual_network(cluster.node));
  else
    assume_usual_network(cluster);
  if (!cluster.network.switch_name.empty())
    catalog.switch_named(cluster.network.switch_name, r.at("network").at("switch").where());
  complete_cluster(catalog, cluster, r.where());
  return cluster;
}

}  // namespace meshwright::hardware
