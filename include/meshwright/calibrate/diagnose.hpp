#pragma once
// What a measured table that falls short is consistent with, and the check that would tell.
#include <string>
#include <vector>

#include "meshwright/calibrate/collective_records.hpp"

namespace meshwright::calibrate {

/// What is known of a run. Only the cluster is needed; the more is given, the sharper the answer.
struct Observation {
  Cluster cluster;
  Collective collective = Collective::all_reduce;
  int ranks = 0;                  ///< 0 = the whole cluster
  std::vector<MeasuredRow> rows;  ///< measured
  CollectiveOptions options;      ///< forced
  /// Lines of NCCL_DEBUG=INFO, of the environment (NCCL_X=y), of lspci, and what people say of the machine ("VM").
  std::vector<std::string> lines;
  BytesPerSecond raw_rdma{};        ///< ib_write_bw, all NICs of a node together; zero = not measured
  BytesPerSecond busbw{};           ///< where only a plateau is known, not rows
  BytesPerSecond one_node_busbw{};  ///< the same collective inside one node
  double scaling = 0;               ///< throughput per device on several nodes over that on one; 0 = not known
  bool unstable = false;            ///< varies from run to run
};

/// One cause that fits.
struct LikelyCause {
  std::string cause;   ///< "tcp_sockets", "gdr_off", "acs_on", "one_nic", "nvls_off", "missing_net_plugin", ...
  std::string reason;  ///< what it is concluded from
  std::string check;   ///< the command or place that would tell
  double misfit = 0;   ///< mean |log(measured / predicted under this cause)|; 0 = a direct sign, not a fit
};

struct Diagnosis {
  bool healthy = true;     ///< within a quarter of the prediction throughout, and no sign of trouble
  double plateau = 0;      ///< measured over predicted bandwidth at the largest size; 0 = no rows
  double latency = 0;      ///< measured over predicted time at the smallest size
  Bytes shortfall_from{};  ///< the smallest size from which measured time stays 30 % above predicted; zero = nowhere
  std::string summary;     ///< one sentence
  std::vector<LikelyCause> findings;  ///< direct signs first, then fits, best first
};

/// Signs in the text are taken at their word; causes that change a bandwidth are each predicted anew (one NIC, sockets,
/// no NVLS, ...) and kept where the measured rows fit them and not the healthy prediction.
Diagnosis diagnose(const Observation& observation);

}  // namespace meshwright::calibrate
