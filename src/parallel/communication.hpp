#pragma once
// Collective times of a job's cluster, each placement solved and each collective over it priced once.
#include <map>
#include <utility>

#include "meshwright/collectives/estimate.hpp"
#include "meshwright/parallel/collective_choices.hpp"
#include "meshwright/parallel/tables.hpp"

namespace meshwright::parallel {

class Communication {
 public:
  explicit Communication(const Cluster& cluster, CollectiveChoices choices = {});

  /// `bytes` as collectives/estimate counts them; no time for groups of one.
  Seconds time(Collective collective, Bytes bytes, const Group& group);
  /// The collectives of a group whose ranks share data.
  GroupCosts costs(const Group& group);
  /// The messages between the stages of a pipeline.
  GroupCosts sends(const Group& group);
  const GroupPlace& place(const Group& group);
  /// Ranks of a group that share a scale-up domain; 1 where neighbours are in different ones.
  int ranks_inside(const Group& group);
  const Platform& platform() const { return platform_; }

 private:
  const CollectivePrices& prices(Collective collective, const Group& group);
  CollectiveOptions options(Collective collective, const Group& group);

  Cluster cluster_;
  Platform platform_;
  CollectiveChoices choices_;
  std::map<Group, GroupPlace> places_;
  std::map<std::pair<Collective, Group>, CollectivePrices> prices_;  // of places_
};

}  // namespace meshwright::parallel
