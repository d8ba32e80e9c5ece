#pragma once
// Where a group of ranks sits in the fabric: what collectives need to know of a topology, and nothing else.
#include <algorithm>
#include <string>
#include <vector>

#include "meshwright/core/quantity.hpp"
#include "meshwright/hardware/cluster.hpp"

namespace meshwright::topology {

enum class LevelKind { scale_up, scale_out };

/// One level of a group's place, innermost first. A level joins `ranks` members (of the level below: whole blocks).
/// A block of r ranks reaches its neighbour block with r x bandwidth: that is what one flat ring gets at this level.
struct Level {
  LevelKind kind = LevelKind::scale_up;
  int ranks = 1;
  Seconds latency{};           ///< wire and switches between two neighbours at this level, one way
  BytesPerSecond bandwidth{};  ///< per rank and direction, line rate (collisions above the leaf and Network::efficiency
                               ///< included), with every group of the axis communicating at once
  BytesPerSecond flow{};  ///< the same of few flows, that find uplinks idle but collide in them; zero = `bandwidth`
  bool reduces = false;   ///< a switch at this level can reduce (NVLS, SHARP); whether it is used is a policy
  int rings = 1;          ///< independent links of one rank at this level (torus directions, NICs of one rank)
  bool host = false;      ///< runs over the host: PCIe slots, or the link between its sockets
  std::string link;       ///< what limits it: "nvlink4", "infiniband leaf", "roce core (7:1)"
};

/// Place of every group of one axis (they are alike). The product of `ranks` is the group size; of a group that no
/// alike blocks make (13 = 7 + 6) it is that of blocks as large as the largest, at the bandwidth of the smallest.
struct GroupPlace {
  std::vector<Level> levels;  ///< levels with one rank are left out; empty for a group of one
  int size() const {
    int product = 1;
    for (const Level& level : levels) product *= level.ranks;
    return product;
  }
  /// Its ranks reach each other over the network: they have no place inside one scale-up domain, node or slice.
  bool over_network() const {
    return std::ranges::any_of(levels, [](const Level& level) { return level.kind == LevelKind::scale_out; });
  }
};

/// Place of groups of `size` ranks that are `stride` apart in rank order, ranks filling nodes in order. All groups of
/// the axis communicate at once: ranks that share a NIC or an oversubscribed uplink share its bandwidth. Groups are
/// laid inside scale-up domains wherever all of them find room (Cluster::scale_up_domains; 256 ranks sit as 4 x 64 in
/// domains of 72); those that don't are cut into the largest blocks that do, alike where that makes no part smaller.
GroupPlace place_group(const Cluster& cluster, int size, int stride);

/// Edges of the slice of a torus that `accelerators` take: as near to a cube as its divisors allow, short edges first.
/// On a 3D torus whole 4x4x4 cubes where there are enough; {accelerators} where nothing divides.
std::vector<int> torus_shape(int accelerators, int dimensions);

}  // namespace meshwright::topology
