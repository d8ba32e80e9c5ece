#pragma once
// From which figure on a measurement speaks for a cause. Each with its source, or with what it was chosen by.
#include <string_view>

namespace meshwright::calibrate {

/// Shares of what is predicted, or of line rate.
struct DiagnosisThresholds {
  // Predictions of sound machines lie within a quarter in nine of ten published tables (docs/accuracy-collectives.md).
  double sound = 0.75;   ///< at the largest size: enough, where nothing else is wrong
  double better = 1.25;  ///< more is said to be better than predicted
  double longer = 1.3;   ///< times of a row that falls short: a quarter of bandwidth
  // Chosen on the reported problems of the collective records: causes that were found are named, sound tables are not
  // (Diagnose.* in tests/calibrate/diagnose_test.cpp).
  double fits = 0.35;          ///< mean |log(measured / predicted)| of a cause, at most
  double fits_better = 0.6;    ///< of the healthy prediction's, at most
  double late = 2;             ///< times the predicted time of the smallest row: latency that isn't the fabric's
  double no_fast_path = 0.15;  ///< less than any RDMA or NVLink path reaches: half of a quarter (a slot at x4 of x16)
  // perftest's ib_write_bw reaches 92 to 98 % of line rate on a sound port (NVIDIA, "Basic performance tuning": 97 % of
  // NDR and HDR); four fifths leave room for RoCE's headers and an MTU of 1024.
  double raw_link = 0.8;
  // Weak scaling over two to eight nodes of published jobs keeps 0.8 and more of one node's throughput.
  double scaling = 0.7;
  double unstable_reach = 0.8;  ///< a run that varies and still reaches more isn't held back by its connections

  // What a cause leaves of the NICs' rate.
  double staged = 0.5;        ///< through host memory: in and out of it over the same links
  double collisions = 0.6;    ///< hashed flows (topology/tiers.cpp, routing_efficiency: 0.62)
  double narrow_slot = 0.25;  ///< a slot that came up at x4 of x16, or two generations down
};
inline constexpr DiagnosisThresholds thresholds{};

/// Causes that code asks for.
namespace cause {
inline constexpr std::string_view sockets = "tcp_sockets", peer_access = "p2p_off", host_staging = "gdr_off",
                                  slow_network = "slow_network", extensions = "ece";
}  // namespace cause

}  // namespace meshwright::calibrate
