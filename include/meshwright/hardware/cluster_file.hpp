#pragma once
// A cluster as one word: what a flag or a job file says of it.
#include <string>

#include "meshwright/hardware/catalog.hpp"
#include "meshwright/hardware/cluster.hpp"

namespace meshwright::hardware {

/// The cluster that `text` means: what a cluster file (JSON or YAML, "-" is stdin) says, read at once, or the name of a
/// cluster or node, which complete() looks up.
ClusterSpec cluster_spec_of(const std::string& text, const std::string& where);

/// All that the catalogue says of a node, or of a reference cluster with its nodes and network, as what a cluster file
/// would say.
ClusterSpec spelled_out(const Node& node);
ClusterSpec spelled_out(const ReferenceCluster& cluster, const CatalogData& catalog);

}  // namespace meshwright::hardware
