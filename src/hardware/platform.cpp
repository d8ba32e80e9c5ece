#include "meshwright/hardware/platform.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "meshwright/core/names.hpp"

namespace meshwright::hardware {
namespace {

/// Media that stand in for those that nobody has published figures of, nearest kin first match.
struct Kin {
  std::string_view prefix, medium;
};
constexpr Kin kin[] = {
    {"nvlink1", "nvlink2"},    {"nvlink6", "nvlink5"},   {"nvlink7", "nvlink5"},     {"nvlinkc2c", "nvlink4"},
    {"nvlink", "nvlink4"},     {"xgmi", "xgmi"},         {"ualink", "nvlink5"},      {"neuronlink", "xgmi"},
    {"ici", "nvlink3"},        {"gaudi", "xgmi"},        {"ub", "nvlink4"},          {"pciegen1", "pcie-gen3"},
    {"pciegen2", "pcie-gen3"}, {"pciegen", "pcie-gen5"}, {"pcie", "pcie-gen4"},      {"infiniband", "infiniband"},
    {"ib", "infiniband"},      {"roce", "roce"},         {"efav3", "efa-v4"},        {"efa", "efa-v2"},
    {"tcpxo", "tcpxo"},        {"tcpx", "tcpx"},         {"slingshot", "slingshot"}, {"omnipath", "infiniband"},
    {"opa", "infiniband"},     {"tcp", "sockets"},       {"sockets", "sockets"},     {"ultraethernet", "roce"},
    {"ethernet", "roce"},
};

const Medium* by_name(const std::vector<Medium>& media, std::string_view name) {
  const std::string wanted = folded_name(name);
  const auto found = std::ranges::find_if(media, [&](const Medium& m) { return folded_name(m.name) == wanted; });
  return found == media.end() ? nullptr : &*found;
}

/// A medium by name from the cluster's own calibration, else compiled in, else its kin, else `fallback`.
Medium medium(const Cluster& cluster, std::string_view name, std::string_view fallback) {
  if (const Medium* m = by_name(cluster.media, name)) return *m;
  if (const Medium* m = by_name(builtin_media(), name)) return *m;
  std::string_view stand_in = fallback;
  const std::string wanted = folded_name(name);
  for (const Kin& k : kin) {
    if (wanted.starts_with(k.prefix)) {
      stand_in = k.medium;
      break;
    }
  }
  const Medium* found = by_name(cluster.media, stand_in);
  if (found == nullptr) found = by_name(builtin_media(), stand_in);
  if (found == nullptr) throw Error("platform", fmt::format("no medium '{}' to stand for '{}'", stand_in, name));
  Medium m = *found;
  m.source = fmt::format("figures of {} in place of {}, which has none; {}", m.name, name, m.source);
  m.evidence = std::max(m.evidence, Evidence::extrapolated);
  return m;
}

}  // namespace

std::string scale_out_medium(const Cluster& cluster) {
  const std::string fabric = folded_name(cluster.node.fabric);
  const double node_gbps = cluster.node.nics * cluster.node.nic_bandwidth.value() * 8e-9;
  if (fabric.starts_with("efa") || fabric == "srd") {
    if (fabric.size() > 3 && fabric.starts_with("efav")) return cluster.node.fabric;
    if (node_gbps <= 800) return "efa-v1";  // p4d, p3dn: 100G cards beside PCIe 3 and 4
    return cluster.node.nic_bandwidth.value() * 8e-9 < 150 ? "efa-v2" : "efa-v4";
  }
  if (fabric.find("tcpxo") != std::string::npos) return "tcpxo";
  if (fabric.find("tcpx") != std::string::npos) return "tcpx";
  if (fabric == "ethernet" && cluster.node.nic_bandwidth.value() * 8e-9 <= 50) return "sockets";
  return cluster.node.fabric.empty() ? "infiniband" : cluster.node.fabric;
}

Platform platform_of(const Cluster& cluster) {
  const std::string host = cluster.node.pcie.empty() ? "pcie-gen4" : cluster.node.pcie;
  const bool linked = cluster.node.scale_up != ScaleUpKind::pcie && cluster.node.scale_up != ScaleUpKind::none &&
                      !cluster.accelerator.scale_up_link.empty();
  Platform p;
  p.host = medium(cluster, host, "pcie-gen4");
  p.scale_up = linked ? medium(cluster, cluster.accelerator.scale_up_link, "nvlink4") : p.host;
  p.scale_out = medium(cluster, scale_out_medium(cluster), "infiniband");
  p.name = fmt::format("{} + {}", p.scale_up.name, p.scale_out.name);
  return p;
}

}  // namespace meshwright::hardware
