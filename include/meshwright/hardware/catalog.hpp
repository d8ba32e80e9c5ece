#pragma once
// The hardware database: data/hardware compiled in, with overlays on top.
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "meshwright/core/reader.hpp"
#include "meshwright/hardware/node.hpp"

namespace meshwright::hardware {

struct ReferenceCluster {
  std::string name, title;
  std::vector<std::string> aliases;
  std::string node;
  int nodes = 0;
  int scale_up_domain = 0;  ///< a TPU job's slice; 0 = as the node
  Network network;
  std::string notes;
  std::vector<Provenance> sources;
};

struct Catalog {
  std::vector<Accelerator> accelerators;
  std::vector<Link> links;
  std::vector<Nic> nics;
  std::vector<Switch> switches;
  std::vector<Node> nodes;
  std::vector<ReferenceCluster> clusters;
  std::vector<Medium> media;  ///< of overlays ({"media": [...]}); every cluster made from this catalogue carries them
  std::vector<Reader> frameworks;  ///< entries of overlays ({"frameworks": [...]}), for parallel/framework

  /// The entry of that name or alias, whatever its case, dashes and vendor ("NVIDIA H100 80GB HBM3"). Throws
  /// Error(where, ...) with the nearest spelling where there is none.
  const Accelerator& accelerator(std::string_view name, const std::string& where = "hardware") const;
  const Link& link(std::string_view name, const std::string& where = "hardware") const;
  const Nic& nic(std::string_view name, const std::string& where = "hardware") const;
  const Switch& switch_named(std::string_view name, const std::string& where = "hardware") const;
  const Node& node(std::string_view name, const std::string& where = "hardware") const;
  const ReferenceCluster& cluster(std::string_view name, const std::string& where = "hardware") const;

  /// The node that one would buy this accelerator in: the first of the catalogue with it and with `fabric`, else the
  /// first with it, else null.
  const Node* usual_node(std::string_view accelerator, std::string_view fabric = "") const;
  /// The switch that one would build a fabric of this kind and port speed of, split to it; nameless where none fits.
  Switch usual_switch(std::string_view fabric, BytesPerSecond port_bandwidth) const;
};

/// What benchmarks and data sheets say (data/hardware), read once: the starting point of fits to training runs.
const Catalog& benchmark_catalog();
/// benchmark_catalog() with what `meshwright calibrate runs` fitted to the published runs (data/fitted), read once.
const Catalog& builtin_catalog();
/// `base` with what the *.json files of `folder` say, in the order of their names: entries are added or, where the name
/// is the same, merged over field by field (lists replace, sources add). A file holds {"accelerators", "links", "nics",
/// "switches", "nodes", "clusters"} as data/hardware/*.json does, or any of kernel efficiencies {"devices"}, media of
/// communication {"media"} and fields of training stacks {"frameworks"}. Throws Error with file and place for anything
/// wrong, names that no entry has included.
Catalog overlay(Catalog base, const std::filesystem::path& folder);
/// `base` with the overlays of the folder that MESHWRIGHT_HARDWARE names, then of `folder` (either may be empty).
Catalog load_catalog(const std::filesystem::path& folder = {}, const Catalog& base = builtin_catalog());

/// A cluster from the name of a reference cluster, of a node (with `nodes`; 0 = 1), of an accelerator (its usual node),
/// or a cluster file (*.json). `accelerators` > 0 takes the first that many of it (whole nodes where more than one) and
/// refuses more than it has, except for a node name, where the number of nodes follows from it.
Cluster make_cluster(const Catalog& catalog, std::string_view name_or_file, int nodes = 0, int accelerators = 0);
/// A cluster from a JSON object {"name", "node", "nodes" or "accelerators", "network", "sources"}. "node" is a name, or
/// an object: fields over the catalogue's node of that "name", else over the usual node of its "accelerator" (what it
/// leaves out is listed among the assumptions). "network" is {"topology", "tiers", "oversubscription", "reach",
/// "planes", "switch", "routing", "efficiency", "dcn_bandwidth"}; without it, the fabric's usual one.
Cluster read_cluster(const Catalog& catalog, const Reader& reader);
/// A cluster as a training record describes it: an accelerator name and what is known of node and NICs.
/// Zero or empty = take the usual node of that accelerator, listed among the assumptions.
Cluster cluster_from_parts(const Catalog& catalog, std::string_view accelerator, int accelerators, int node_size,
                           int scale_up_domain, int nics_per_node, BytesPerSecond nic_bandwidth,
                           std::string_view fabric, const std::string& where);

}  // namespace meshwright::hardware
