#include "parallel/communication.hpp"

#include "meshwright/parallel/placement.hpp"

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

Communication::Communication(const Cluster& cluster, CollectiveChoices choices)
    : cluster_(cluster), platform_(in_step(cluster.platform)), choices_(std::move(choices)) {}

/// A forced algorithm or protocol that doesn't apply to the group leaves the choice to the library.
CollectiveOptions Communication::options(Collective collective, const Group& group) {
  CollectiveOptions forced = choices_.of(collective);
  const bool free = forced.algorithm.empty() && forced.protocol.empty();
  if (!free && !applies(collective, place(group), platform_, forced)) forced.algorithm.clear(), forced.protocol.clear();
  return forced;
}

const GroupPlace& Communication::place(const Group& group) {
  const auto found = places_.find(group);
  if (found != places_.end()) return found->second;
  return places_.emplace(group, place_of(cluster_, group)).first->second;
}

int Communication::ranks_inside(const Group& group) {
  if (!place(group).over_network()) return group.size;
  int inside = 1;
  for (const Level& level : place(group).levels) {
    if (level.kind == LevelKind::scale_up) inside *= level.ranks;
  }
  return inside;
}

const CollectivePrices& Communication::prices(Collective collective, const Group& group) {
  const auto found = prices_.find({collective, group});
  if (found != prices_.end()) return found->second;
  CollectivePrices priced(collective, place(group), platform_, options(collective, group));
  return prices_.emplace(std::pair(collective, group), std::move(priced)).first->second;
}

Seconds Communication::time(Collective collective, Bytes bytes, const Group& group) {
  if (group.size <= 1 || bytes.value() <= 0) return {};
  return prices(collective, group).time(bytes);
}

GroupCosts Communication::costs(const Group& group) {
  if (group.size <= 1) return {};
  return {.size = group.size,
          .all_gather = MessageTimes(prices(Collective::all_gather, group)),
          .reduce_scatter = MessageTimes(prices(Collective::reduce_scatter, group)),
          .all_reduce = MessageTimes(prices(Collective::all_reduce, group)),
          .send = {}};
}

GroupCosts Communication::sends(const Group& group) {
  if (group.size <= 1) return {};
  return {.size = group.size,
          .all_gather = {},
          .reduce_scatter = {},
          .all_reduce = {},
          .send = MessageTimes(prices(Collective::send_recv, group))};
}

}  // namespace meshwright::parallel
