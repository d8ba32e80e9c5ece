#pragma once
// The time of a collective on a group's place: every algorithm and protocol that applies, the fastest chosen.
#include <string>
#include <string_view>
#include <vector>

#include "meshwright/collectives/collective.hpp"
#include "meshwright/hardware/platform.hpp"
#include "meshwright/topology/place.hpp"

namespace meshwright::collectives {

/// What a user may force, as NCCL_ALGO and NCCL_PROTO do; empty = free.
struct CollectiveOptions {
  std::string algorithm, protocol;
  bool nvls = true;      ///< NCCL_NVLS_ENABLE: reduction in the scale-up switch, where it can
  bool collnet = false;  ///< NCCL_COLLNET_ENABLE: reduction in the network's switches, where they can; off as in NCCL
};

struct CollectiveEstimate {
  Seconds time{};
  std::string_view algorithm;  ///< "ring", "tree", "nvls", "nvls_tree", "collnet", "pairwise", "direct"
  std::string_view protocol;   ///< "LL", "LL128", "Simple"
  std::string limiting_link;   ///< the level whose bandwidth or latency dominates
  Seconds latency{};           ///< the part that does not depend on the size
  Seconds wire{};              ///< bytes over the limiting level's achieved bandwidth; the rest is pipeline fill
};

/// `bytes` as nccl-tests' size column: the buffer (all-reduce, broadcast, reduce, send_recv), the gathered or scattered
/// whole (all-gather, reduce-scatter), one rank's send buffer (all-to-all). A group of one takes no time.
/// Throws Error for an algorithm that does not exist or does not apply when forced.
CollectiveEstimate estimate(Collective collective, Bytes bytes, const GroupPlace& place, const Platform& platform,
                            const CollectiveOptions& options = {});
/// True where some candidate is left under the options; false also for names that don't exist.
bool applies(Collective collective, const GroupPlace& place, const Platform& platform,
             const CollectiveOptions& options);
/// Every candidate that applies, fastest first.
std::vector<CollectiveEstimate> candidates(Collective collective, Bytes bytes, const GroupPlace& place,
                                           const Platform& platform, const CollectiveOptions& options = {});

}  // namespace meshwright::collectives
