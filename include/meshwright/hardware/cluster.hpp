#pragma once
// A cluster, and the way there: what is said of one (ClusterSpec, by a file, a record, an option or a program) is
// completed from the catalogue, once and for everyone. Variations are edits of what was said.
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "meshwright/core/reader.hpp"
#include "meshwright/hardware/accelerator.hpp"
#include "meshwright/hardware/host.hpp"
#include "meshwright/hardware/interconnect.hpp"
#include "meshwright/hardware/medium.hpp"
#include "meshwright/hardware/node.hpp"

namespace meshwright::hardware {

class Catalog;
struct CatalogData;

/// What is said of a node; everything else is as the catalogue has it.
struct NodeSpec {
  std::string name{};  ///< a node of the catalogue, or a name for one spelled out over its accelerator's usual node
  std::string accelerator{};  ///< "" = as the node of that name
  std::optional<int> accelerators{}, scale_up_domain{}, nics{}, sockets{};
  std::optional<ScaleUpKind> scale_up{};
  std::optional<BytesPerSecond> scale_up_bandwidth{}, nic_bandwidth{}, dcn_bandwidth{};
  std::optional<std::string> scale_up_switch{}, nic{}, fabric{}, pcie{}, cpu{}, title{}, notes{};
  std::optional<Bytes> host_memory{};
  std::optional<Watts> power{};
  std::optional<bool> announced{};
  std::optional<std::vector<std::string>> aliases{};
  std::optional<std::vector<Price>> prices{};
  std::vector<Provenance> sources{};
  std::string where{};  ///< its place, for messages
};

/// What is said of a network; everything else is as the fabric is usually built.
struct NetworkSpec {
  std::optional<std::string> topology{}, switch_name{}, routing{};
  std::optional<int> tiers{}, planes{}, nodes{};
  std::optional<std::vector<double>> oversubscription{};
  std::optional<std::vector<int>> reach{};
  std::optional<double> efficiency{};
  std::optional<BytesPerSecond> dcn_bandwidth{};
  std::string where{};  ///< its place, for messages
};

/// What is said of a cluster. `of` or `node` (or both: changes of the node that `of` names) say what it is made of.
struct ClusterSpec {
  std::string of{};      ///< a reference cluster, a node, an accelerator (its usual node) or a cluster file (*.json)
  std::string name{};    ///< "" = after what it is made of
  NodeSpec node{};       ///< over the node that `of` names
  int nodes = 0;         ///< 0 = all of a reference cluster; of a node as many as `accelerators` take, else one
  int accelerators = 0;  ///< that are used: the first so many, whole nodes where more than one; 0 = all
  NetworkSpec network{};
  std::vector<Provenance> sources{};
  std::string where = "cluster";  ///< its place, for messages
};

/// A cluster as a JSON object {"name", "of" or "node", "nodes" and "accelerators", "network", "sources"}: the format of
/// cluster files. "node" is a name, or an object of a node's fields over the catalogue's node of that "name", else over
/// the usual node of its "accelerator". "network" is {"topology", "tiers", "oversubscription" (4, "4:1" or a list,
/// leaf first), "reach", "planes", "nodes", "switch", "routing", "efficiency", "dcn_bandwidth"}. Throws Error for what
/// has no such meaning; names are looked up by complete().
ClusterSpec read_cluster_spec(const Reader& reader);
/// The object that read_cluster_spec() reads: what was said, and nothing else.
std::string to_json(const ClusterSpec& spec);
/// True where the same was said, wherever it was said.
bool operator==(const ClusterSpec& a, const ClusterSpec& b);

/// A value that carries everything a prediction needs; nothing is looked up later. Made by complete() only.
struct Cluster {
  std::string name;
  Node node;
  Accelerator accelerator;
  int nodes = 1;
  int scale_up_domains =
      0;             ///< domains that a job may spread over; 0 = as many as it likes (no count of nodes was said)
  int pod_edge = 0;  ///< tori in two dimensions: chips along the edge of the pod, of which a job may take a slice
  Network network;
  Link scale_up_link;  ///< nameless where the accelerator has none
  Link pcie_link;      ///< of the node; the usual generation where the node states none
  HostKind host;       ///< processor of the node
  FabricKind fabric;
  Nic nic;                 ///< nameless where the NIC is not a catalogue entry
  Switch fabric_switch;    ///< split to the NIC's port speed; nameless where none is known
  Switch scale_up_switch;  ///< nameless where there is none
  Platform platform;       ///< collective figures of its media
  std::vector<Provenance> sources;
  std::vector<std::string> assumptions;        ///< defaults that entered, "network: rail-optimised (default)"
  ClusterSpec spec;                            ///< what was said of it, files read in
  std::shared_ptr<const CatalogData> catalog;  ///< where it was looked up

  int accelerators() const { return nodes * node.accelerators; }
};

/// The cluster of which `spec` speaks. What it leaves out is as the catalogue's entries have it, or usual for the
/// accelerator or fabric and then among the assumptions. Throws UnknownName for names that the catalogue lacks, Error
/// for more nodes or accelerators than there are and for accelerators that don't make whole nodes.
Cluster complete(const ClusterSpec& spec, const Catalog& catalog);
/// The same cluster with something else said of it, completed anew from the same catalogue.
Cluster with(const Cluster& cluster, const std::function<void(ClusterSpec&)>& edit);
/// complete() of a name or file, with counts.
Cluster make_cluster(const Catalog& catalog, std::string_view name_or_file, int nodes = 0, int accelerators = 0);
/// `spec` narrowed to `nodes` and `accelerators` (0 = as it is). Throws Error(where, ...) where `spec` has less.
ClusterSpec narrowed(ClusterSpec spec, int nodes, int accelerators, const std::string& where);

}  // namespace meshwright::hardware
