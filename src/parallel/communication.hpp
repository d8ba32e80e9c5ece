#pragma once
// Collective times of a job's cluster, each placement solved once.
#include <map>

#include "meshwright/collectives/estimate.hpp"
#include "meshwright/parallel/tables.hpp"

namespace meshwright::parallel {

class Communication {
 public:
  explicit Communication(const Cluster& cluster);

  /// `bytes` as collectives/estimate counts them; no time for groups of one.
  Seconds time(Collective collective, Bytes bytes, const Group& group);
  /// The group's collectives as base + bytes * per_byte around messages of `typical` bytes.
  GroupCosts costs(const Group& group, Bytes typical);
  const GroupPlace& place(const Group& group);
  /// Ranks of a group that share a scale-up domain; 1 where neighbours are in different ones.
  int ranks_inside(const Group& group);
  const Platform& platform() const { return platform_; }

 private:
  Affine affine(Collective collective, Bytes typical, const Group& group);

  Cluster cluster_;
  Platform platform_;
  std::map<Group, GroupPlace> places_;
};

}  // namespace meshwright::parallel
