#pragma once
// Published tables of collectives (nccl-tests and kin) as JSON records, and the check of a prediction against one.
#include <optional>
#include <string>
#include <vector>

#include "meshwright/collectives/estimate.hpp"
#include "meshwright/core/reader.hpp"
#include "meshwright/hardware/catalog.hpp"

namespace meshwright::calibrate {

struct MeasuredRow {
  Bytes bytes{};  ///< nccl-tests' size column
  Seconds time{};
  CollectiveOptions options{};  ///< the table's, with the pair that NCCL's tuner chooses at this size
};

/// A record, understood: where the group sits, what was forced, what was measured.
struct CollectiveTable {
  std::string id;
  std::string source;  ///< title of the publication
  Collective collective = Collective::all_reduce;
  int ranks = 0;
  GroupPlace place;
  Platform platform;
  CollectiveOptions options;
  int least_channels = 0, most_channels = 0;  ///< NCCL_MIN_NCHANNELS, NCCL_MAX_NCHANNELS; 0 = free
  int version = 0;                            ///< NCCL's, 2.28 as 228; 0 = the newest
  /// Seconds a gathered byte spends in the framework's own copies, where a table times those too: c10d's all_gather
  /// into a list gathers flat and copies it out.
  double copied_out = 0;
  std::vector<MeasuredRow> rows;
  bool healthy = true;
  std::string skipped;  ///< the rule that leaves it out, or empty; never the size of its error
};

/// A record {"id", "source", "hardware", "ranks", "nccl_version", "env", "algo", "proto", "collective", "rows",
/// "healthy", "notes"}; unknown accelerators and collectives, custom kernels and records without two ranks are
/// `skipped` with the reason. Throws Error for a malformed record.
CollectiveTable read_collective_table(const Reader& record, const Catalog& catalog);

/// The cluster that a record ran on; nothing where its accelerator is unknown.
std::optional<Cluster> cluster_of_record(const Reader& record, const Catalog& catalog);
/// Restricts each row to the algorithm and protocol that NCCL's tuner picks there: a benchmark shows what the library
/// chose, not what would have been fastest. Where the tuner has no model (other vendors, all-to-all, PCIe boxes, pairs
/// that the medium lacks), the fastest stands. Channels that are forced change the tuner's choice, and fewer of them
/// than it would take reach as much less; a forced algorithm or protocol stands. False where the tuner had no say: then
/// forced channels have no meaning.
bool follow_tuner(CollectiveTable& table, const Cluster& cluster);

struct CheckedRow {
  Bytes bytes{};
  Seconds predicted{}, measured{};
  std::string_view algorithm, protocol;
  double error() const { return predicted / measured - 1; }  ///< +0.1: predicted 10 % too slow
};

/// Rows that bandwidth decides, and rows that latency does.
inline constexpr Bytes large_from = Bytes::base(1048576), small_to = Bytes::base(65536), no_limit = Bytes::base(1e18);

struct CollectiveCheck {
  std::string id, platform;
  Collective collective = Collective::all_reduce;
  int ranks = 0;
  std::vector<CheckedRow> rows;
  std::string skipped;
  std::string source{};
  bool leaves_domain = false;  ///< GroupPlace::over_network()
};

/// What the table's clock would show of a row, and how the library would do it.
CollectiveEstimate estimate(const CollectiveTable& table, const MeasuredRow& row, const Platform& platform);
/// Predicted beside measured, row by row.
CollectiveCheck check(const CollectiveTable& table);
CollectiveCheck check_collective_record(const Reader& record, const Catalog& catalog);

/// Errors of many rows: median and 90th percentile of the absolute relative error.
struct ErrorSummary {
  std::size_t rows = 0;
  double median = 0, p90 = 0;
};
/// Of rows whose size lies within [least, most].
ErrorSummary summarise(const std::vector<CollectiveCheck>& checks, Bytes least, Bytes most);

}  // namespace meshwright::calibrate
