#pragma once
// A cluster's network in numbers that everyone needs: which topologies it may have, how many planes and ports, and what
// a NIC carries behind its slot.
#include <string>
#include <vector>

#include "meshwright/hardware/catalog.hpp"

namespace meshwright::hardware {

/// Names of the topologies.
const std::vector<std::string>& topologies();
/// What else they are called: "leaf-spine", "clos" and "spine-leaf" are fat trees, "rail-optimized" is spelled so.
const std::vector<std::string>& topology_aliases();
/// The topology that a name or alias stands for; what stands for none as it is.
std::string topology_named(std::string_view text);
bool is_torus(ScaleUpKind kind);
/// "torus-2d" or "torus-3d" for accelerators that are wired as one; "" for others.
std::string torus_of(ScaleUpKind kind);
/// The accelerators' own wiring is the network: a torus, without NICs.
bool is_torus_network(const Cluster& cluster);

/// Independent copies of the network: one; as many as stated; two of "dual-plane"; one a NIC of "multi-plane" and
/// "rail-only".
int planes_of(const Cluster& cluster);
/// Ports of one NIC, each in a plane of its own, that share its bandwidth. Planes of "multi-plane" and "rail-only" take
/// whole NICs.
int ports_a_nic(const Cluster& cluster);

/// Error(where, ...) where the network as described cannot be built for the cluster's node: tori of NICs, NICs of tori,
/// planes without NICs for them, oversubscription without a tier that has uplinks.
void check_network(const Cluster& cluster, const std::string& where);

/// What `lanes` carry per direction after line coding at a rate [GT/s]: of the catalogue's PCIe generation of that
/// rate; zero where there is none.
BytesPerSecond pcie_bandwidth(const CatalogData& catalog, double giga_transfers, int lanes);
/// The slots of a cluster's nodes, of `lanes`: the generation that the node states, else the usual one.
BytesPerSecond slot_bandwidth(const Cluster& cluster, int lanes = 16);

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
