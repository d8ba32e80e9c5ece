#pragma once
// One entry of a catalogue file, read over the entry of that name (or over an empty one, which demands what a new entry
// must state).
#include <string>
#include <utility>
#include <vector>

#include "meshwright/core/names.hpp"
#include "meshwright/hardware/catalog.hpp"

namespace meshwright::hardware {

Accelerator read_entry(const Reader& r, Accelerator base);
Link read_entry(const Reader& r, Link base);
Nic read_entry(const Reader& r, Nic base);
Switch read_entry(const Reader& r, Switch base);
Node read_entry(const Reader& r, Node base);
ReferenceCluster read_entry(const Reader& r, ReferenceCluster base);
Network read_network(const Reader& r, Network base);

/// Where each entry was read, for the messages of link_up.
struct Origins {
  std::vector<std::pair<std::string, std::string>> places;  ///< "nodes/dgx-h100", "file:/nodes/3"
  std::string of(std::string_view kind, std::string_view name) const;
};

/// Fills what an entry leaves to others (a node's bandwidths to its accelerator and NIC) and refuses names that the
/// catalogue lacks; `origins` tells where an entry stands.
void link_up(Catalog& catalog, const Origins& origins);
/// Takes those fillings back, so that they follow an overlay's change.
void unlink(Catalog& catalog);

/// What a cluster carries besides its node: accelerator, links, NIC, switches, media, and the network's usual switch.
void complete_cluster(const Catalog& catalog, Cluster& cluster, const std::string& where);

/// The usual network of the node's fabric, and the sentence that says so.
void assume_usual_network(Cluster& cluster);

}  // namespace meshwright::hardware
