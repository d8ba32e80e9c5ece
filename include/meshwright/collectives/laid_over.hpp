#pragma once
// A flat algorithm on a group of several levels: what each level carries.
#include <array>
#include <span>

#include "meshwright/collectives/algorithm.hpp"

namespace meshwright::collectives {

inline constexpr std::size_t most_levels = 8;
using LevelLoads = std::array<LevelLoad, most_levels>;

/// Loads of a flat row on levels of `extents` members, innermost first; `domain` ranks share a scale-up domain. From
/// the row's `across`, from its closed form on one level, else counted from its schedule. Pipelined rows: with many
/// segments for the bytes, with one for the hops. Throws Error where the schedule has more than `most_transfers`.
LevelLoads laid_over(const Algorithm& flat, std::span<const int> extents, int domain,
                     std::size_t most_transfers = 4000000);
/// The same, counted: bytes through the busiest block of each level, of all rounds together where they overlap, else of
/// each round, summed over the rounds; a round is a hop of the outermost level that it uses.
LevelLoads counted_loads(const Schedule& flat, std::span<const int> extents, int domain, bool rounds_overlap);

}  // namespace meshwright::collectives
