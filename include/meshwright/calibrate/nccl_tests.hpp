#pragma once
// The text that nccl-tests (and rccl-tests) print, read as tables.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "meshwright/calibrate/collective_records.hpp"

namespace meshwright::calibrate {

/// One run of one *_perf program. What a shortened log lacks stays empty.
struct NcclTestsLog {
  std::string file;
  std::optional<Collective> collective;  ///< from the program's name, else from busbw / algbw
  int ranks = 0, nodes = 0;              ///< from the "Rank" lines, else ranks from busbw / algbw
  std::string accelerator;               ///< as the "Rank" lines print it, "NVIDIA H100 80GB HBM3"
  std::string version;                   ///< "2.19.3" where NCCL_DEBUG printed it
  std::vector<MeasuredRow> rows;         ///< out of place
  bool in_rings = false;                 ///< of a type that NVLink switches don't reduce (int8)
  std::vector<std::string> remarks;      ///< NCCL's own lines (NCCL INFO / WARN), for diagnose()
};

/// Parses a log, or the table that `meshwright collective` prints. Rows are lines of "size count type [redop] [root]
/// time algbw busbw ...", with or without the in-place columns, behind any prefix that a launcher adds ("0: ",
/// "[1,0]<stdout>:"). Throws Error(name, ...) without a row.
NcclTestsLog read_nccl_tests_log(std::string_view text, std::string name);
/// A table of the log on a cluster. Collective and ranks must be known: from the log or as given (0 = the log's).
CollectiveTable table_of_log(const NcclTestsLog& log, const Cluster& cluster, std::optional<Collective> collective = {},
                             int ranks = 0);
/// The cluster that a log's "Rank" lines show, with the accelerator's usual node; nothing where they are missing.
std::optional<Cluster> cluster_of_log(const NcclTestsLog& log, const Catalog& catalog);

}  // namespace meshwright::calibrate
