#include "collectives/ladder.hpp"

#include <algorithm>

#include "meshwright/core/error.hpp"

namespace meshwright::collectives {
namespace {

const Medium& medium_of(const Level& level, const Platform& platform) {
  if (level.kind == LevelKind::scale_out) return platform.scale_out;
  return level.host ? platform.host : platform.scale_up;
}

}  // namespace

int Ladder::ranks_of(const Run& run) const {
  int product = 1;
  for (const int extent : extents_of(run)) product *= extent;
  return product;
}

Run Ladder::run(std::size_t first, std::size_t last) const {
  int below = 1;
  for (std::size_t i = 0; i < first; ++i) below *= extents[i];
  return {first, last, below};
}

bool Ladder::torus() const {
  return size > 0 && size <= level_limit &&
         std::ranges::all_of(rungs(), [](const Rung& r) { return !r.network() && r.level->rings == 2; });
}

Ladder make_ladder(const GroupPlace& place, const Platform& platform) {
  Ladder ladder;
  if (place.levels.size() > most_levels) throw Error("place", "a group's place has more than eight levels");
  double first_latency[2] = {-1, -1};
  for (const Level& level : place.levels) {
    Rung& rung = ladder.storage[ladder.size];
    rung.medium = &medium_of(level, platform);
    rung.level = &level;
    double& first = first_latency[rung.network()];
    if (first < 0) first = level.latency.value();
    rung.detour = std::fmax(0, level.latency.value() - first);
    ladder.extents[ladder.size++] = level.ranks;
    ladder.ranks *= level.ranks;
    if (rung.network()) continue;
    ladder.domain_levels = ladder.size;
    ladder.inside *= level.ranks;
  }
  return ladder;
}

}  // namespace meshwright::collectives
