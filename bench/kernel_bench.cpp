// Kernel times as a search's tables ask for them: under 200 ns each.
#include <benchmark/benchmark.h>

#include "meshwright/cost/kernel.hpp"
#include "meshwright/hardware/catalog.hpp"

namespace {

using namespace meshwright;
using namespace meshwright::everything;

void gemm(benchmark::State& state) {
  const Accelerator& device = builtin_catalog().accelerator("H100-SXM5-80GB");
  double m = 1000;
  for (auto _ : state) {
    benchmark::DoNotOptimize(gemm_time({.m = m, .n = 5120, .k = 8192}, device));
    m = m < 9000 ? m + 1 : 1000;
  }
}
BENCHMARK(gemm);

void grouped_fp8_gemm_with_cast(benchmark::State& state) {
  const Accelerator& device = builtin_catalog().accelerator("B200-SXM6-180GB");
  double m = 1;
  for (auto _ : state) {
    const Gemm gemm{
        .m = m, .n = 4096, .k = 7168, .groups = 32, .dtype = DType::fp8, .block_scaled = true, .cast = true};
    benchmark::DoNotOptimize(gemm_time(gemm, device, Clocks::burst));
    m = m < 9000 ? m + 1 : 1;
  }
}
BENCHMARK(grouped_fp8_gemm_with_cast);

void attention_both_ways(benchmark::State& state) {
  const Accelerator& device = builtin_catalog().accelerator("H100-SXM5-80GB");
  double seq = 1024;
  for (auto _ : state) {
    const AttentionShape shape{.heads = 16, .kv_heads = 2, .seq_q = seq, .seq_kv = seq};
    benchmark::DoNotOptimize(attention_forward_time(shape, device) + attention_backward_time(shape, device));
    seq = seq < 32768 ? seq + 64 : 1024;
  }
}
BENCHMARK(attention_both_ways);

}  // namespace
