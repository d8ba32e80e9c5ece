#pragma once
// A group's place as the calibrated evaluator sees it: levels with their medium, and how many ranks lie below each.
#include <array>
#include <cmath>
#include <span>

#include "meshwright/collectives/laid_over.hpp"
#include "meshwright/hardware/platform.hpp"
#include "meshwright/topology/place.hpp"

namespace meshwright::collectives {

struct Rung {
  const Medium* medium = nullptr;
  const Level* level = nullptr;
  double detour = 0;  ///< latency beyond the innermost level of its kind: more switches on the way
  bool network() const { return level->kind == LevelKind::scale_out; }
};

/// Levels first .. last - 1 of a ladder, `below` ranks below them.
struct Run {
  std::size_t first = 0, last = 0;
  int below = 1;
  std::size_t size() const { return last - first; }
};

struct Ladder {
  std::array<Rung, most_levels> storage{};
  std::array<int, most_levels> extents{};
  std::size_t size = 0;
  std::size_t domain_levels = 0;  ///< of the scale-up domain, innermost
  int ranks = 1, inside = 1;      ///< of the group; of one scale-up domain

  std::span<const Rung> rungs() const { return {storage.data(), size}; }
  std::span<const int> extents_of(const Run& run) const { return {extents.data() + run.first, run.size()}; }
  int ranks_of(const Run& run) const;
  int domains() const { return ranks / inside; }
  bool crosses_network() const { return domain_levels < size; }
  Run whole() const { return {0, size, 1}; }
  /// Levels [first, last) with what lies below them.
  Run run(std::size_t first, std::size_t last) const;
  /// The group covers whole rings of a torus: a level each dimension, both ways round.
  bool torus() const;
};

/// Levels beyond eight are refused by Error; real fabrics have at most five.
Ladder make_ladder(const GroupPlace& place, const Platform& platform);

}  // namespace meshwright::collectives
