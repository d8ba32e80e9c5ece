#pragma once
// What a job forces of its collective library, as NCCL_ALGO, NCCL_PROTO, NCCL_NVLS_ENABLE and NCCL_COLLNET_ENABLE do.
#include <array>
#include <string>

#include "meshwright/collectives/estimate.hpp"
#include "meshwright/core/reader.hpp"

namespace meshwright::parallel {

/// A forced algorithm or protocol counts where it applies to a group; elsewhere the library chooses.
struct CollectiveChoices {
  CollectiveOptions all;                                ///< for every collective
  std::array<std::string, collective_count> algorithm;  ///< of one collective, over that of `all`; "" = as `all`
  CollectiveOptions of(Collective collective) const;
  bool empty() const;
};

/// {"algorithm": "ring" or {"all_reduce": "tree", ...}, "protocol": "LL128", "nvls": false, "sharp": true}. Throws
/// Error with the nearest spelling for names that no row of the table and no library has.
CollectiveChoices read_collective_choices(const Reader& reader);

}  // namespace meshwright::parallel
