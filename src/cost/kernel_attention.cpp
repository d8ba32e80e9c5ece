// Attention: fused (flash) kernels by measured efficiency, unfused as batched GEMMs and a softmax over stored scores.
#include <algorithm>
#include <cmath>

#include "cost/waves.hpp"
#include "meshwright/cost/kernel.hpp"

namespace meshwright::cost {
namespace {

/// Keys that a query sees at most.
double span(const AttentionShape& s) { return s.window > 0 ? std::min<double>(s.window, s.seq_kv) : s.seq_kv; }

/// Query-key pairs of one head of one sequence: all, the causal half, or what the window leaves.
double pairs(const AttentionShape& s) {
  const double q = s.seq_q, kv = s.seq_kv, w = span(s);
  if (q <= 0 || kv <= 0) return 0;
  if (!s.causal) return q * w;
  const double rows = std::min(q, kv);  // queries before the first key see nothing
  // The last query sees w keys; going back, the count stays at w until the diagonal cuts it down to kv - rows.
  const double cut = std::clamp(w - (kv - rows), 0.0, rows);
  return rows * w - cut * cut / 2;
}

/// Blocks of 128 queries are dealt to the SMs: too few leave SMs idle, a partial last wave is paid in part.
double wave_factor(const AttentionShape& s, double sms) {
  const double waves = s.batch * s.heads * begun(s.seq_q / 128) / sms;
  return paid_waves(waves) / waves;
}

struct Pass {
  double matrix;   ///< fraction of the dense peak
  double work;     ///< FLOPs over the forward's
  double tensors;  ///< q-sized and kv-sized tensors read and written, over the forward's
};

Seconds fused(const AttentionShape& s, const Accelerator& device, const AttentionEfficiency& e, DType dtype,
              Pass pass) {
  const double count = pairs(s);
  if (s.batch <= 0 || s.heads <= 0 || count <= 0) return {};
  const double matrix = pass.work * 2 * (s.head_dim + s.v_head_dim) / (device.peak(dtype).value() * pass.matrix);
  const double softmax = e.softmax > 0 ? 1 / e.softmax : 0;
  // Ramps and blocks on the diagonal cost each query as much as seq_half / 2 more keys.
  const double paid = count + std::min(s.seq_q, s.seq_kv) * e.seq_half / 2;
  const double work = s.batch * s.heads * paid * std::sqrt(matrix * matrix + softmax * softmax) *
                      wave_factor(s, std::max(1, device.sm_count));
  const double elements = s.batch * (s.heads * s.seq_q + s.kv_heads * s.seq_kv) * (s.head_dim + s.v_head_dim);
  const double memory = pass.tensors * 2 * elements / (device.memory_bandwidth.value() * e.memory);
  return e.floor + s.seq_kv * e.seq_step + Seconds::base(std::cbrt(work * work * work + memory * memory * memory));
}

/// Heads whose dimension is no multiple of 8 miss the tensor-core kernels in a batched GEMM; measured over training
/// steps on A100.
constexpr double misaligned_slowdown = 9.6;

Seconds unfused(const AttentionShape& s, const Accelerator& device, DType dtype, bool backward) {
  const double heads = s.batch * s.heads;
  const auto batched = [&](double m, double n, double k, double head_dim) {
    const double slowdown = std::fmod(head_dim, 8) == 0 ? 1 : misaligned_slowdown;
    return slowdown * gemm_time({.m = m, .n = n, .k = k, .groups = heads, .dtype = dtype}, device);
  };
  Seconds products =
      batched(s.seq_q, s.seq_kv, s.head_dim, s.head_dim) + batched(s.seq_q, s.v_head_dim, s.seq_kv, s.v_head_dim);
  if (backward) products *= 2;
  // One fused kernel scales, masks and normalises, another drops out: scores pass in and out of each, and a mask byte.
  const Bytes scores = Bytes::base(heads * s.seq_q * s.seq_kv * bytes_per_element(dtype));
  return products + memory_bound_time(scores * (backward ? 5.5 : 4.5), device, 2);
}

const AttentionEfficiency& training_kernel(const AttentionShape& s, const Accelerator& device) {
  const DeviceEfficiency& e = device.efficiency;
  return s.flash == 2 && e.attention_v2.forward > 0 ? e.attention_v2 : e.attention;
}

}  // namespace

Flops attention_flops(const AttentionShape& s) {
  return Flops::base(2 * s.batch * s.heads * pairs(s) * (s.head_dim + s.v_head_dim));
}

Seconds attention_forward_time(const AttentionShape& shape, const Accelerator& device, DType dtype) {
  if (!shape.fused) return unfused(shape, device, dtype, false);
  const AttentionEfficiency& e = training_kernel(shape, device);
  return fused(shape, device, e, dtype, {.matrix = e.forward, .work = 1, .tensors = 1});
}

Seconds attention_backward_time(const AttentionShape& shape, const Accelerator& device, DType dtype) {
  if (!shape.fused) return unfused(shape, device, dtype, true);
  const AttentionEfficiency& e = training_kernel(shape, device);
  // Reads q, k, v, o and their gradient, writes three gradients: twice the forward's streams.
  return fused(shape, device, e, dtype, {.matrix = e.backward > 0 ? e.backward : e.forward, .work = 2.5, .tensors = 2});
}

Seconds prefill_attention_time(const AttentionShape& shape, const Accelerator& device, DType dtype) {
  const AttentionEfficiency& e = device.efficiency.prefill_of(dtype);
  if (e.forward <= 0) return attention_forward_time(shape, device, dtype);
  return fused(shape, device, e, dtype, {.matrix = e.forward, .work = 1, .tensors = 1});
}

}  // namespace meshwright::cost
