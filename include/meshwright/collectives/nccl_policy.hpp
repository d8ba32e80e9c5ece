#pragma once
// What NCCL itself would choose: its tuner's model as a named policy. The tuner ranks algorithms and protocols; its
// times are its own estimates, not measurements (see estimate() for times).
// Source: NVIDIA NCCL 2.30.7, src/graph/tuning.cc, src/enqueue.cc, src/graph/search.cc
// (https://github.com/NVIDIA/nccl). Checked against that version's own output on 20 systems (tests/collectives).
#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "meshwright/collectives/collective.hpp"
#include "meshwright/core/reader.hpp"
#include "meshwright/hardware/cluster.hpp"
#include "meshwright/hardware/medium.hpp"

namespace meshwright::collectives {

/// In the order in which NCCL breaks ties.
enum class NcclAlgorithm { tree, ring, collnet_direct, collnet_chain, nvls, nvls_tree, pat };
inline constexpr std::size_t nccl_algorithm_count = 7;
inline constexpr std::array<std::string_view, nccl_algorithm_count> nccl_algorithm_names = {
    "Tree", "Ring", "CollNetDirect", "CollNetChain", "NVLS", "NVLSTree", "PAT"};
constexpr std::string_view name(NcclAlgorithm a) { return nccl_algorithm_names[static_cast<std::size_t>(a)]; }

/// How far two devices are apart (NCCL's path types, nearest first).
enum class NcclPath { local, nvlink, nvlink_via_gpu, c2c, pix, pxb, p2c, pxn, phb, sys, net, none };
/// Shapes that the graph search looks for.
enum class NcclPattern { balanced_tree = 1, split_tree = 2, tree = 3, ring = 4, nvls = 5, collnet_direct = 6 };

/// What NCCL's search found for one pattern. No channels = not found.
struct NcclGraph {
  NcclPattern pattern = NcclPattern::ring;
  int channels = 0;
  BytesPerSecond intra{}, inter{};  ///< of one channel, inside a domain and between them
  Seconds inter_latency{};          ///< that the NIC adds
  NcclPath intra_path = NcclPath::nvlink, inter_path = NcclPath::pix;
  bool same_channels = true;  ///< every channel visits the GPUs in the same order
};

enum class CpuVendor { intel, amd, other };

/// The communicator as the tuner sees it. A domain is a node, or an NVLink domain that spans nodes.
struct NcclGraphs {
  std::string system{}, tag{};
  int domains = 1, ranks_per_domain = 8;
  int compute_capability = 90;
  CpuVendor cpu = CpuVendor::intel;
  bool x86 = true;
  bool collnet = false;  ///< in-network reduction enabled (a CollNet plug-in such as SHARP)
  int channels = 0;      ///< of the communicator
  int version = 0;       ///< NCCL's, 2.28 as 228: an older release's numbers; 0 = the newest
  NcclGraph ring{}, tree{}, collnet_chain{}, collnet_direct{}, nvls{};

  int ranks() const { return domains * ranks_per_domain; }
};

/// NCCL_ALGO, NCCL_PROTO, NCCL_MIN_NCHANNELS, NCCL_MAX_NCHANNELS as users set them.
struct NcclForce {
  std::array<bool, nccl_algorithm_count> algorithm{true, true, true, true, true, true, true};
  std::array<bool, protocol_count> protocol{true, true, true};
  int least_channels = 0, most_channels = 0;  ///< 0 = free
};
/// Reads NCCL's list syntax for one collective: "Ring", "Tree,Ring", "^NVLS" (all but), and per collective
/// "allreduce:tree;broadcast:ring". Empty = free. Throws Error(where, ...) with the nearest spelling.
NcclForce read_nccl_force(std::string_view algorithms, std::string_view protocols, Collective collective,
                          const std::string& where);

/// "2.19.3" -> 219; 0 where the text names no version.
int nccl_version_number(std::string_view version);

/// NVLink switches reduce numbers of that type, by nccl-tests' name ("half", "int8"); an empty or unknown one counts as
/// float. What they don't goes in rings.
bool nvls_reduces(std::string_view type);

/// One algorithm and protocol: t(bytes) = latency + bytes / bandwidth, before size-dependent corrections.
struct NcclLine {
  Seconds latency{};
  BytesPerSecond bandwidth{};  ///< zero = not available
};
using NcclModel = std::array<std::array<NcclLine, protocol_count>, nccl_algorithm_count>;
/// The tuner's table for a collective. All zero for all_to_all and send_recv, for which NCCL has no model.
NcclModel nccl_model(const NcclGraphs& graphs, Collective collective);

struct NcclCandidate {
  NcclAlgorithm algorithm = NcclAlgorithm::ring;
  Protocol protocol = Protocol::simple;
  Seconds time{};
};
struct NcclChoice {
  NcclCandidate best;
  std::vector<NcclCandidate> candidates;  ///< in the order of the tie-break
  int channels = 0;                       ///< that the kernel is launched with
};
/// What NCCL picks for `bytes` (all-reduce, broadcast, reduce: the buffer; all-gather: the gathered, reduce-scatter:
/// the scattered whole). Nothing where it has no model or the forced pairs don't exist.
std::optional<NcclChoice> nccl_choice(const NcclGraphs& graphs, Collective collective, Bytes bytes,
                                      const NcclForce& force = {});

/// What NCCL's search reads off a machine. The defaults are a DGX H100.
struct NcclMachine {
  int domains = 1, ranks_per_domain = 8;
  int compute_capability = 90;
  CpuVendor cpu = CpuVendor::intel;
  bool x86 = true;
  bool nvswitch = true;     ///< switches join the GPUs of a domain; else links of their own, or PCIe
  int nvlinks = 18;         ///< per GPU; 0 = none
  int nvlinks_of_pair = 0;  ///< without switches: between two neighbours
  int nics_per_domain = 8;
  BytesPerSecond nic = BytesPerSecond::base(50e9);   ///< one NIC
  BytesPerSecond pcie = BytesPerSecond::base(48e9);  ///< x16 slot as NCCL rates it: 12, 24 or 48 GB/s
  NcclPath nic_path = NcclPath::pix;                 ///< from a GPU to its NIC
  bool nic_per_gpu = true;                           ///< a GPU and its NIC behind a PCIe switch of their own
  Seconds nic_latency{};                             ///< that the network's plug-in tells NCCL of
  bool collnet = false, nvls = true;
};
/// The graphs that the search would find: speeds from its tables, as many channels as NVLink and NICs carry, the most
/// bandwidth first. A model of the search, equal to its result (channels, speeds, patterns) on 100 of 101 recorded
/// communicators of 15 systems; graphs read from a record stand over it. Host-joined machines: one channel.
NcclGraphs nccl_graphs(const NcclMachine& machine);
/// The same for a job on the first `ranks` accelerators of a cluster (0 = all); `collnet` = in-network reduction
/// enabled. Nothing for devices without a compute capability (other vendors).
std::optional<NcclGraphs> nccl_graphs_for(const Cluster& cluster, int ranks = 0, bool collnet = false);

/// Reads a record {"record": "graphs", "system", "nodes", "ranks_per_node", "sm", "ring": {...}, ...}; nothing where
/// the record is of another kind.
std::optional<NcclGraphs> read_nccl_graphs(const Reader& record);
/// The graphs of a system by name ("dgx-h100", "gb200-nvl8", "pcie-a100-amd", ...) from the catalogue's node of that
/// name or stem and the search model; `tag` may hold "collnet" and "nvls_off". Nothing for names that lead to no node.
std::optional<NcclGraphs> nccl_graphs_of_system(std::string_view system, int domains, int ranks, std::string_view tag);

/// A record {"record": "choice", ...} of NCCL's tuner against our policy.
struct NcclChoiceCheck {
  std::string collective;
  bool choice_equal = false;
  NcclCandidate predicted{}, recorded{};  ///< recorded.time as NCCL printed it
  Seconds predicted_time{};               ///< ours for the pair that was recorded
  double time_error = 0;                  ///< predicted / recorded - 1 for that pair
  bool graphs_recorded = false;           ///< graphs came from a record; else from the search model
};
/// `known` are the graphs of the same file or folder, matched by system, nodes and tag; without a match the search
/// model stands in. Nothing where the system is unknown.
std::optional<NcclChoiceCheck> check_nccl_choice(const Reader& record, std::span<const NcclGraphs> known);

}  // namespace meshwright::collectives
