#pragma once
// How a network deals with links that too many flows want: named profiles of lossless Ethernet, its rate control,
// spraying transports and InfiniBand, and what each leaves of the ideal on a fabric.
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "meshwright/hardware/provenance.hpp"
#include "meshwright/topology/flows.hpp"

namespace meshwright::capacity {

/// A row of data/capacity/congestion.json.
struct CongestionProfile {
  std::string name, title;
  std::string routing;        ///< of topology/routing.hpp
  int queue_pairs = 1;        ///< of one pair of ranks, each hashed by itself where routing hashes
  bool head_of_line = false;  ///< a full queue stops its whole input port: flows elsewhere behind it wait too
  double control = 1;         ///< rate that the sender's control settles at over the fair share
  std::vector<hardware::Provenance> sources;
};
const std::vector<CongestionProfile>& congestion_profiles();
/// A profile by name; Error(where, ...) with the nearest spelling.
const CongestionProfile& congestion_profile(std::string_view name, const std::string& where);

/// Rates of concurrent flows over those on an ideal network, which spreads each evenly over all its paths.
struct CongestionShares {
  double slowest = 1, mean = 1;
  double victims = 0;  ///< share of flows slowed by queues that they don't lead to
};

/// The flows under a profile, as a fluid: without head-of-line blocking every flow gets its max-min fair share along
/// its route; with it senders begin at line rate, and a link that is offered more than it carries slows everything that
/// enters through the ports behind it, in proportion, back to the senders (priority flow control: a paused port pauses
/// all of its class). `seed` is that of the hash.
CongestionShares congestion(const topology::Fabric& fabric, std::span<const topology::Flow> flows,
                            const CongestionProfile& profile, std::uint64_t seed = 1);

}  // namespace meshwright::capacity
