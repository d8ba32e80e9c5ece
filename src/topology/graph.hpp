#pragma once
// Walks over a graph of FabricLinks: shortest paths, and routes spread evenly over all of them.
#include <cstdint>
#include <span>
#include <vector>

#include "meshwright/topology/fabric.hpp"

namespace meshwright::topology {

/// Outgoing links of each node, compressed.
struct Adjacency {
  std::vector<std::uint32_t> first, link;
};
Adjacency adjacency(std::span<const FabricLink> links, std::size_t nodes);

/// Hops from `source` over links with capacity; -1 where it cannot be reached. `through` may forbid nodes.
std::vector<int> hops_from(std::span<const FabricLink> links, const Adjacency& out, std::uint32_t source);

/// Shares of a flow from `source` to `target`, split evenly at every node over the links of all shortest paths, in
/// proportion to their capacity. Empty where there is no path.
Route spread(std::span<const FabricLink> links, const Adjacency& out, std::span<const int> hops_to_target,
             std::uint32_t source, std::uint32_t target);

/// Hops to `target` from every node.
std::vector<int> hops_to(std::span<const FabricLink> links, std::size_t nodes, std::uint32_t target);

}  // namespace meshwright::topology
