// Laws of the kernel models, looped over every accelerator of the catalogue, and published kernel timings.
#include "meshwright/cost/kernel.hpp"

#include <gmock/gmock.h>

#include <array>
#include <cmath>
#include <span>

#include "meshwright/hardware/catalog.hpp"

namespace meshwright::cost {
namespace {

using testing::DoubleNear;

const std::vector<Accelerator>& accelerators() { return builtin_catalog().accelerators; }
const Accelerator& named(std::string_view name) { return builtin_catalog().accelerator(name); }

std::vector<DType> dtypes(const Accelerator& device) {
  std::vector<DType> supported;
  for (std::size_t i = 0; i < dtype_count; ++i) {
    if (device.peak_dense[i].value() > 0) supported.push_back(static_cast<DType>(i));
  }
  return supported;
}

constexpr std::array<double, 12> sizes = {1, 7, 16, 100, 128, 129, 512, 1000, 2048, 5120, 8192, 65536};
constexpr std::array clock_kinds = {Clocks::burst, Clocks::sustained};

double tflops(const Gemm& g, std::string_view device, Clocks clocks = Clocks::burst) {
  return 2e-12 * g.m * g.n * g.k * g.groups / gemm_time(g, named(device), clocks).value();
}

TEST(Kernel, EveryAcceleratorHasAnEfficiencyForEachFormatThatItSupports) {
  for (const Accelerator& device : accelerators()) {
    for (const DType t : dtypes(device)) {
      const GemmEfficiency& e = device.efficiency.of(t);
      EXPECT_GT(e.ceiling, 0.3) << device.name << " " << name(t);
      EXPECT_LE(e.ceiling, 1) << device.name << " " << name(t);
      EXPECT_FALSE(e.source.empty()) << device.name << " " << name(t);
    }
    EXPECT_GT(device.efficiency.attention.forward, 0) << device.name;
    EXPECT_GT(device.efficiency.attention.backward, 0) << device.name;
    EXPECT_GT(device.efficiency.memory.fraction, 0.5) << device.name;
    EXPECT_FALSE(device.efficiency.memory.source.empty()) << device.name;
  }
}

TEST(Kernel, GemmIsNeverFasterThanPeakOrBandwidthAllow) {
  for (const Accelerator& device : accelerators()) {
    for (const DType t : dtypes(device)) {
      for (const double m : sizes) {
        for (const double n : sizes) {
          for (const double k : sizes) {
            for (const Clocks clocks : clock_kinds) {
              const double time = gemm_time({.m = m, .n = n, .k = k, .dtype = t}, device, clocks).value();
              ASSERT_GE(time * device.peak(t).value() * (1 + 1e-12), 2 * m * n * k) << device.name << " " << name(t);
              ASSERT_GE(time * device.memory_bandwidth.value() * (1 + 1e-12),
                        bytes_per_element(t) * (m * k + n * k + m * n))
                  << device.name << " " << name(t);
            }
          }
        }
      }
    }
  }
}

TEST(Kernel, GemmTimeIsMonotoneInEachSize) {
  for (const Accelerator& device : accelerators()) {
    const DType t = dtypes(device).back();
    Seconds by_m{}, by_n{}, by_k{}, by_groups{};
    for (double size = 1; size < 4000; size += size < 300 ? 1 : 37) {
      const auto grows = [&](Seconds& before, const Gemm& gemm) {
        const Seconds now = gemm_time(gemm, device, Clocks::burst);
        EXPECT_GE(now, before * (1 - 1e-12)) << device.name << " " << size;
        before = now;
      };
      grows(by_m, {.m = size, .n = 3000, .k = 2000, .dtype = t, .cast = true});
      grows(by_n, {.m = 500, .n = size, .k = 2000, .dtype = t});
      grows(by_k, {.m = 500, .n = 3000, .k = size, .dtype = t});
      grows(by_groups, {.m = 40, .n = 1500, .k = 700, .groups = size, .dtype = t});
    }
  }
}

TEST(Kernel, NoWorkTakesNoTime) {
  const Accelerator& device = named("H100-SXM5-80GB");
  EXPECT_EQ(gemm_time({}, device), Seconds{});
  EXPECT_EQ(gemm_time({.m = 0, .n = 10, .k = 10}, device), Seconds{});
  EXPECT_EQ(gemm_time({.m = 10, .n = 10, .k = 10, .groups = 0}, device), Seconds{});
  EXPECT_EQ(attention_forward_time({}, device), Seconds{});
  EXPECT_EQ(attention_backward_time({.batch = 0, .seq_q = 9, .seq_kv = 9}, device), Seconds{});
  EXPECT_EQ(memory_bound_time({}, device), Seconds{});
}

TEST(Kernel, AnAccumulatedResultIsReadAndWritten) {
  // A weight gradient of few tokens: 4 bytes read and 4 written of each of 4096 x 7168 results, at what GEMMs reach of
  // the memory's bandwidth.
  const Accelerator& device = hardware::builtin_catalog().accelerator("B200-SXM6-180GB");
  const Gemm gemm{.m = 4096, .n = 7168, .k = 64, .result_bytes = 8};
  const double traffic =
      8 * gemm.m * gemm.n / (device.memory_bandwidth.value() * device.efficiency.of(DType::bf16).memory);
  EXPECT_NEAR(gemm_time(gemm, device).value(), traffic, 0.25 * traffic);
  Gemm written = gemm;
  written.result_bytes = 0;
  EXPECT_LT(gemm_time(written, device), 0.5 * gemm_time(gemm, device));
}

TEST(Kernel, RowsThatAreNotAlignedCostCompute) {
  // Logits of GPT-2's vocabulary on A100: 8 tensor ranks hold 6,282 columns (4 bytes), 4 hold 12,564 (8 bytes).
  const Accelerator& device = named("A100-SXM4-80GB");
  Seconds before = gemm_time({.m = 8192, .n = 12564, .k = 2048}, device);
  for (const int aligned : {8, 4, 2}) {
    const Seconds time = gemm_time({.m = 8192, .n = 12564, .k = 2048, .aligned = aligned}, device);
    EXPECT_GT(time, 1.1 * before) << aligned;
    before = time;
  }
  EXPECT_NEAR(before / gemm_time({.m = 8192, .n = 12564, .k = 2048}, device), 3.05, 0.1);
}

TEST(Kernel, OneGroupedLaunchBeatsItsProductsOneByOne) {
  for (const Accelerator& device : accelerators()) {
    const DType t = dtypes(device).back();
    for (const double m : {1.0, 16.0, 100.0, 1000.0}) {
      const Gemm one{.m = m, .n = 2048, .k = 1024, .dtype = t};
      Gemm eight = one;
      eight.groups = 8;
      EXPECT_LE(gemm_time(eight, device), 8 * gemm_time(one, device) * (1 + 1e-9)) << device.name << " " << m;
      EXPECT_GE(gemm_time(eight, device), gemm_time(one, device)) << device.name << " " << m;
    }
  }
}

/// Pairs counted one by one: query i of q stands at position kv - q + i and sees itself and the window before it.
double counted_pairs(int q, int kv, int window) {
  double pairs = 0;
  for (int i = 0; i < q; ++i) {
    for (int j = 0; j < kv; ++j) {
      const int distance = kv - q + i - j;
      if (distance > 0 && (window == 0 || distance < window)) pairs += 1;
      if (distance == 0) pairs += 0.5;  // the diagonal's half
    }
  }
  return pairs;
}

TEST(Kernel, AttentionFlopsCountTheCausalHalfAndTheWindow) {
  for (const int q : {16, 100, 256}) {
    for (const int kv : {100, 256, 300}) {
      for (const int window : {0, 10, 90, 300}) {
        if (kv < q) continue;
        const AttentionShape s{
            .seq_q = double(q), .seq_kv = double(kv), .head_dim = 1, .v_head_dim = 1, .window = window};
        const double pairs = attention_flops(s).value() / 4;
        EXPECT_THAT(pairs, DoubleNear(counted_pairs(q, kv, window), q)) << q << " " << kv << " " << window;
      }
    }
  }
  EXPECT_EQ(attention_flops({.heads = 2, .seq_q = 8, .seq_kv = 8, .head_dim = 4, .v_head_dim = 2}).value(),
            2 * 2 * 32 * 6.0);
  EXPECT_EQ(attention_flops({.seq_q = 8, .seq_kv = 8, .head_dim = 4, .v_head_dim = 4, .causal = false}).value(), 1024);
}

TEST(Kernel, AttentionLaws) {
  for (const Accelerator& device : accelerators()) {
    const DType t = device.peak(DType::bf16).value() > 0 ? DType::bf16 : DType::fp16;
    for (const bool fused : {true, false}) {
      for (const double width : {64.0, 80.0, 128.0, 256.0}) {
        Seconds shorter{};
        for (const double seq : {128.0, 1000.0, 4096.0, 32768.0}) {
          AttentionShape s{
              .heads = 16, .kv_heads = 4, .seq_q = seq, .seq_kv = seq, .head_dim = width, .v_head_dim = width};
          s.fused = fused;
          const Seconds forward = attention_forward_time(s, device, t);
          EXPECT_GE(forward.value() * device.peak(t).value(), attention_flops(s).value()) << device.name;
          EXPECT_GE(attention_backward_time(s, device, t), forward) << device.name << " " << seq;
          EXPECT_GE(forward, shorter) << device.name << " " << seq;
          EXPECT_LE(prefill_attention_time({.seq_q = 8, .seq_kv = 8}, device, t),
                    attention_forward_time(s, device, t) + Seconds::base(1e-4));
          shorter = forward;
          if (!fused) continue;
          Seconds narrower{};
          for (const int window : {1, 64, 500, 900, 1000, 4000, 32768, 0}) {
            s.window = window;
            const Seconds time = attention_forward_time(s, device, t);
            EXPECT_GE(time, narrower * (1 - 1e-12)) << device.name << " seq " << seq << " window " << window;
            EXPECT_LE(time, forward * (1 + 1e-12)) << device.name << " seq " << seq << " window " << window;
            narrower = time;
          }
        }
      }
    }
  }
}

TEST(Kernel, MisalignedHeadsAreSlowWithoutFlashAttention) {
  const Accelerator& device = named("A100-SXM4-80GB");
  AttentionShape s{.heads = 32, .kv_heads = 32, .seq_q = 2048, .seq_kv = 2048, .head_dim = 80, .v_head_dim = 80};
  s.fused = false;
  const Seconds aligned = attention_forward_time(s, device);
  s.head_dim = s.v_head_dim = 84;
  EXPECT_GT(attention_forward_time(s, device), 3 * aligned);
  s.fused = true;
  EXPECT_LT(attention_forward_time(s, device), aligned);
}

struct PublishedGemm {
  Gemm gemm;
  std::string_view device;
  double tflops, tolerance;
};

Gemm fp8_block(double groups, double m, double n, double k) {
  return {.m = m, .n = n, .k = k, .groups = groups, .dtype = DType::fp8, .block_scaled = true};
}

// None of these points entered the fits.
TEST(Kernel, PublishedGemms) {
  const std::vector<PublishedGemm> published = {
      // https://github.com/pranjalssh/fast.cu: cuBLAS 716 and 795 TFLOP/s at 4096^3 and 8192^3
      {{4096, 4096, 4096}, "H100-SXM5-80GB", 716, 0.12},
      {{8192, 8192, 8192}, "H100-SXM5-80GB", 795, 0.06},
      // https://github.com/deepseek-ai/DeepGEMM, README at 55ab91f: dense
      {fp8_block(1, 4096, 7168, 16384), "H800-SXM5-80GB", 1426, 0.06},
      {fp8_block(1, 4096, 4096, 7168), "H800-SXM5-80GB", 1265, 0.12},
      {fp8_block(1, 4096, 7168, 2048), "H800-SXM5-80GB", 1168, 0.10},
      {fp8_block(1, 4096, 32768, 512), "H800-SXM5-80GB", 751, 0.20},
      {fp8_block(1, 128, 24576, 1536), "H800-SXM5-80GB", 535, 0.10},
      {fp8_block(1, 64, 32768, 512), "H800-SXM5-80GB", 219, 0.10},
      // the same, grouped: contiguous and masked layouts
      {fp8_block(4, 8192, 4096, 7168), "H800-SXM5-80GB", 1346, 0.05},
      {fp8_block(8, 4096, 7168, 2048), "H800-SXM5-80GB", 1214, 0.08},
      {fp8_block(2, 512, 4096, 7168), "H800-SXM5-80GB", 1040, 0.15},
      {fp8_block(4, 256, 4096, 7168), "H800-SXM5-80GB", 932, 0.10},
      {fp8_block(4, 256, 7168, 2048), "H800-SXM5-80GB", 815, 0.10}};
  for (const PublishedGemm& p : published) {
    EXPECT_NEAR(tflops(p.gemm, p.device) / p.tflops, 1, p.tolerance)
        << p.device << " " << p.gemm.groups << " x " << p.gemm.m << " " << p.gemm.n << " " << p.gemm.k;
  }
}

struct PublishedAttention {
  std::string_view device;
  double head_dim, seq;
  bool causal, fused;
  int flash;
  double tflops, tolerance;
};

// Forward and backward together, 16,384 tokens of hidden size 2048, by
// https://github.com/Dao-AILab/flash-attention/tree/main/assets (flash2_*_fwd_bwd_benchmark.png), and in a training
// step by https://github.com/stas00/ml-engineering/blob/master/insights/when-to-upgrade-gpus/README.md.
TEST(Kernel, PublishedAttention) {
  const std::vector<PublishedAttention> published = {{"A100-SXM4-80GB", 128, 16384, true, true, 2, 189, 0.08},
                                                     {"A100-SXM4-80GB", 64, 8192, true, true, 2, 165, 0.08},
                                                     {"A100-SXM4-80GB", 128, 8192, false, true, 2, 201, 0.08},
                                                     {"A100-SXM4-80GB", 64, 2048, false, true, 2, 162, 0.08},
                                                     {"H100-SXM5-80GB", 128, 8192, true, true, 2, 308, 0.18},
                                                     {"H100-SXM5-80GB", 128, 8192, false, true, 2, 335, 0.20},
                                                     // 834 with kernels that reach 0.8 of later ones
                                                     {"B200-SXM6-180GB", 128, 8192, true, true, 3, 834 / 0.8, 0.03},
                                                     {"A100-SXM4-80GB", 128, 8192, false, false, 0, 86, 0.15},
                                                     {"A100-SXM4-80GB", 64, 8192, false, false, 0, 46, 0.15},
                                                     {"A100-SXM4-80GB", 128, 8192, true, false, 0, 34, 0.15},
                                                     {"A100-SXM4-80GB", 64, 2048, true, false, 0, 17, 0.20},
                                                     {"H100-SXM5-80GB", 128, 8192, false, false, 0, 167, 0.20},
                                                     {"H100-SXM5-80GB", 128, 4096, true, false, 0, 61, 0.15}};
  for (const PublishedAttention& p : published) {
    const AttentionShape s{.batch = 16384 / p.seq,
                           .heads = 2048 / p.head_dim,
                           .kv_heads = 2048 / p.head_dim,
                           .seq_q = p.seq,
                           .seq_kv = p.seq,
                           .head_dim = p.head_dim,
                           .v_head_dim = p.head_dim,
                           .causal = p.causal,
                           .fused = p.fused,
                           .flash = p.flash};
    // As benchmarks run it: what training runs were fitted to is another matter.
    const Accelerator& device = benchmark_catalog().accelerator(p.device);
    const Seconds time = attention_forward_time(s, device) + attention_backward_time(s, device);
    EXPECT_NEAR(3.5e-12 * attention_flops(s).value() / time.value() / p.tflops, 1, p.tolerance)
        << p.device << " width " << p.head_dim << " seq " << p.seq << (p.fused ? " fused" : " unfused");
  }
}

struct BenchmarkedAttention {
  std::string_view device;
  double seq, heads, kv_heads, head_dim, v_head_dim, batch, forward_ms, backward_ms;
};

/// Bursts with pauses take a share of the time at the clocks of a step.
void expect_near(std::span<const BenchmarkedAttention> published, double share) {
  for (const BenchmarkedAttention& p : published) {
    const AttentionShape s{.batch = p.batch,
                           .heads = p.heads,
                           .kv_heads = p.kv_heads,
                           .seq_q = p.seq,
                           .seq_kv = p.seq,
                           .head_dim = p.head_dim,
                           .v_head_dim = p.v_head_dim};
    const Accelerator& device = benchmark_catalog().accelerator(p.device);
    const double forward = share * attention_forward_time(s, device).value();
    const double backward = share * attention_backward_time(s, device).value();
    EXPECT_NEAR(1e3 * forward / p.forward_ms, 1, 0.15) << p.device << " " << p.seq;
    EXPECT_NEAR(1e3 * backward / p.backward_ms, 1, 0.15) << p.device << " " << p.seq;
  }
}

// https://github.com/NVIDIA/cudnn-frontend/tree/main/benchmark/sdpa_benchmark_training, causal bf16: cuDNN 9.18 on
// GB200 (gb200_918_only_cudnn: Llama-3.1's and DeepSeek-V3's heads) and GB300, 9.22 on GB300 (dsv3/gb300). Bursts with
// pauses: a training step takes a tenth longer.
TEST(Kernel, PublishedAttentionOfBlackwell) {
  const std::vector<BenchmarkedAttention> published = {
      {"GB200", 4096, 64, 8, 128, 128, 1, 0.212, 0.622},      {"GB200", 8192, 64, 8, 128, 128, 1, 0.704, 2.150},
      {"GB200", 32768, 64, 8, 128, 128, 1, 10.436, 30.513},   {"GB200", 4096, 128, 128, 192, 128, 1, 0.519, 1.650},
      {"GB200", 16384, 128, 128, 192, 128, 1, 6.476, 22.025}, {"GB300", 4096, 64, 8, 128, 128, 1, 0.164, 0.574},
      {"GB300", 8192, 64, 8, 128, 128, 1, 0.571, 1.976},      {"GB300", 4096, 128, 128, 192, 128, 2, 0.864, 3.127},
      {"GB300", 8192, 128, 128, 192, 128, 2, 3.013, 11.074}};
  expect_near(published, 0.9);
}

// https://github.com/NVIDIA/cudnn-frontend/tree/main/benchmark/attention_training/results, llama3.1/h200 and dsv3/h200
// of 2026-09-28, cuDNN 9.27, causal bf16; the last of each took long enough for the clocks of a step.
TEST(Kernel, PublishedAttentionOfHopper) {
  const std::vector<BenchmarkedAttention> published = {
      {"H200-SXM-141GB", 2048, 64, 8, 128, 128, 2, 0.257, 0.856},
      {"H200-SXM-141GB", 4096, 64, 8, 128, 128, 2, 0.893, 2.779},
      {"H200-SXM-141GB", 8192, 64, 8, 128, 128, 2, 3.357, 10.448},
      {"H200-SXM-141GB", 32768, 64, 8, 128, 128, 2, 56.813, 166.714},
      {"H200-SXM-141GB", 4096, 128, 128, 192, 128, 2, 2.248, 7.293},
      {"H200-SXM-141GB", 32768, 128, 128, 192, 128, 2, 144.976, 450.227}};
  expect_near(published, 1);
}

}  // namespace
}  // namespace meshwright::cost
