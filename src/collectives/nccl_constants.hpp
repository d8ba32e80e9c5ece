#pragma once
// NCCL's own numbers (data/hardware/platforms/nccl.json).
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "meshwright/collectives/nccl_policy.hpp"

namespace meshwright::collectives {

using Three = std::array<double, 3>;  ///< by protocol, or for one, two and more domains
using ByAlgorithm = std::array<Three, nccl_algorithm_count>;
constexpr std::size_t tree_correction_steps = 24;

/// What depends on the device [GB/s].
struct NcclGeneration {
  int from = 0;       ///< compute capability
  double nvlink = 0;  ///< one link
  Three ll{}, ring_ll128{}, tree_ll128{}, tree{}, nvls_tree{};
  double nvls_efficiency = 1;
  std::array<int, 2> nvls_channels{};  ///< launched for one domain, for several
  std::vector<double> intra, inter;    ///< tried by the search for one domain, for several
};

struct NcclConstants {
  ByAlgorithm base{}, nvlink{}, pcie{}, network{};  ///< latencies [us]
  std::vector<NcclGeneration> generations;
  std::array<std::array<double, tree_correction_steps>, protocol_count> tree_correction{};
  int nvls_heads = 0, search_channels = 0;
  std::array<double, 2> ring_ll{};      ///< of a ring's bandwidth: an all-reduce or several domains, else
  double nvls_ratio = 0;                ///< algbw / busbw of reducing switches; 0 = from what their ports carry
  std::vector<std::string> nvls_lacks;  ///< types of nccl-tests
  std::vector<std::pair<std::string, double>> plugin_latency;  ///< of a hop over a medium, as its plug-in tells it [us]
};

/// Of a release (2.28 is 228); 0 = the newest.
const NcclConstants& nccl_constants(int version = 0);
/// The generation of a compute capability.
const NcclGeneration& nccl_generation(int compute_capability, int version = 0);

}  // namespace meshwright::collectives
