#pragma once
// What was measured of a device: parameters of the kernel models in cost/. They belong to a device (or its class),
// never to a run or a model; `meshwright calibrate gemm` reproduces the fits.
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "meshwright/core/dtype.hpp"
#include "meshwright/core/quantity.hpp"
#include "meshwright/hardware/provenance.hpp"

namespace meshwright::hardware {

/// Matrix multiplication in one dtype; cost/kernel.hpp has the formula that these parameters enter.
struct GemmEfficiency {
  double ceiling = 0;        ///< rate of large products over dense peak, short bursts; 0 = not known for this dtype
  double sustained = 1;      ///< rate under a training step's power and clocks over the short-burst rate
  double fade = 0;           ///< a benchmark that loops one long kernel: burst rate falls to ceiling / (1 + fade)
  Seconds floor{};           ///< time of the smallest launch
  double k_half = 0;         ///< k at which half of the ceiling is reached (prologue and epilogue of a tile)
  Seconds k_step{};          ///< serial time per element of k: a tile's own loop, felt where few tiles run
  double memory = 0.85;      ///< operand streams over data-sheet memory bandwidth
  Seconds cast_floor{};      ///< quantising the activations first: its launches ...
  double cast_memory = 0.5;  ///< ... and its streams over data-sheet memory bandwidth
  /// Compute time where rows of an operand or the result start at multiples of 8, 4 and 2 bytes only, over that at 16:
  /// loads are no longer vectors, and stop feeding the matrix units.
  std::array<double, 3> misaligned{1, 1, 1};
  std::optional<DType> taken_from{};  ///< the format of the device whose figures these are, for want of its own
  Evidence evidence = Evidence::data_sheet;
  std::string source;
};

/// Fused (flash) attention; cost/kernel.hpp has the formula. Matrix work and the softmax's exponentials overlap in
/// part.
struct AttentionEfficiency {
  double forward = 0;   ///< matrix rate over dense peak, causal-halved FLOPs, long sequences, wide heads
  double backward = 0;  ///< the same of the backward pass (2.5x the forward's FLOPs); 0 = forward-only kernel
  double softmax = 0;   ///< query-key pairs a second that the exponential units allow; 0 = no bound
  double seq_half = 0;  ///< causal sequence at which half of the rate is reached (diagonal blocks, ramps)
  double memory = 0.8;  ///< streams of q, k, v and the output over data-sheet memory bandwidth
  Seconds floor{};      ///< time of the smallest launch
  Seconds seq_step{};   ///< serial time per key, felt where few tiles run
  Evidence evidence = Evidence::data_sheet;
  std::string source;
};

struct MemoryEfficiency {
  double fraction = 0.8;  ///< achieved over data-sheet bandwidth for streaming kernels
  Seconds floor{};        ///< time of the smallest memory-bound kernel
  Evidence evidence = Evidence::data_sheet;
  std::string source;
};

/// A format whose kernels differ much by library: used for timings that name the library, never for training steps.
struct LibraryGemm {
  std::string library;  ///< "trtllm", "sglang"
  std::string format;   ///< "fp4"
  GemmEfficiency efficiency;
};

struct DeviceEfficiency {
  std::array<GemmEfficiency, dtype_count> gemm{};
  GemmEfficiency gemm_fp8_block;     ///< fp8 with scales per block of 128; ceiling 0 = as fp8
  AttentionEfficiency attention;     ///< the device's best kernels of training stacks, bf16
  AttentionEfficiency attention_v2;  ///< FlashAttention-2, where it is slower; forward 0 = as `attention`
  AttentionEfficiency prefill;       ///< kernels of inference stacks, forward only, bf16; forward 0 = not known
  AttentionEfficiency prefill_fp8;   ///< the same with an fp8 key-value cache, fraction of the fp8 peak
  MemoryEfficiency memory;
  std::vector<LibraryGemm> gemm_by_library;

  const GemmEfficiency& of(DType t) const { return gemm[static_cast<std::size_t>(t)]; }
  GemmEfficiency& of(DType t) { return gemm[static_cast<std::size_t>(t)]; }
  /// By the format of the key-value cache.
  const AttentionEfficiency& prefill_of(DType cache) const { return cache == DType::fp8 ? prefill_fp8 : prefill; }
  AttentionEfficiency& prefill_of(DType cache) { return cache == DType::fp8 ? prefill_fp8 : prefill; }
};

}  // namespace meshwright::hardware
