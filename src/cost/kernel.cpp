#include "meshwright/cost/kernel.hpp"

#include <algorithm>
#include <cmath>

namespace meshwright {
namespace {

/// Element size of the product: low-precision inputs give a bf16 output.
double output_bytes(DType t) { return std::max(2.0, bytes_per_element(t)); }

}  // namespace

Seconds memory_bound_time(Bytes bytes, const Accelerator& device, double kernels) {
  if (bytes.value() <= 0) return {};
  const MemoryEfficiency& e = device.efficiency.memory;
  return kernels * e.floor + bytes / (device.memory_bandwidth * e.fraction);
}

Seconds gemm_time(const Gemm& gemm, const Accelerator& device, Clocks clocks) {
  const double flops = 2 * gemm.m * gemm.n * gemm.k * gemm.groups;
  if (flops <= 0) return {};
  const GemmEfficiency& e = device.efficiency.of(gemm.dtype);
  const double sms = std::max(1, device.sm_count);
  const double rate = device.peak(gemm.dtype).value() * e.ceiling * (clocks == Clocks::sustained ? e.sustained : 1);
  // A library picks the tile: large ones reuse more, small ones fill the device. Each choice is monotone in m, n, k.
  double compute = INFINITY;
  constexpr double scale[] = {1, 0.5, 0.25};
  constexpr double relative[] = {1, 0.85, 0.6};
  for (int i = 0; i < 3; ++i) {
    const double tm = std::max(16.0, e.tile_m * scale[i]), tn = std::max(16.0, e.tile_n * scale[i]);
    const double tiles = std::ceil(gemm.m / tm) * std::ceil(gemm.n / tn) * gemm.groups;
    const double waves = std::max(1.0, 0.5 * (std::ceil(tiles / sms) + tiles / sms));
    compute = std::min(compute, waves * sms * tm * tn * 2 * (gemm.k + e.k_half) / (rate * relative[i]));
  }
  const double bytes = gemm.groups * (bytes_per_element(gemm.dtype) * (gemm.m * gemm.k + gemm.n * gemm.k) +
                                      output_bytes(gemm.dtype) * gemm.m * gemm.n);
  const double memory = bytes / (device.memory_bandwidth.value() * device.efficiency.memory.fraction);
  return e.floor + Seconds::base(std::max(compute, memory));
}

}  // namespace meshwright
