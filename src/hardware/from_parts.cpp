// A cluster as a training record describes it: an accelerator, counts, and perhaps something of the network.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "hardware/entries.hpp"

namespace meshwright::hardware {
namespace {

struct Parts {
  int accelerators, node_size, scale_up_domain, nics;
  BytesPerSecond nic_bandwidth;
  std::string fabric;
};

/// Scale-up of a node whose size differs from the usual one, or whose domain does.
void set_domain(Node& node, const Node& usual, const Parts& parts) {
  const bool whole_node = usual.scale_up_domain == usual.accelerators;
  if (parts.scale_up_domain > 0)
    node.scale_up_domain = parts.scale_up_domain;
  else if (whole_node)
    node.scale_up_domain = node.accelerators;
}

/// NICs: as stated, else as many an accelerator as the usual node has.
void set_nics(Node& node, const Node& usual, const Parts& parts, std::vector<std::string>& assumptions) {
  if (!parts.fabric.empty()) node.fabric = parts.fabric;
  if (parts.fabric.empty() && usual.nics > 0)
    assumptions.push_back(fmt::format("fabric: {} (as {}; not stated)", node.fabric, usual.name));
  if (parts.nics > 0) {
    node.nics = parts.nics;
  } else if (usual.nics > 0) {
    const double each = static_cast<double>(usual.nics) / usual.accelerators;
    node.nics = std::max(1, static_cast<int>(std::lround(each * node.accelerators)));
    assumptions.push_back(fmt::format("NICs: {} a node (as {}; not stated)", node.nics, usual.name));
  }
  if (parts.nic_bandwidth.value() > 0) {
    node.nic_bandwidth = parts.nic_bandwidth;
    if (parts.nic_bandwidth != usual.nic_bandwidth) node.nic.clear();
  } else if (usual.nics > 0) {
    assumptions.push_back(
        fmt::format("NIC bandwidth: {} per direction (as {}; not stated)", format(node.nic_bandwidth), usual.name));
  }
}

/// One spelling of a fabric: records and people say "IB NDR", "RoCEv2", "EFA v2", "Slingshot 11".
std::string canonical_fabric(std::string_view text) {
  struct Spelling {
    std::string_view prefix, fabric;
  };
  static constexpr Spelling spellings[] = {{"infiniband", "infiniband"},
                                           {"ib", "infiniband"},
                                           {"roce", "roce"},
                                           {"spectrumx", "roce"},
                                           {"efa", "efa"},
                                           {"srd", "efa"},
                                           {"slingshot", "slingshot"},
                                           {"omnipath", "omni-path"},
                                           {"opa", "omni-path"},
                                           {"gpudirecttcpxo", "tcpxo"},
                                           {"gpudirecttcpx", "tcpx"},
                                           {"tcpxo", "tcpxo"},
                                           {"tcpx", "tcpx"},
                                           {"ici", "ici"},
                                           {"ethernet", "ethernet"},
                                           {"eth", "ethernet"},
                                           {"tcp", "ethernet"}};
  const std::string key = folded_name(text);
  for (const Spelling& s : spellings) {
    if (key.starts_with(s.prefix)) return std::string(s.fabric);
  }
  return std::string(text);
}

/// The usual node of the accelerator; of the part that ranks see, where the stated node holds more than it could.
const Node* usual_node_of(const Catalog& catalog, const Accelerator& device, int node_size, const std::string& fabric,
                          std::vector<std::string>& assumptions, const std::string& where) {
  const Node* usual = catalog.usual_node(device.name, fabric);
  if (usual == nullptr) {
    throw Error(where, fmt::format("no node of the catalogue carries {}; expected one that tells its scale-up domain "
                                   "and NICs",
                                   device.name));
  }
  if (device.rank_device.empty() || node_size <= usual->accelerators) return usual;
  const Node* parts = catalog.usual_node(device.rank_device, fabric);
  if (parts == nullptr) return usual;
  assumptions.push_back(fmt::format("device: {}, because a node of {} {} is one of {}", device.rank_device, node_size,
                                    device.name, device.rank_device));
  return parts;
}

}  // namespace

Cluster cluster_from_parts(const Catalog& catalog, std::string_view accelerator, int accelerators, int node_size,
                           int scale_up_domain, int nics_per_node, BytesPerSecond nic_bandwidth,
                           std::string_view fabric, const std::string& where) {
  if (accelerators < 1) throw Error(where, fmt::format("expected at least 1 accelerator, found {}", accelerators));
  if (node_size < 0 || scale_up_domain < 0 || nics_per_node < 0)
    throw Error(where, "expected counts of at least 0, found a negative one");
  Cluster cluster;
  const std::string wanted_fabric = canonical_fabric(fabric);
  const Node* usual = usual_node_of(catalog, catalog.accelerator(accelerator, where), node_size, wanted_fabric,
                                    cluster.assumptions, where);
  const bool torus = usual->fabric == "ici";
  const Parts parts = {.accelerators = accelerators,
                       .node_size = node_size,
                       .scale_up_domain = scale_up_domain,
                       .nics = nics_per_node,
                       .nic_bandwidth = nic_bandwidth,
                       .fabric = torus ? "" : wanted_fabric};
  cluster.node = *usual;
  Node& node = cluster.node;
  if (node_size > 0) {
    node.accelerators = node_size;
  } else {
    cluster.assumptions.push_back(
        fmt::format("node: {} accelerators (as {}; not stated)", node.accelerators, usual->name));
  }
  node.accelerators = std::min(node.accelerators, accelerators);
  if (accelerators % node.accelerators != 0)
    throw Error(where, fmt::format("{} accelerators don't make whole nodes of {}", accelerators, node.accelerators));
  cluster.nodes = accelerators / node.accelerators;
  set_domain(node, *usual, parts);
  set_nics(node, *usual, parts, cluster.assumptions);
  cluster.name = fmt::format("{} x {}", accelerators, node.accelerator);
  cluster.sources = node.sources;
  assume_usual_network(cluster);
  complete_cluster(catalog, cluster, where);
  return cluster;
}

}  // namespace meshwright::hardware
