// The references of a catalogue: every name must exist, and what an entry leaves open follows from what it names.
#include <fmt/format.h>

#include <algorithm>

#include "hardware/entries.hpp"

namespace meshwright::hardware {
namespace {

/// What a node's scale-up bandwidth is where it does not say.
BytesPerSecond usual_scale_up(const CatalogData& catalog, const Node& node, const Accelerator& accelerator) {
  if (node.scale_up == ScaleUpKind::none) return {};
  if (node.scale_up != ScaleUpKind::pcie) return accelerator.scale_up_bandwidth;
  return node.pcie.empty() ? BytesPerSecond{} : catalog.link(node.pcie).lane_bandwidth * accelerator.pcie_lanes;
}

void link_accelerator(const CatalogData& catalog, Accelerator& a, const std::string& where) {
  if (!a.scale_up_link.empty()) a.scale_up_link = catalog.link(a.scale_up_link, where + "/scale_up_link").name;
  if (!a.pcie.empty()) a.pcie = catalog.link(a.pcie, where + "/pcie").name;
  if (!a.chip_of.empty()) a.chip_of = catalog.accelerator(a.chip_of, where + "/chip_of").name;
  if (!a.rank_device.empty()) a.rank_device = catalog.accelerator(a.rank_device, where + "/rank_device").name;
}

void link_cluster(const CatalogData& catalog, ReferenceCluster& cluster, const std::string& where) {
  cluster.node = catalog.node(cluster.node, where + "/node").name;
  if (!cluster.network.switch_name.empty()) {
    cluster.network.switch_name = catalog.switch_named(cluster.network.switch_name, where + "/network/switch").name;
  }
}

void link_fabric(const CatalogData& catalog, const FabricKind& fabric, const std::string& where) {
  for (const FabricMedium& m : fabric.media) {
    if (find_medium(catalog, m.medium) == nullptr)
      throw UnknownName(where + "/media", fmt::format("unknown medium '{}'", m.medium));
  }
  if (!fabric.over_rdma.empty()) catalog.fabric(fabric.over_rdma, where + "/over_rdma");  // refuses
}

}  // namespace

void link_node(const CatalogData& catalog, Node& node, const std::string& where) {
  const Accelerator& accelerator = catalog.accelerator(node.accelerator, where + "/accelerator");
  node.accelerator = accelerator.name;
  node.fabric = catalog.fabric(node.fabric, where + "/fabric").name;
  if (node.pcie.empty()) node.pcie = accelerator.pcie;
  if (!node.pcie.empty()) node.pcie = catalog.link(node.pcie, where + "/pcie").name;
  if (!node.nic.empty()) {
    const Nic& nic = catalog.nic(node.nic, where + "/nic");
    node.nic = nic.name;
    if (node.nic_bandwidth.value() <= 0) node.nic_bandwidth = nic.bandwidth;
  }
  node.scale_up_reduces = false;
  if (!node.scale_up_switch.empty()) {
    const Switch& sw = catalog.switch_named(node.scale_up_switch, where + "/scale_up_switch");
    node.scale_up_switch = sw.name;
    node.scale_up_reduces = sw.reduces;
  }
  if (node.scale_up_bandwidth.value() <= 0) node.scale_up_bandwidth = usual_scale_up(catalog, node, accelerator);
  const bool joined = node.scale_up != ScaleUpKind::none && node.scale_up != ScaleUpKind::pcie;
  if (joined && node.scale_up_domain > 1 && node.scale_up_bandwidth.value() <= 0) {
    throw Error(where + "/scale_up", fmt::format("'{}' needs a scale-up bandwidth, and {} has none; expected "
                                                 "'scale_up_bandwidth', or 'pcie' or 'none' here",
                                                 name(node.scale_up), accelerator.name));
  }
}

std::string Origins::of(std::string_view kind, std::string_view name) const {
  const std::string key = fmt::format("{}/{}", kind, folded_name(name));
  const auto place = std::find_if(places.rbegin(), places.rend(), [&](const auto& p) { return p.first == key; });
  return place == places.rend() ? fmt::format("hardware:/{}/{}", kind, name) : place->second;
}

void link_up(CatalogData& catalog, const Origins& origins) {
  for (Accelerator& a : catalog.accelerators) link_accelerator(catalog, a, origins.of("accelerators", a.name));
  for (Nic& nic : catalog.nics) {
    if (!nic.pcie.empty()) nic.pcie = catalog.link(nic.pcie, origins.of("nics", nic.name) + "/pcie").name;
  }
  for (const FabricKind& f : catalog.fabrics) link_fabric(catalog, f, origins.of("fabrics", f.name));
  for (Node& node : catalog.nodes) link_node(catalog, node, origins.of("nodes", node.name));
  for (ReferenceCluster& c : catalog.clusters) link_cluster(catalog, c, origins.of("clusters", c.name));
}

void unlink(CatalogData& catalog) {
  for (Node& node : catalog.nodes) {
    const Accelerator& accelerator = catalog.accelerator(node.accelerator);
    if (node.scale_up_bandwidth == usual_scale_up(catalog, node, accelerator)) node.scale_up_bandwidth = {};
    if (!node.nic.empty() && node.nic_bandwidth == catalog.nic(node.nic).bandwidth) node.nic_bandwidth = {};
    if (node.pcie == accelerator.pcie) node.pcie.clear();
  }
}

}  // namespace meshwright::hardware
