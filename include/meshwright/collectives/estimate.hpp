#pragma once
// The calibrated evaluator: rows of the algorithm table priced by what a collective library reaches on each medium.
// T = base + own block's copy + hops and wire + fill of the slowest level, where hops h are the sum over levels of hops
// (step + detour), wire w is a level's bytes over its achieved bandwidth, fill 2 sqrt(ramp w), or ramp times the rounds
// of capped chunks in a reducing switch. Where bytes stream through the hops both count as hypot(h, w), else h + w.
#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "meshwright/collectives/laid_over.hpp"
#include "meshwright/hardware/platform.hpp"
#include "meshwright/topology/place.hpp"

namespace meshwright::collectives {

/// What a user may force, as NCCL_ALGO and NCCL_PROTO do; empty = free.
struct CollectiveOptions {
  std::string algorithm;  ///< a row of the table, a family of them ("collnet"), or another library's name for one
  std::string protocol;   ///< "LL", "LL128", "Simple"
  bool nvls = true;       ///< NCCL_NVLS_ENABLE: reduction in the scale-up switch, where it can
  bool collnet = false;   ///< NCCL_COLLNET_ENABLE: reduction in the network's switches, where they can; off as in NCCL
  /// Channels over those that the library would take (NCCL_MAX_NCHANNELS): what they reach falls with them.
  double channel_share = 1;
  const Algorithm* beside = nullptr;     ///< a row beside the table, taken as if it stood in it
  int token_nodes = 0, token_ranks = 0;  ///< node-limited exchanges: nodes of a token, and ranks in each of them

  friend bool operator==(const CollectiveOptions&, const CollectiveOptions&) = default;
};

struct CollectiveEstimate {
  Seconds time{};
  std::string_view algorithm;  ///< the row's name; "none" for a group of one
  std::string_view protocol;   ///< "LL", "LL128", "Simple"
  std::string limiting_link;   ///< the level whose bandwidth or latency dominates
  Seconds latency{};           ///< the part that does not depend on the size
  Seconds wire{};              ///< bytes over the achieved bandwidths; both overlap, the rest is pipeline fill
};

/// One row under one protocol on one group: time as a function of the bytes alone.
struct RowPrice {
  const Algorithm* row = nullptr;
  Protocol protocol = Protocol::simple;
  bool at_once = true;           ///< levels overlap, and the bytes of a hop stream into the next one
  double launch = 0, copy = 0;   ///< seconds; seconds per byte
  std::size_t levels = 0;        ///< of the group
  std::size_t slowest_hops = 0;  ///< the level with most latency
  double hops = 0;               ///< seconds, of all levels
  std::array<double, most_levels> per_byte{}, ramp{};
  std::array<double, most_levels> lanes{};  ///< that capped chunks move in at once; 0 = not capped

  double seconds(double bytes) const noexcept;
};

/// Every row that applies to a collective of a group, priced; then times are arithmetic, without allocation. Refers to
/// the place that it was made of.
class CollectivePrices {
 public:
  /// Rows that the platform's library has, or the one that is forced, whoever has it. Throws Error for a name that
  /// doesn't exist or a row that doesn't apply.
  CollectivePrices(Collective collective, const GroupPlace& place, const Platform& platform,
                   const CollectiveOptions& options = {});

  std::span<const RowPrice> rows() const noexcept { return {rows_.data(), size_}; }
  /// Of the fastest row; no time for a group of one.
  Seconds time(Bytes bytes) const noexcept;
  CollectiveEstimate estimate(Bytes bytes) const;
  /// Of every row, fastest first.
  std::vector<CollectiveEstimate> candidates(Bytes bytes) const;

 private:
  CollectiveEstimate told(const RowPrice& row, Bytes bytes) const;

  const GroupPlace* place_;
  std::array<RowPrice, 48> rows_{};
  std::size_t size_ = 0;
};

/// `bytes` as nccl-tests' size column: the buffer (all-reduce, broadcast, reduce, send_recv), the gathered or scattered
/// whole (all-gather, reduce-scatter), one rank's send buffer (all-to-all), a rank's tokens counted once (node-limited
/// exchanges). A group of one takes no time. Throws Error for a name that doesn't exist or a row that doesn't apply.
CollectiveEstimate estimate(Collective collective, Bytes bytes, const GroupPlace& place, const Platform& platform,
                            const CollectiveOptions& options = {});
/// True where some row is left under the options; false also for names that don't exist.
bool applies(Collective collective, const GroupPlace& place, const Platform& platform,
             const CollectiveOptions& options);
/// Every row that applies, fastest first.
std::vector<CollectiveEstimate> candidates(Collective collective, Bytes bytes, const GroupPlace& place,
                                           const Platform& platform, const CollectiveOptions& options = {});

}  // namespace meshwright::collectives
