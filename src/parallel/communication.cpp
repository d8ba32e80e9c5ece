#include "parallel/communication.hpp"

#include <algorithm>

namespace meshwright::parallel {
namespace {

Medium beside_compute(Medium medium) {
  for (Rate& rate : medium.ring) rate.efficiency *= medium.in_step;
  medium.in_switch.efficiency *= medium.in_step;
  medium.all_to_all.ll.efficiency *= medium.in_step;
  medium.all_to_all.simple.efficiency *= medium.in_step;
  medium.point_to_point.efficiency *= medium.in_step;
  return medium;
}

/// The platform as a training step meets it.
Platform in_step(Platform platform) {
  platform.scale_up = beside_compute(platform.scale_up);
  platform.scale_out = beside_compute(platform.scale_out);
  return platform;
}

}  // namespace

Communication::Communication(const Cluster& cluster) : cluster_(cluster), platform_(in_step(cluster.platform)) {}

const GroupPlace& Communication::place(const Group& group) {
  const auto found = places_.find(group);
  if (found != places_.end()) return found->second;
  const bool whole = group.block <= 0 || group.block >= group.size;
  GroupPlace place = place_group(cluster_, whole ? group.size : group.block, group.stride);
  if (!whole)
    std::ranges::move(place_group(cluster_, group.size / group.block, group.jump).levels,
                      std::back_inserter(place.levels));
  return places_.emplace(group, std::move(place)).first->second;
}

int Communication::ranks_inside(const Group& group) {
  int inside = 1;
  for (const Level& level : place(group).levels) {
    if (level.kind == LevelKind::scale_up) inside *= level.ranks;
  }
  return inside;
}

Seconds Communication::time(Collective collective, Bytes bytes, const Group& group) {
  if (group.size <= 1 || bytes.value() <= 0) return {};
  return estimate(collective, bytes, place(group), platform_).time;
}

Affine Communication::affine(Collective collective, Bytes typical, const Group& group) {
  const Seconds small = time(collective, typical / 2, group), large = time(collective, typical, group);
  const SecondsPerByte slope = (large - small) / (typical / 2);
  return {std::max(Seconds{}, large - typical * slope), slope};
}

GroupCosts Communication::costs(const Group& group, Bytes typical) {
  if (group.size <= 1) return {};
  return {.size = group.size,
          .all_gather = affine(Collective::all_gather, typical, group),
          .reduce_scatter = affine(Collective::reduce_scatter, typical, group),
          .all_reduce = affine(Collective::all_reduce, typical, group),
          .send = affine(Collective::send_recv, typical, group)};
}

}  // namespace meshwright::parallel
