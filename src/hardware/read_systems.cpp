// Nodes, fabrics and reference clusters.
#include "hardware/entries.hpp"
#include "hardware/fields.hpp"
#include "meshwright/hardware/network.hpp"

namespace meshwright::hardware {
namespace {

std::optional<std::string> one_of(const Reader& r, std::string_view key, const std::vector<std::string>& names) {
  const auto member = r.find(key);
  return member ? std::optional(names[member->one_of(names)]) : std::nullopt;
}

template <class T>
void put(const std::optional<T>& said, T& field) {
  if (said) field = *said;
}

}  // namespace

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
  if (const auto share = r.find("tier_efficiency")) f.tier_efficiency = stated_fraction(*share);
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
