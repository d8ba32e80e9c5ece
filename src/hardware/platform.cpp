#include "meshwright/hardware/platform.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "hardware/entries.hpp"
#include "meshwright/hardware/network.hpp"

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

template <class Value>
Value between(const Value& a, const Value& b, double share) {
  return a * (1 - share) + b * share;
}

Rate between(const Rate& a, const Rate& b, double share) {
  return {.step = between(a.step, b.step, share),
          .efficiency = between(a.efficiency, b.efficiency, share),
          .ramp = between(a.ramp, b.ramp, share)};
}

Exchange between(const Exchange& a, const Exchange& b, double share) {
  return {.base = between(a.base, b.base, share),
          .ll = between(a.ll, b.ll, share),
          .fence = between(a.fence, b.fence, share),
          .simple = between(a.simple, b.simple, share),
          .congestion = between(a.congestion, b.congestion, share)};
}

/// Figures `share` of the way from `a` to `b`; what is no number is that of the nearer one.
Medium between(const Medium& a, const Medium& b, double share) {
  Medium m = share < 0.5 ? a : b;
  for (std::size_t i = 0; i < protocol_count; ++i) m.ring[i] = between(a.ring[i], b.ring[i], share);
  for (const auto rate : {&Medium::in_switch, &Medium::point_to_point}) m.*rate = between(a.*rate, b.*rate, share);
  for (const auto factor : {&Medium::tree_efficiency, &Medium::crowding, &Medium::in_step})
    m.*factor = between(a.*factor, b.*factor, share);
  m.base = between(a.base, b.base, share), m.local_copy = between(a.local_copy, b.local_copy, share);
  m.all_to_all = between(a.all_to_all, b.all_to_all, share);
  m.evidence = std::max({a.evidence, b.evidence, Evidence::extrapolated});
  m.source = fmt::format("between {} and {}, {:.0f} % of the way", a.name, b.name, 100 * share);
  return m;
}

/// How far `rate` is beyond `most`: 0 up to it, 1 from its double on. A generation of cards doubles the rate of the
/// last.
double beyond(BytesPerSecond rate, BytesPerSecond most) {
  return most.value() <= 0 ? 0 : std::clamp(std::log2(rate / most), 0.0, 1.0);
}

/// The figures of the first of `rows` whose rates hold; between two rows, those between them.
Medium medium_at(const CatalogData& catalog, const Cluster& cluster, std::span<const FabricMedium> rows) {
  const FabricMedium& row = rows.front();
  const BytesPerSecond nic = cluster.node.nic_bandwidth;
  const Medium& found = *find_medium(catalog, row.medium);
  Medium own = row.stand_in ? standing_in(found, cluster.fabric.name) : found;
  const double share = std::max(beyond(nic, row.nic_bandwidth), beyond(nic * cluster.node.nics, row.node_bandwidth));
  if (share == 0 || rows.size() == 1) return own;
  const Medium next = medium_at(catalog, cluster, rows.subspan(1));
  return share == 1 ? next : between(own, next, share);
}

Medium fabric_medium(const CatalogData& catalog, const Cluster& cluster, const std::string& where) {
  if (!cluster.fabric.media.empty()) return medium_at(catalog, cluster, cluster.fabric.media);
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
  const Library switched = cluster.accelerator.compute_capability > 0 ? Library::nccl : Library::rccl;
  p.library = is_torus(kind) ? Library::torus : switched;
  p.name = fmt::format("{} + {}", p.scale_up.name, p.scale_out.name);
  return p;
}

}  // namespace meshwright::hardware
