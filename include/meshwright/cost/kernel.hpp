#pragma once
// Time of one kernel on one device: roofline with the efficiencies that were measured (hardware/efficiency.hpp).
#include "meshwright/hardware/accelerator.hpp"

namespace meshwright {

/// Short bursts run faster than a training step does: power limits. Steps use `sustained`.
enum class Clocks { burst, sustained };

struct Gemm {
  double m = 0, n = 0, k = 0;
  double groups = 1;  ///< independent products of this shape in one launch (grouped or batched GEMM)
  DType dtype = DType::bf16;
};

/// Seconds of C(m,n) = A(m,k) B(k,n): max of compute with tile, wave and k quantisation, and memory traffic; plus the
/// launch floor. Shapes below one tile are valid. Zero work takes zero time.
Seconds gemm_time(const Gemm& gemm, const Accelerator& device, Clocks clocks = Clocks::sustained);

struct AttentionShape {
  double batch = 1, heads = 1, kv_heads = 1;
  double seq_q = 0, seq_kv = 0;
  double head_dim = 128, v_head_dim = 128;
  bool causal = true;
  int window = 0;     ///< tokens each query sees; 0 = all
  bool fused = true;  ///< flash attention; false = two batched GEMMs and a softmax over stored scores
};

/// FLOPs of the forward pass, causal half and window counted.
Flops attention_flops(const AttentionShape& shape);
Seconds attention_forward_time(const AttentionShape& shape, const Accelerator& device, DType dtype = DType::bf16);
/// 2.5x the forward's FLOPs for flash attention (scores are recomputed), 2x for unfused.
Seconds attention_backward_time(const AttentionShape& shape, const Accelerator& device, DType dtype = DType::bf16);

/// Streaming kernels: floor + bytes / (fraction * bandwidth).
Seconds memory_bound_time(Bytes bytes, const Accelerator& device, double kernels = 1);

}  // namespace meshwright
