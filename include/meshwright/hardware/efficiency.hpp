#pragma once
// What was measured of a device: parameters of the kernel models in cost/. They belong to a device (or its class),
// never to a run or a model; `meshwright calibrate gemm` reproduces the fits.
#include <array>
#include <string>

#include "meshwright/core/dtype.hpp"
#include "meshwright/core/quantity.hpp"
#include "meshwright/hardware/provenance.hpp"

namespace meshwright {

/// Matrix multiplication in one dtype; cost/kernel.hpp has the formula that these parameters enter.
struct GemmEfficiency {
  double ceiling = 0;    ///< best measured rate over dense peak, short bursts; 0 = not known for this dtype
  double sustained = 1;  ///< rate under a training step's power and clocks over the short-burst rate
  Seconds floor{};       ///< time of the smallest launch
  double tile_m = 128, tile_n = 128;  ///< largest output tile of one SM (pair); quantisation and waves follow from it
  double k_half = 0;                  ///< k at which half of the ceiling is reached (prologue and epilogue)
  Evidence evidence = Evidence::data_sheet;
  std::string source;
};

/// Fused (flash) attention: fraction of the dense peak, causal-halved FLOPs, at long sequences.
struct AttentionEfficiency {
  double forward = 0, backward = 0;          ///< for head_dim >= 128
  double forward_d64 = 0, backward_d64 = 0;  ///< for head_dim <= 64; between, linear
  double seq_half = 0;                       ///< sequence length at which half of it is reached
  Seconds floor{};
  Evidence evidence = Evidence::data_sheet;
  std::string source;
};

struct MemoryEfficiency {
  double fraction = 0.8;  ///< achieved over data-sheet bandwidth for streaming kernels
  Seconds floor{};        ///< time of the smallest memory-bound kernel
  Evidence evidence = Evidence::data_sheet;
  std::string source;
};

struct DeviceEfficiency {
  std::array<GemmEfficiency, dtype_count> gemm{};
  AttentionEfficiency attention;
  MemoryEfficiency memory;

  const GemmEfficiency& of(DType t) const { return gemm[static_cast<std::size_t>(t)]; }
  GemmEfficiency& of(DType t) { return gemm[static_cast<std::size_t>(t)]; }
};

}  // namespace meshwright
