// Nodes, fabrics and reference clusters.
#include "hardware/entries.hpp"
#include "hardware/fields.hpp"
#include "meshwright/core/limits.hpp"
#include "meshwright/hardware/network.hpp"

namespace meshwright::hardware {

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
      name_member<&FabricKind::name>(),
      texts_member<&FabricKind::aliases>("aliases", "other names"),
      texts_member<&FabricKind::words>("words", "that name it in a free text"),
      texts_member<&FabricKind::hints>("hints", "words that hint at it"),
      stated<&FabricKind::topology>(choice_member<&FabricKind::topology>("topology", topologies(), "the usual one")),
      stated<&FabricKind::routing>(choice_member<&FabricKind::routing>("routing", routings(), "the usual one")),
      stated<&FabricKind::hop>(quantity_member<&FabricKind::hop>("hop", "latency of a switch")),
      {"tier_efficiency", "of the links above the leaf under load", shape::number(1e-6, 1),
       [](const Reader& r, FabricKind& f) { f.tier_efficiency = stated_fraction(r); }},
      switch_member<&FabricKind::by_plugin>("by_plugin", "NCCL reaches it by a plugin"),
      switch_member<&FabricKind::told_by_runs>("told_by_runs", "runs tell more of its rate in a step than benchmarks"),
      switch_member<&FabricKind::negotiates>("negotiates", "connections agree on extensions (ECE)"),
      switch_member<&FabricKind::switched>("switched", "false: accelerators wired to each other"),
      stated<&FabricKind::switches>(
          text_member<&FabricKind::switches>("switches", "the fabric of the switches that it is built of")),
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
  read_members(r, fabric_members(), f);
  return f;
}

const Members<ReferenceCluster>& reference_members() {
  static const Members<ReferenceCluster> rows = {
      name_member<&ReferenceCluster::name>(),
      texts_member<&ReferenceCluster::aliases>("aliases", "other names"),
      text_member<&ReferenceCluster::title>("title", "in words"),
      stated<&ReferenceCluster::node>(text_member<&ReferenceCluster::node>("node", "a node of the catalogue")),
      stated<&ReferenceCluster::nodes>(whole_member<&ReferenceCluster::nodes>("nodes", 1, largest_count, "")),
      whole_member<&ReferenceCluster::scale_up_domain>("scale_up_domain", 1, largest_domain, "of a TPU job's slice"),
      {"network", "", network_shape(),
       [](const Reader& r, ReferenceCluster& c) { apply(read_network_spec(r), c.network); }},
      text_member<&ReferenceCluster::notes>("notes", ""),
      sources_member<&ReferenceCluster::sources>()};
  return rows;
}

ReferenceCluster read_entry(const Reader& r, ReferenceCluster c) {
  read_members(r, reference_members(), c);
  return c;
}

}  // namespace meshwright::hardware
