#pragma once
// One entry of a catalogue file, read over the entry of that name (or over an empty one, which demands what a new entry
// must state).
#include <string>
#include <utility>
#include <vector>

#include "meshwright/core/members.hpp"
#include "meshwright/core/names.hpp"
#include "meshwright/hardware/catalog.hpp"

namespace meshwright::hardware {

Accelerator read_entry(const Reader& r, Accelerator base);
Link read_entry(const Reader& r, Link base);
Nic read_entry(const Reader& r, Nic base);
Switch read_entry(const Reader& r, Switch base);
FabricKind read_entry(const Reader& r, FabricKind base);
Node read_entry(const Reader& r, Node base);
ReferenceCluster read_entry(const Reader& r, ReferenceCluster base);

// The rows that they are read by.
const Members<Accelerator>& accelerator_members();
const Members<Link>& link_members();
const Members<Nic>& nic_members();
const Members<Switch>& switch_members();
const Members<FabricKind>& fabric_members();
const Members<ReferenceCluster>& reference_members();

JsonSchema node_shape();     ///< of what read_node_spec() reads from an object
JsonSchema network_shape();  ///< of what read_network_spec() reads

NodeSpec read_node_spec(const Reader& r);
NetworkSpec read_network_spec(const Reader& r);
/// What they read: what was said, and nothing else.
std::string to_json(const NodeSpec& spec);
std::string to_json(const NetworkSpec& spec);
/// What is said, over what stands there.
void apply(const NodeSpec& spec, Node& node);
void apply(const NetworkSpec& spec, Network& network);
/// What is said later, over what was said.
void merge(const NodeSpec& said, NodeSpec& spec);
void merge(const NetworkSpec& said, NetworkSpec& spec);

const std::vector<std::string>& scale_up_names();  ///< of ScaleUpKind

/// Where each entry was read, for the messages of link_up.
struct Origins {
  std::vector<std::pair<std::string, std::string>> places;  ///< "nodes/dgx-h100", "file:/nodes/3"
  std::string of(std::string_view kind, std::string_view name) const;
};

/// Fills what an entry leaves to others (a node's bandwidths to its accelerator and NIC) and refuses names that the
/// catalogue lacks; `origins` tells where an entry stands.
void link_up(CatalogData& catalog, const Origins& origins);
/// The same for one node.
void link_node(const CatalogData& catalog, Node& node, const std::string& where);
/// Takes those fillings back, so that they follow an overlay's change.
void unlink(CatalogData& catalog);

/// The medium of that name, or null.
const Medium* find_medium(const CatalogData& catalog, std::string_view name);
/// The media of a cluster's links and fabric: its own, else those that stand for them, then marked `extrapolated`.
Platform platform_for(const CatalogData& catalog, const Cluster& cluster, const std::string& where);

}  // namespace meshwright::hardware
