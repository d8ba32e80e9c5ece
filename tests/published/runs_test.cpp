// Published training runs: what a reader of the papers would check first. Tolerances are those of the project's goals.
#include <gtest/gtest.h>

#include "meshwright/hardware/catalog.hpp"
#include "meshwright/parallel/constraints.hpp"
#include "meshwright/parallel/prediction.hpp"
#include "meshwright/workload/presets.hpp"

namespace meshwright::tests {
namespace {

Job job_of(const char* model, const char* node, int accelerators, int seq_len, int global_batch, const char* recipe,
           const char* stack) {
  JobSpec spec{
      .model = model, .seq_len = seq_len, .global_batch = global_batch, .precision = recipe, .framework = stack};
  spec.cluster = {.of = node, .accelerators = accelerators};
  return make_job(spec, builtin_catalog());
}

double model_tflops_per_device(const Job& job, const Prediction& p) {
  return p.model_flops / (p.step_time.value() * job.accelerators) * 1e-12;
}

// The Llama 3 Herd of Models (arXiv 2407.21783), table 4: 430 and 400 TFLOP/s a GPU with 8,192 tokens, dp 64 and 128.
TEST(Published, Llama3OnMetasTrainer) {
  for (const auto& [dp, tflops] : {std::pair{64, 430.0}, {128, 400.0}}) {
    const Job job = job_of("llama-3.1-405b", "meta-24k-roce", 128 * dp, 8192, 2048, "bf16", "meta");
    const Layout l{.tp = 8, .pp = 16, .vp = 8, .dp = dp, .zero_stage = 2, .stage_split = StageSplit::embedding};
    const Prediction p = predict(job, l);
    EXPECT_EQ(constraint(job, l), std::nullopt);
    EXPECT_NEAR(model_tflops_per_device(job, p), tflops, 0.1 * tflops) << dp;
    EXPECT_GT(p.fits_probability, 0.25) << "it ran";
  }
}

TEST(Published, Llama31With405BOn16384H100) {
  // The Llama 3 Herd of Models (arXiv 2407.21783), table 4: TP 8, PP 16, DP 128, 16M tokens, 400 BF16 TFLOP/s a GPU.
  const Job job = job_of("llama-3.1-405b", "dgx-h100", 16384, 8192, 2048, "bf16", "megatron-core");
  const Layout l{.tp = 8, .pp = 16, .vp = 8, .dp = 128};
  EXPECT_NEAR(model_tflops_per_device(job, predict(job, l)), 400, 0.15 * 400);
}

TEST(Published, DeepSeekV3On2048H800) {
  // DeepSeek-V3 Technical Report (arXiv 2412.19437), table 1 and section 3: 2.664 M GPU-hours for 14.8 T tokens; PP 16,
  // EP 64, DualPipe, batch 15,360 sequences of 4,096.
  const Job job = job_of("deepseek-v3", "hgx-h800", 2048, 4096, 15360, "fp8-block", "hai-llm");
  const Layout l{.pp = 16,
                 .dp = 128,
                 .ep = 64,
                 .etp = 1,
                 .recompute = Recompute::selective,
                 .schedule = PipelineSchedule::dual_pipe};
  const double published = 14.8e12 / (2.664e6 * 3600);
  EXPECT_NEAR(predict(job, l).tokens_per_s_per_gpu, published, 0.3 * published);
}

TEST(Published, Gpt3With175BOn1024A100) {
  // Narayanan et al. 2021 (arXiv 2104.04473), section 5.1: 300 B tokens on 1,024 A100 take 34 days with batch 1,536.
  const Job job = job_of("gpt3-175b", "dgx-a100", 1024, 2048, 1536, "fp16", "bignlp");
  Layout l{.tp = 8, .pp = 8, .dp = 16, .zero_stage = 0, .recompute = Recompute::full};
  l.sequence_parallel = false;
  const double steps = 300e9 / (1536.0 * 2048);
  EXPECT_NEAR(predict(job, l).step_time.value() * steps / 86400, 34, 0.15 * 34);
}

TEST(Published, Glm130BOn768A100) {
  // GLM-130B (arXiv 2210.02414), section 3: 96 DGX A100, TP 4, PP 8, batch 4,224; 43.3 % hardware utilisation, 32.5 %
  // model utilisation.
  const Job job = job_of("glm-130b", "dgx-a100-40gb", 768, 2048, 4224, "fp16", "megatron-deepspeed-2022");
  Layout l{.tp = 4, .pp = 8, .dp = 24, .recompute = Recompute::full};
  l.sequence_parallel = false;
  EXPECT_NEAR(predict(job, l).hfu, 0.433, 0.15 * 0.433);
}

TEST(Published, MegatronWith1TOn3072And512A100) {
  // Narayanan et al. 2021, table 1: 1,008 B parameters on 3,072 A100, batch 3,072, TP 8, PP 64: 163 TFLOP/s a GPU with
  // recompute, which is 96 B s L h^2 (1 + s/6h + V/16Lh) FLOPs a step.
  Job job = job_of("megatron-1008b", "dgx-a100", 3072, 2048, 3072, "fp16", "bignlp");
  Layout l{.tp = 8, .pp = 64, .dp = 6, .zero_stage = 0, .recompute = Recompute::full};
  l.sequence_parallel = false;
  const double flops = 3072.0 * 2048 * flops_per_token(job.model, 2048, FlopsConvention::hardware_full_recompute);
  EXPECT_NEAR(flops / (predict(job, l).step_time.value() * 3072) * 1e-12, 163, 0.15 * 163);
  // Korthikanti et al. 2022 (arXiv 2205.05198), table 5: on 512 A100 with batch 512, 94.42 s a step with full recompute
  // and without sequence parallelism, 71.49 s with sequence parallelism and selective recompute.
  job = job_of("megatron-1008b", "dgx-a100", 512, 2048, 512, "fp16", "bignlp");
  l.dp = 1;
  EXPECT_NEAR(predict(job, l).step_time.value(), 94.42, 0.15 * 94.42);
  l.sequence_parallel = true;
  l.recompute = Recompute::selective;
  EXPECT_NEAR(predict(job, l).step_time.value(), 71.49, 0.15 * 71.49);
}

}  // namespace
}  // namespace meshwright::tests
