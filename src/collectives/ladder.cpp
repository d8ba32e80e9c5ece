#include "collectives/ladder.hpp"

#include "meshwright/core/error.hpp"

namespace meshwright::collectives {
namespace {

const Medium& medium_of(const Level& level, const Platform& platform) {
  if (level.kind == LevelKind::scale_out) return platform.scale_out;
  const bool on_host = level.link.starts_with("pcie") || level.link.starts_with("socket");
  return on_host ? platform.host : platform.scale_up;
}

}  // namespace

Ladder make_ladder(const GroupPlace& place, const Platform& platform) {
  Ladder ladder;
  if (place.levels.size() > ladder.storage.size()) throw Error("place", "a group's place has more than eight levels");
  double first_latency[2] = {-1, -1};
  for (const Level& level : place.levels) {
    Rung& rung = ladder.storage[ladder.size++];
    rung.medium = &medium_of(level, platform);
    rung.level = &level;
    rung.below = ladder.ranks;
    rung.bandwidth = level.bandwidth.value();
    rung.block = rung.below * rung.bandwidth;
    double& first = first_latency[level.kind == LevelKind::scale_out];
    if (first < 0) first = level.latency.value();
    rung.detour = std::fmax(0, level.latency.value() - first);
    ladder.ranks *= level.ranks;
    if (level.kind == LevelKind::scale_up) ladder.inside *= level.ranks;
  }
  ladder.domains = ladder.ranks / ladder.inside;
  for (std::size_t i = 0; i < ladder.size; ++i) {
    Rung& rung = ladder.storage[i];
    rung.hops = ladder.ranks / rung.below - ladder.ranks / (rung.below * rung.level->ranks);
  }
  return ladder;
}

}  // namespace meshwright::collectives
