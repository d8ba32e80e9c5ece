#include "meshwright/cost/kernel.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "cost/waves.hpp"
#include "meshwright/hardware/gemm_format.hpp"

namespace meshwright::cost {
namespace {

/// Output tile of one SM that a GEMM library chooses among. Operand traffic per FLOP grows as 1/m + 1/n, which costs
/// rate relative to the largest tile.
struct Tile {
  double per_m, per_n;  // reciprocals, exact: the sides are powers of two
  double cost;          // outputs over relative rate
};

constexpr double traffic_cost = 4;  // elements; fitted over all devices, flat between 1 and 10
constexpr Tile tile(double m, double n) {
  const double rate = (1 + traffic_cost * (1.0 / 256 + 1.0 / 128)) / (1 + traffic_cost * (1 / m + 1 / n));
  return {1 / m, 1 / n, m * n / rate};
}
constexpr std::array tiles = {tile(256, 128), tile(128, 256), tile(128, 128), tile(128, 64), tile(64, 128),
                              tile(64, 64),   tile(64, 32),   tile(32, 64),   tile(64, 16),  tile(16, 64)};

/// Kernel time at which half of the loss by heating is reached in a benchmark loop.
constexpr double fade_half = 5e-3;

/// Least SM-seconds times rate over the tile choices: elements of output that are paid for.
double paid_outputs(double m, double n, double groups, double sms) {
  double best = INFINITY;
  for (const Tile& t : tiles) {
    best = std::min(best, paid_waves(begun(m * t.per_m) * begun(n * t.per_n) * groups / sms) * t.cost);
  }
  return best * sms;
}

/// Share of a working set of the L2's size whose traffic the cache saves a chain of streaming kernels: one read and one
/// write of a tensor that stays, at about three times the bandwidth of memory.
constexpr double l2_share = 0.5;

/// Element size of the product: low-precision inputs give a bf16 output.
constexpr double output_bytes(DType t) { return std::max(2.0, bytes_per_element(t)); }

/// fp4 carries a one-byte scale per 16 elements (nvfp4).
constexpr double operand_bytes(DType t) { return t == DType::fp4 ? 0.5 + 1.0 / 16 : bytes_per_element(t); }

/// Stretch of the compute time by the alignment of rows.
double misalignment(const GemmEfficiency& e, int aligned) {
  if (aligned >= 16) return 1;
  return e.misaligned[aligned >= 8 ? 0 : aligned >= 4 ? 1 : 2];
}

}  // namespace

Seconds memory_bound_time(Bytes bytes, const Accelerator& device, double kernels) {
  if (bytes.value() <= 0) return {};
  const MemoryEfficiency& e = device.efficiency.memory;
  // What the kernel before left in the L2 cache does not come from memory.
  const Bytes cached = l2_share * std::min(bytes, device.l2);
  return kernels * e.floor + (bytes - cached) / (device.memory_bandwidth * e.fraction);
}

Seconds gemm_time(const Gemm& gemm, const Accelerator& device, Clocks clocks) {
  return gemm_time(gemm, device, efficiency_of(device.efficiency, {gemm.dtype, gemm.block_scaled}), clocks);
}

Seconds gemm_time(const Gemm& gemm, const Accelerator& device, const GemmEfficiency& e, Clocks clocks) {
  const double m = gemm.m, n = gemm.n, k = gemm.k;
  if (m <= 0 || n <= 0 || k <= 0 || gemm.groups <= 0) return {};
  const double rate = device.peak(gemm.dtype).value() * e.ceiling;
  const double sms = std::max(1, device.sm_count);
  double compute = paid_outputs(m, n, gemm.groups, sms) * 2 * (k + e.k_half) / rate;
  compute *= misalignment(e, gemm.aligned);
  compute *= clocks == Clocks::sustained ? 1 / e.sustained : 1 + e.fade * compute / (compute + fade_half);
  const double result = gemm.result_bytes > 0 ? gemm.result_bytes : output_bytes(gemm.dtype);
  const double operands = operand_bytes(gemm.dtype) * (m + n) * k + result * m * n;
  const double bandwidth = device.memory_bandwidth.value();
  const double memory = gemm.groups * operands / (bandwidth * e.memory);
  Seconds time =
      e.floor + k * e.k_step + Seconds::base(std::cbrt(compute * compute * compute + memory * memory * memory));
  if (gemm.cast) {
    const double bytes = gemm.groups * m * k * (2 + operand_bytes(gemm.dtype));
    time += e.cast_floor + Seconds::base(bytes / (bandwidth * e.cast_memory));
  }
  return time;
}

}  // namespace meshwright::cost
