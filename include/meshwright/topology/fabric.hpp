#pragma once
// The machine as a graph, held as plain vectors: accelerators, NVSwitch planes, PCIe switches, sockets, NICs, leaves,
// spines, cores. Regular parts keep their formulae beside the graph, so that routes are arithmetic and a
// 131,072-accelerator fat tree is built and routed in well under a second.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "meshwright/core/quantity.hpp"
#include "meshwright/hardware/cluster.hpp"
#include "meshwright/topology/tiers.hpp"

namespace meshwright::topology {

enum class NodeKind : std::uint8_t { accelerator, nvswitch, pcie_switch, socket, nic, leaf, spine, core };
std::string_view name(NodeKind kind);

/// One direction of a cable. Cable i is links 2i (up, or towards the higher coordinate) and 2i + 1 (back).
struct FabricLink {
  std::uint32_t from = 0, to = 0;
  double capacity = 0;  ///< bytes a second in this direction; zero = failed
};

/// Parallel links that sprayed or adaptively routed traffic uses evenly: first, first + 2, ..., `count` of them.
struct Bundle {
  std::uint32_t first = 0, count = 0;
  double capacity = 0;
};

/// A share of a flow on a resource: a link, or (from links.size() on) a bundle.
struct FlowShare {
  std::uint32_t resource = 0;
  double share = 1;
};
using Route = std::vector<FlowShare>;

/// One scale-up unit: an NVLink domain with its NICs, a PCIe box, a rack. Every unit of a fabric is alike, so its links
/// and its routes are held once. Local node order: accelerators, NICs, the rest.
struct Unit {
  int accelerators = 1, nics = 0, hosts = 1;
  std::vector<NodeKind> kinds;
  std::vector<FabricLink> links;              ///< between local nodes
  std::vector<Route> to_accelerator, to_nic;  ///< [from * accelerators + to], [from * nics + nic]
  std::vector<Route> from_nic;                ///< [nic * accelerators + to]
  std::vector<std::vector<int>> nics_of;      ///< NICs nearest to an accelerator
  bool switched = false;                      ///< relaying inside the unit is cheap (NVLink, xGMI)
};

/// A folded Clos network, in one or several independent copies (`fabrics`: planes or rails). Zero leaves = no network.
struct Clos {
  int fabrics = 1;
  bool splits_ports = false;  ///< every NIC has a port in each fabric (dual plane); else NIC i is in fabric i % fabrics
  bool rails = false;         ///< a leaf takes one NIC index of many hosts
  bool joins_rails = true;
  bool direct_groups = false;  ///< Dragonfly+: groups are joined to each other, without cores
  int nics_per_host = 0;       ///< of one host in one fabric
  int leaf_down = 0;           ///< NIC ports of one leaf
  int leaves = 0, leaf_up = 0, leaves_per_pod = 0, pods = 0, spines_per_pod = 0, spine_up = 0, cores_per_group = 0;
  std::uint32_t leaf_node = 0, spine_node = 0, core_node = 0;      ///< first node of each kind
  std::uint32_t nic_link = 0, leaf_link = 0, spine_link = 0;       ///< first link of each block
  int links_a_pair = 0;                                            ///< Dragonfly+: cables between two groups
  std::uint32_t leaf_bundle = 0, pod_bundle = 0, pair_bundle = 0;  ///< first bundle of each block (as resources)
  int spines() const { return pods * spines_per_pod; }
  int cores() const { return direct_groups ? 0 : spines_per_pod * cores_per_group; }
};

/// A torus of accelerators, x fastest. `twist[d]` is what wrapping around dimension d adds to the others.
struct Torus {
  std::vector<int> edge;
  std::vector<std::vector<int>> twist;
  std::vector<bool> wraps;
  std::vector<std::vector<FlowShare>> by_difference;  ///< twisted tori: (source offset * directions + direction, share)
};

struct Fabric {
  std::string name;
  int accelerators = 0, hosts = 0;
  std::vector<NodeKind> kinds;  ///< by node
  std::vector<FabricLink> links;
  std::vector<Bundle> bundles;
  Unit unit;
  int units = 0;
  Clos clos;
  Torus torus;
  TierPlan plan;
  std::string routing = "adaptive";
  double tier_efficiency = 1;    ///< achieved over line rate above the leaf, adaptively routed or sprayed
  double static_efficiency = 1;  ///< the same with routes fixed by destination
  std::vector<std::string> assumptions;

  std::size_t resources() const { return links.size() + bundles.size(); }
  double capacity(std::uint32_t resource) const {
    return resource < links.size() ? links[resource].capacity : bundles[resource - links.size()].capacity;
  }
  bool is_torus() const { return !torus.edge.empty(); }
  /// Node of an accelerator; ranks fill units in order.
  std::uint32_t node_of(int rank) const {
    if (is_torus()) return static_cast<std::uint32_t>(rank);
    return static_cast<std::uint32_t>(static_cast<std::size_t>(rank / unit.accelerators) * unit.kinds.size() +
                                      static_cast<std::size_t>(rank % unit.accelerators));
  }
  std::uint32_t nic_node(int host, int nic) const;
  int host_of(int rank) const;
};

/// The graph of a cluster. Radix, tiers and oversubscription follow plan_tiers(cluster); torus machines get the shape
/// of torus_shape() for as many chips as the cluster has. Throws Error(where, ...) for a topology name it does not
/// know.
Fabric build_fabric(const Cluster& cluster);

/// A torus of `edge`s, x fastest; `link` is the bandwidth of one link and direction. `twisted` shifts the wrap-around
/// of each short dimension by half of the dimensions twice as long (Camara et al. 2010; TPU v4, arXiv 2304.01433).
Fabric build_torus(const std::vector<int>& edge, BytesPerSecond link, bool wraps = true, bool twisted = false);
/// The same with the edges that close into rings.
Fabric build_torus(const std::vector<int>& edge, BytesPerSecond link, const std::vector<bool>& closed, bool twisted);

/// Recomputes bundle capacities after link capacities were changed.
void refresh_bundles(Fabric& fabric);

}  // namespace meshwright::topology
