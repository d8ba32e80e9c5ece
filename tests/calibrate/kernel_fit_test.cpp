// Fits recover what made the timings, shrug off outliers, and come back through the overlay unchanged.
#include "meshwright/calibrate/kernel_fit.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <fstream>

namespace meshwright::calibrate {
namespace {

TEST(RobustFit, FindsALineDespiteOutliers) {
  std::vector<double> x, y;
  for (int i = 1; i <= 60; ++i) {
    x.push_back(i);
    y.push_back((3 + 0.5 * i) * (i % 10 == 0 ? 4 : 1));
  }
  const std::vector<FitParameter> parameters = {{"offset", 1, 0.1, 100}, {"slope", 1, 0.01, 10}};
  const auto fit = robust_fit(
      parameters,
      [&](std::span<const double> p, std::span<double> out) {
        for (std::size_t i = 0; i < x.size(); ++i) out[i] = std::log((p[0] + p[1] * x[i]) / y[i]);
      },
      x.size());
  EXPECT_NEAR(fit[0], 3, 0.05);
  EXPECT_NEAR(fit[1], 0.5, 0.01);
}

TEST(RobustFit, StaysWithinBounds) {
  const std::vector<FitParameter> parameters = {{"value", 0.5, 0.1, 1}};
  const auto fit = robust_fit(
      parameters, [](std::span<const double> p, std::span<double> out) { out[0] = std::log(p[0] / 7); }, 1);
  EXPECT_NEAR(fit[0], 1, 1e-6);
}

/// Timings of a made-up device: the catalogue's, with other parameters.
GemmGroup made_up(const Accelerator& device, const std::string& format, const GemmEfficiency& e, double outliers) {
  GemmGroup group{.device = device.name, .format = format, .source = "", .points = {}, .excluded = 0};
  int count = 0;
  for (const double m : {1, 16, 64, 256, 1024, 4096, 16384}) {
    for (const double n : {512, 1536, 4096, 7168, 16384}) {
      for (const double k : {512, 2048, 7168, 16384}) {
        GemmPoint p{.m = m, .n = n, .k = k, .measured = {}};
        p.measured = gemm_time(gemm_of(p, format), device, e, Clocks::burst) * (++count % 9 == 0 ? outliers : 1);
        group.points.push_back(p);
      }
    }
  }
  return group;
}

const GemmEfficiency truth = {.ceiling = 0.62,
                              .fade = 0.15,
                              .floor = Seconds::base(6e-6),
                              .k_half = 350,
                              .k_step = Seconds::base(2e-10),
                              .memory = 0.7,
                              .cast_floor = Seconds::base(3e-6),
                              .cast_memory = 0.6,
                              .source = {}};

TEST(KernelFit, RecoversWhatMadeTheTimings) {
  const Accelerator& device = builtin_catalog().accelerator("H100-SXM5-80GB");
  const std::vector<GemmGroup> groups = {made_up(device, "fp8", truth, 1.6), made_up(device, "bf16", truth, 0.6)};
  const std::vector<GemmFit> fits = fit_gemm(groups, builtin_catalog());
  ASSERT_EQ(fits.size(), 2U);
  EXPECT_EQ(fits[0].format, "bf16");  // first: its launch floor tells the cast's
  for (const GemmFit& fit : fits) {
    EXPECT_LT(fit.errors.median_ape, 0.005) << fit.format;
    EXPECT_NEAR(fit.efficiency.ceiling, truth.ceiling, 0.01) << fit.format;
    EXPECT_NEAR(fit.efficiency.k_half, truth.k_half, 25) << fit.format;
    EXPECT_NEAR(fit.efficiency.memory, truth.memory, 0.02) << fit.format;
    EXPECT_NEAR(fit.efficiency.floor / truth.floor, 1, 0.03) << fit.format;
  }
  EXPECT_NEAR(fits[1].efficiency.cast_floor / truth.cast_floor, 1, 0.1);
  EXPECT_NEAR(fits[1].efficiency.cast_memory, truth.cast_memory, 0.03);
}

TEST(KernelFit, GivesALibraryThatThePoolMissesItsOwnRow) {
  const Accelerator& device = builtin_catalog().accelerator("B200-SXM6-180GB");
  GemmEfficiency slower = truth;
  slower.ceiling = 0.4;
  slower.floor = Seconds::base(12e-6);
  GemmGroup usual = made_up(device, "bf16", truth, 1), other = made_up(device, "bf16", slower, 1);
  usual.source = "b200/fast_1";
  other.source = "b200/slow_2";
  other.points.resize(other.points.size() / 2);
  const std::vector<GemmFit> fits = fit_gemm({usual, other}, builtin_catalog());
  ASSERT_GE(fits.size(), 2U);
  EXPECT_EQ(fits[0].library, "");
  EXPECT_EQ(fits.back().library, "slow");
  EXPECT_LT(fits.back().errors.median_ape, 0.02);
}

TEST(KernelFit, AttentionRecoversItsParameters) {
  Accelerator device = builtin_catalog().accelerator("H100-SXM5-80GB");
  device.efficiency.prefill = {.forward = 0.55,
                               .softmax = 3e12,
                               .seq_half = 700,
                               .memory = 0.3,
                               .floor = Seconds::base(2e-5),
                               .seq_step = Seconds::base(4e-9),
                               .source = {}};
  AttentionGroup group{.device = device.name, .format = DType::bf16, .source = "", .points = {}};
  for (const double seq : {1024, 2048, 4096, 16384}) {
    for (const double heads : {2, 16, 64}) {
      for (const double width : {64, 128, 256}) {
        AttentionPoint p{.shape = {.batch = 2,
                                   .heads = heads,
                                   .kv_heads = 2,
                                   .seq_q = seq,
                                   .seq_kv = seq,
                                   .head_dim = width,
                                   .v_head_dim = width},
                         .measured = {}};
        p.measured = prefill_attention_time(p.shape, device);
        group.points.push_back(p);
      }
    }
  }
  const std::vector<AttentionFit> fits = fit_attention({group}, builtin_catalog());
  ASSERT_EQ(fits.size(), 1U);
  EXPECT_LT(fits[0].errors.p90_ape, 0.01);
  EXPECT_NEAR(fits[0].efficiency.forward, 0.55, 0.02);
  EXPECT_NEAR(fits[0].efficiency.softmax / 3e12, 1, 0.05);
}

TEST(KernelFit, TheOverlayChangesTheDatabaseToWhatWasFitted) {
  const Accelerator& device = builtin_catalog().accelerator("H100-SXM5-80GB");
  const std::vector<GemmFit> fits = fit_gemm({made_up(device, "bf16", truth, 1)}, builtin_catalog());
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "overlay";
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "efficiency.json") << efficiency_overlay(fits, {}, "a test");
  const Catalog changed = load_catalog(folder);
  const DeviceEfficiency& now = changed.accelerator("H100-SXM5-80GB").efficiency;
  EXPECT_NEAR(now.of(DType::bf16).ceiling, fits[0].efficiency.ceiling, 1e-3);
  EXPECT_EQ(now.of(DType::bf16).evidence, Evidence::calibrated);
  EXPECT_THAT(now.of(DType::bf16).source, testing::StartsWith("a test; 140 points"));
  // What a fit of short bursts can't tell stays; fp16, which goes by bf16, follows.
  EXPECT_EQ(now.of(DType::bf16).sustained, device.efficiency.of(DType::bf16).sustained);
  EXPECT_EQ(now.of(DType::fp16).ceiling, now.of(DType::bf16).ceiling);
  EXPECT_EQ(now.of(DType::fp8).ceiling, device.efficiency.of(DType::fp8).ceiling);
}

}  // namespace
}  // namespace meshwright::calibrate
