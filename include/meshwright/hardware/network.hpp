#pragma once
// A cluster's network in numbers that everyone needs: which topologies it may have, how many planes and ports, and what
// a NIC carries behind its slot.
#include <string>
#include <vector>

#include "meshwright/hardware/catalog.hpp"

namespace meshwright::hardware {

/// How switches choose an uplink.
enum class RoutingKind {
  adaptive,  ///< switches steer to the emptier uplink: even use, at FabricKind::tier_efficiency
  ecmp,      ///< each flow (queue pair) hashed onto one uplink for its life
  fixed,     ///< "static": the uplink follows from the destination (D-mod-k, as InfiniBand's ftree engine does)
  spray,     ///< every packet on another uplink: even use, at FabricKind::tier_efficiency
};
/// Their names: "adaptive", "ecmp", "static" and "spray".
const std::vector<std::string>& routings();
/// Error(where, ...) with the nearest spelling where there is none of that name.
RoutingKind routing_kind(std::string_view name, const std::string& where);

/// What the builders of a topology, its check and its bill go by: one row a topology.
struct TopologyKind {
  std::string_view name;
  bool rails = false;                      ///< a leaf takes one NIC of each node
  bool joined = true;                      ///< rails and planes meet in switches above
  bool whole_nics = false;                 ///< NIC i is in plane i; else each NIC has a port in every plane
  bool free_planes = true;                 ///< there may be fewer planes than NICs
  int planes = 1;                          ///< at least, where NICs have a port in each
  bool one_switch = false;                 ///< no uplinks
  bool direct_groups = false;              ///< groups of switches are joined pair by pair
  ScaleUpKind wiring = ScaleUpKind::none;  ///< tori: of the accelerators, whose links are the network
  int dimensions = 0;                      ///< of a torus
};
/// The row of a network's topology, a slice behind its name or not. Error("network/topology", ...) where there is none.
const TopologyKind& topology_kind(std::string_view topology);
/// Names of the topologies.
const std::vector<std::string>& topologies();
/// What else they are called: "leaf-spine", "clos" and "spine-leaf" are fat trees, "rail-optimized" is spelled so.
const std::vector<std::string>& topology_aliases();
/// The topology that a name or alias stands for; what stands for none as it is.
std::string topology_named(std::string_view text);
bool is_torus(ScaleUpKind wiring);
/// "torus-2d" or "torus-3d" for accelerators that are wired as one; "" for others.
std::string torus_of(ScaleUpKind wiring);
/// The accelerators' own wiring is the network: a torus, without NICs.
bool is_torus_network(const Cluster& cluster);

/// Independent copies of the network: as many as stated, at least TopologyKind::planes; where they take whole NICs, one
/// a NIC unless fewer are stated.
int planes_of(const Cluster& cluster);
/// Ports of one NIC, each in a plane of its own, that share its bandwidth; one where planes take whole NICs.
int ports_a_nic(const Cluster& cluster);

/// Error(where, ...) where the network as described cannot be built for the cluster's node: tori of NICs, NICs of tori,
/// planes without NICs for them, oversubscription without a tier that has uplinks.
void check_network(const Cluster& cluster, const std::string& where);

/// What `lanes` carry per direction after line coding at a rate [GT/s]: of the catalogue's PCIe generation of that
/// rate; zero where there is none.
BytesPerSecond pcie_bandwidth(const CatalogData& catalog, double giga_transfers, int lanes);
/// The slots of a cluster's nodes, of `lanes`: the generation that the node states, else the usual one.
BytesPerSecond slot_bandwidth(const Cluster& cluster, int lanes = 16);

/// Line rate of one accelerator's link to the memory of its host: on their board (NVLink-C2C), else of its slot.
BytesPerSecond host_line_rate(const Cluster& cluster);

/// One crossing of a slot, and of a scale-up link: of the catalogue's links (a link that states none takes as long as
/// a slot).
Seconds slot_latency(const Cluster& cluster);
Seconds scale_up_latency(const Cluster& cluster);

/// A rate and what limits it.
struct Limited {
  BytesPerSecond rate{};
  std::string limit{};  ///< "pcie-gen5 x16", "kernel TCP"; "" = the NIC's own line rate
};
/// What one NIC carries: line rate, or what the slower of its slot and its own interface carries.
Limited nic_rate(const Cluster& cluster);
/// What a node without NICs for training has: the data-centre network, or its Ethernet, taken as 100 Gb/s. In words:
/// "100 Gb/s of host Ethernet".
Limited without_nics(const Cluster& cluster);
/// What one accelerator gets of its node's NICs when all send at once: its share, at most what its own slot and its
/// transport carry. NICs without a PCIe interface of their own (Gaudi) have no slot.
Limited rank_rate(const Cluster& cluster);

/// The usual switch of the cluster's NICs, its ports split to the planes; the one named by the network, if any.
Switch network_switch(const Cluster& cluster, const CatalogData& catalog);

}  // namespace meshwright::hardware
