#pragma once
// Where a group of ranks sits in the fabric: what collectives need to know of a topology, and nothing else.
#include <string>
#include <vector>

#include "meshwright/core/quantity.hpp"
#include "meshwright/hardware/node.hpp"

namespace meshwright {

enum class LevelKind { scale_up, scale_out };

/// One level of a group's place, innermost first. A level joins `ranks` members (of the level below: whole blocks).
struct Level {
  LevelKind kind = LevelKind::scale_up;
  int ranks = 1;
  Seconds latency{};           ///< wire and switches between two neighbours at this level, one way
  BytesPerSecond bandwidth{};  ///< per rank and direction, with every group of the axis communicating at once
  bool reduces = false;        ///< a switch at this level can reduce (NVLS, SHARP)
  int rings = 1;               ///< independent links of one rank at this level (torus dimensions, rails)
  std::string link;            ///< what limits it: "nvlink4", "infiniband-ndr leaf", "spine (3:1)"
};

/// Place of every group of one axis (they are alike). The product of `ranks` is the group size.
struct GroupPlace {
  std::vector<Level> levels;  ///< levels with one rank are left out; empty for a group of one
  int size() const {
    int product = 1;
    for (const Level& level : levels) product *= level.ranks;
    return product;
  }
};

/// Place of groups of `size` ranks that are `stride` apart in rank order, ranks filling nodes in order. All groups of
/// the axis communicate at once: ranks that share a NIC or an oversubscribed uplink share its bandwidth.
GroupPlace place_group(const Cluster& cluster, int size, int stride);

}  // namespace meshwright
