#include "meshwright/hardware/platform.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "hardware/entries.hpp"

namespace meshwright::hardware {
namespace {

bool is_own(const Medium& medium, std::string_view name) { return folded_name(medium.name) == folded_name(name); }

/// The medium of a link: of its own name, else the one it names, else that of the newest link before it in its family.
const Medium* medium_of(const CatalogData& catalog, const Link& link) {
  if (const Medium* own = find_medium(catalog, link.name)) return own;
  if (!link.medium.empty()) return find_medium(catalog, link.medium);
  const Medium* kin = nullptr;
  for (const Link& other : catalog.links) {
    if (other.name == link.name) break;
    if (other.family != link.family) continue;
    const Medium* own = find_medium(catalog, other.name);
    kin = own != nullptr                                  ? own
          : find_medium(catalog, other.medium) != nullptr ? find_medium(catalog, other.medium)
                                                          : kin;
  }
  return kin;
}

/// What devices reach that stage through the host's memory, relative to half of their slot: a property of hosts,
/// whatever the generation of PCIe.
constexpr std::string_view staged_medium = "host-staged";

/// Figures of `found` for `name`, which has none.
Medium standing_in(const Medium& found, std::string_view name) {
  Medium m = found;
  m.source = fmt::format("figures of {} in place of {}, which has none; {}", m.name, name, m.source);
  m.evidence = std::max(m.evidence, Evidence::extrapolated);
  return m;
}

Medium link_medium(const CatalogData& catalog, const Link& link, const std::string& where) {
  const Medium* found = medium_of(catalog, link);
  if (found == nullptr) {
    throw Error(where,
                fmt::format("no collective figures are known of the link {} ({}); expected a medium of that name "
                            "or 'medium' in its entry",
                            link.name, link.family));
  }
  return is_own(*found, link.name) ? *found : standing_in(*found, link.name);
}

Medium fabric_medium(const CatalogData& catalog, const Cluster& cluster, const std::string& where) {
  const BytesPerSecond nic = cluster.node.nic_bandwidth, all = nic * cluster.node.nics;
  const auto within = [](BytesPerSecond rate, BytesPerSecond most) {
    return most.value() <= 0 || rate <= most * 1.001;
  };
  for (const FabricMedium& row : cluster.fabric.media) {
    if (!within(nic, row.nic_bandwidth) || !within(all, row.node_bandwidth)) continue;
    const Medium& found = *find_medium(catalog, row.medium);
    return row.stand_in ? standing_in(found, cluster.fabric.name) : found;
  }
  if (const Medium* own = find_medium(catalog, cluster.fabric.name)) return *own;
  throw Error(where, fmt::format("no collective figures are known of the fabric {}; expected a medium of that name or "
                                 "'media' in its entry",
                                 cluster.fabric.name));
}

}  // namespace

const Medium* find_medium(const CatalogData& catalog, std::string_view name) {
  const auto found = std::ranges::find_if(catalog.media, [&](const Medium& m) { return is_own(m, name); });
  return found == catalog.media.end() ? nullptr : &*found;
}

Platform platform_for(const CatalogData& catalog, const Cluster& cluster, const std::string& where) {
  const ScaleUpKind kind = cluster.node.scale_up;
  const bool linked = kind != ScaleUpKind::pcie && kind != ScaleUpKind::none && !cluster.scale_up_link.name.empty();
  Platform p;
  const Medium* staged = cluster.accelerator.peer_to_peer ? nullptr : find_medium(catalog, staged_medium);
  p.host = staged != nullptr ? *staged : link_medium(catalog, cluster.pcie_link, where);
  p.scale_up = linked ? link_medium(catalog, cluster.scale_up_link, where) : p.host;
  p.scale_out = fabric_medium(catalog, cluster, where);
  const bool torus = kind == ScaleUpKind::torus_2d || kind == ScaleUpKind::torus_3d;
  p.library = torus ? Library::torus : cluster.accelerator.compute_capability > 0 ? Library::nccl : Library::rccl;
  p.name = fmt::format("{} + {}", p.scale_up.name, p.scale_out.name);
  return p;
}

}  // namespace meshwright::hardware
