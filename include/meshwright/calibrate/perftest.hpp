#pragma once
// What perftest prints (ib_write_bw, ib_read_bw, ib_send_bw): the raw rate of one pair of NICs, which no collective
// exceeds.
#include <string>
#include <string_view>
#include <vector>

#include "meshwright/core/quantity.hpp"
#include "meshwright/hardware/cluster.hpp"

namespace meshwright::calibrate {

struct PerftestRow {
  Bytes bytes{};
  BytesPerSecond peak{}, average{};
};

/// One run of one program. What a shortened log lacks stays empty.
struct PerftestLog {
  std::string file;
  std::string test;    ///< "RDMA_Write BW Test"
  std::string device;  ///< "mlx5_0"
  std::vector<PerftestRow> rows;

  /// The best average of all sizes.
  BytesPerSecond best() const;
};

/// True where `text` has perftest's header of columns ("BW average[MB/sec]" or "BW average[Gb/sec]").
bool is_perftest_log(std::string_view text);
/// Parses a log. MB/sec are 2^20 bytes a second (perftest's own conversion), Gb/sec are 1e9 bits (--report_gbits).
/// Rows of --bidirectional runs count both directions: halved. Throws Error(name, ...) without a row.
PerftestLog read_perftest_log(std::string_view text, std::string name);

}  // namespace meshwright::calibrate
