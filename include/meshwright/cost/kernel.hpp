#pragma once
// Time of one kernel on one device: roofline with the efficiencies that were measured (hardware/efficiency.hpp).
// Formulas, sources and accuracy: docs/models.md, "Kernels".
#include "meshwright/hardware/accelerator.hpp"

namespace meshwright::cost {

/// Short bursts run faster than a training step does: power limits. Steps use `sustained`; a benchmark that loops one
/// kernel is `burst`, and slows down as its kernel gets longer (`fade`).
enum class Clocks { burst, sustained };

struct Gemm {
  double m = 0, n = 0, k = 0;
  double groups = 1;  ///< independent products of this shape in one launch (grouped or batched GEMM)
  DType dtype = DType::bf16;
  bool block_scaled = false;  ///< fp8 with a scale per block of 128 instead of one per tensor
  double result_bytes = 0;    ///< read and written of each result; 0 = it is written in 16 bits or its own format
  int aligned = 16;           ///< bytes that rows of A, B and C start at multiples of: 16, 8, 4 or 2
  bool cast = false;          ///< quantise A (m x k) from bf16 first, in a kernel of its own
};

/// Seconds of C(m,n) = A(m,k) B(k,n):
///   floor + k_step k + (compute^3 + memory^3)^(1/3) [+ cast].
/// compute = min over output tiles of waves * SMs * tile * 2 (k + k_half) / rate: partial tiles and partial waves are
/// paid for, small tiles run at a lower rate, and so do rows that are not aligned to 16 bytes. memory = operands and
/// result once over the achieved bandwidth. Monotone in m, n, k and groups at one alignment; never faster than peak or
/// bandwidth allow; zero work takes zero time. Ignores operands left in cache by an earlier kernel and the layout of
/// the operands. tests/cost/kernel_test.cpp checks the laws, `meshwright validate` the published points.
Seconds gemm_time(const Gemm& gemm, const Accelerator& device, Clocks clocks = Clocks::sustained);
/// The same with the efficiency of another library than the device's usual one.
Seconds gemm_time(const Gemm& gemm, const Accelerator& device, const GemmEfficiency& efficiency, Clocks clocks);

struct AttentionShape {
  double batch = 1, heads = 1, kv_heads = 1;
  double seq_q = 0, seq_kv = 0;
  double head_dim = 128, v_head_dim = 128;
  bool causal = true;
  int window = 0;     ///< tokens each query sees; 0 = all
  bool fused = true;  ///< flash attention; false = two batched GEMMs and a softmax over stored scores
  int flash = 3;      ///< fused kernels: 3 = the device's best, 2 = FlashAttention-2
};

/// FLOPs of the forward pass, causal half and window counted.
Flops attention_flops(const AttentionShape& shape);
/// Seconds of the forward pass: floor + seq_step seq_kv + (work^3 + memory^3)^(1/3), where a query-key pair costs
/// sqrt(matrix^2 + softmax^2) and short sequences reach the rate seq / (seq + seq_half).
Seconds attention_forward_time(const AttentionShape& shape, const Accelerator& device, DType dtype = DType::bf16);
/// 2.5x the forward's FLOPs for flash attention (scores are recomputed), 2x for unfused. Never below the forward.
Seconds attention_backward_time(const AttentionShape& shape, const Accelerator& device, DType dtype = DType::bf16);
/// The forward pass as an inference stack's prefill runs it (cache write and position encoding inside); fp8 means an
/// fp8 key-value cache. Falls back on the training kernel where prefill was not measured.
Seconds prefill_attention_time(const AttentionShape& shape, const Accelerator& device, DType dtype = DType::bf16);

/// Streaming kernels: kernels * floor + (bytes - half of what fits the L2 cache) / (fraction * bandwidth).
Seconds memory_bound_time(Bytes bytes, const Accelerator& device, double kernels = 1);

}  // namespace meshwright::cost
