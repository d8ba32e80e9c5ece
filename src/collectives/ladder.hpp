#pragma once
// A group's place as the estimator sees it: levels with their medium, and how many ranks lie below each.
#include <array>
#include <cmath>
#include <span>

#include "meshwright/hardware/platform.hpp"
#include "meshwright/topology/place.hpp"

namespace meshwright::collectives {

struct Rung {
  const Medium* medium = nullptr;
  const Level* level = nullptr;
  double below = 1;      ///< ranks of one block of the level below
  double hops = 0;       ///< hops at this level of a chain through all ranks; over all rungs they sum to p - 1
  double bandwidth = 0;  ///< per rank and direction
  double block = 0;      ///< of one block: `below` ranks' links together
  double detour = 0;     ///< latency beyond the innermost level of its kind: more switches on the way
};

struct Ladder {
  std::array<Rung, 8> storage{};
  std::size_t size = 0;
  double ranks = 1;    ///< p
  double inside = 1;   ///< ranks of one scale-up domain
  double domains = 1;  ///< scale-up domains

  std::span<const Rung> rungs() const { return {storage.data(), size}; }
  const Rung* innermost() const { return size == 0 ? nullptr : &storage[0]; }
  /// The innermost level of the network, or null.
  const Rung* network() const {
    for (const Rung& rung : rungs()) {
      if (rung.level->kind == LevelKind::scale_out) return &rung;
    }
    return nullptr;
  }
  bool switch_reduces_inside() const {
    return size > 0 && storage[0].level->kind == LevelKind::scale_up && storage[0].level->reduces &&
           storage[0].level->ranks == static_cast<int>(inside);
  }
};

/// Levels beyond eight are refused by Error; real fabrics have at most five.
Ladder make_ladder(const GroupPlace& place, const Platform& platform);

}  // namespace meshwright::collectives
