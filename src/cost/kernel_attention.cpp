// Attention: fused (flash) kernels by measured efficiency, unfused as batched GEMMs and a softmax over stored scores.
#include <algorithm>
#include <cmath>

#include "meshwright/cost/kernel.hpp"

namespace meshwright {
namespace {

/// Query-key pairs of one head of one sequence: all, the causal half, or what the window leaves.
double pairs(const AttentionShape& s) {
  const double q = s.seq_q, kv = s.seq_kv;
  if (!s.causal) return q * (s.window > 0 ? std::min<double>(kv, s.window) : kv);
  // The last query sees all kv keys; query i sees kv - q + i + 1, half a key less than the diagonal on average.
  const double full = kv >= q ? q * (kv - q / 2) : kv * kv / 2;
  if (s.window <= 0 || s.window >= kv) return full;
  const double w = s.window;
  const double ramp = std::max(0.0, std::min(q, w - (kv - q)));  // queries near the start, whose window is not full
  return q * w - ramp * ramp / 2;
}

double by_head_dim(double at_64, double at_128, double head_dim) {
  return at_64 + (at_128 - at_64) * std::clamp((head_dim - 64) / 64, 0.0, 1.0);
}

Seconds fused(const AttentionShape& s, const Accelerator& device, DType dtype, bool backward) {
  const AttentionEfficiency& e = device.efficiency.attention;
  const double flops = attention_flops(s).value() * (backward ? 2.5 : 1);
  if (flops <= 0) return {};
  const double efficiency = backward ? by_head_dim(e.backward_d64, e.backward, s.head_dim)
                                     : by_head_dim(e.forward_d64, e.forward, s.head_dim);
  const double span = s.window > 0 ? std::min<double>(s.window, s.seq_kv) : s.seq_kv;
  const double seconds = flops / (device.peak(dtype).value() * efficiency) * (1 + e.seq_half / span);
  return e.floor + Seconds::base(seconds);
}

/// Heads whose dimension is no multiple of 8 miss the tensor-core kernels of the batched GEMM (feature of cuBLAS).
constexpr double misaligned_slowdown = 9.6;

Seconds unfused(const AttentionShape& s, const Accelerator& device, DType dtype, bool backward) {
  const double heads = s.batch * s.heads;
  const auto batched = [&](double m, double n, double k, double aligned) {
    const double slowdown = std::fmod(aligned, 8) == 0 ? 1 : misaligned_slowdown;
    return slowdown * gemm_time({.m = m, .n = n, .k = k, .groups = heads, .dtype = dtype}, device);
  };
  Seconds products =
      batched(s.seq_q, s.seq_kv, s.head_dim, s.head_dim) + batched(s.seq_q, s.v_head_dim, s.seq_kv, s.v_head_dim);
  if (backward) products *= 2;
  // Fused scale, mask and softmax read and write the scores once; dropout and its mask once more.
  const Bytes scores = Bytes::base(heads * s.seq_q * s.seq_kv * bytes_per_element(dtype));
  return products + memory_bound_time(scores * (backward ? 5.0 : 4.5), device, 2);
}

}  // namespace

Flops attention_flops(const AttentionShape& s) {
  return Flops::base(2 * s.batch * s.heads * pairs(s) * (s.head_dim + s.v_head_dim));
}

Seconds attention_forward_time(const AttentionShape& shape, const Accelerator& device, DType dtype) {
  return shape.fused ? fused(shape, device, dtype, false) : unfused(shape, device, dtype, false);
}

Seconds attention_backward_time(const AttentionShape& shape, const Accelerator& device, DType dtype) {
  return shape.fused ? fused(shape, device, dtype, true) : unfused(shape, device, dtype, true);
}

}  // namespace meshwright
