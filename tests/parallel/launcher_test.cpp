#include "meshwright/parallel/launcher.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "parallel/jobs.hpp"

namespace meshwright::parallel {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

TEST(Launcher, MegatronOfLlama405b) {
  const Job job = test_job(llama_405b(), 16384, 8192, 2048);
  const auto flags = launcher_flags(job, {.tp = 8, .pp = 16, .vp = 8, .dp = 128, .recompute = Recompute::selective});
  for (const char* flag :
       {"--num-layers 126", "--num-query-groups 8", "--tensor-model-parallel-size 8",
        "--pipeline-model-parallel-size 16", "--num-virtual-stages-per-pipeline-rank 8",
        "--account-for-embedding-in-pipeline-split", "--account-for-loss-in-pipeline-split", "--sequence-parallel",
        "--use-distributed-optimizer", "--micro-batch-size 1", "--global-batch-size 2048",
        "--recompute-granularity selective", "--bf16", "--overlap-grad-reduce", "--overlap-param-gather"}) {
    EXPECT_THAT(flags, Contains(flag));
  }
  EXPECT_THAT(flags, Not(Contains(HasSubstr("moe"))));
}

TEST(Launcher, MegatronOfAMixtureWithAnExplicitLayout) {
  Transformer m = mixture(61, 128, 8);
  m.dense_layers = 3, m.mtp_layers = 1;
  const Job job = test_job(m, 128, 4096, 512);
  const auto flags = launcher_flags(job, {.pp = 4, .dp = 32, .ep = 8, .stage_split = StageSplit::uneven}, "megatron");
  EXPECT_THAT(flags, Contains("--pipeline-model-parallel-layout 'Et*15|t*16|t*15|t*15mL'"));
  EXPECT_THAT(flags, Contains("--expert-model-parallel-size 8"));
  EXPECT_THAT(flags, Contains("--expert-tensor-parallel-size 1"));
  EXPECT_THAT(flags, Contains("--moe-layer-freq '([0]*3+[1]*58)'"));
}

TEST(Launcher, OwnDialectOfTheStack) {
  const auto titan =
      launcher_flags(test_job(llama_8b(), 64, 8192, 256, "torchtitan"), {.tp = 2, .dp = 32, .zero_stage = 3});
  EXPECT_THAT(titan, Contains("--parallelism.data_parallel_shard_degree=32"));
  EXPECT_THAT(titan, Contains("--parallelism.tensor_parallel_degree=2"));
  const auto nano = launcher_flags(test_job(llama_8b(), 64, 4096, 256, "nanotron"), {.tp = 8, .pp = 2, .dp = 4});
  EXPECT_THAT(nano, Contains("tokens.batch_accumulation_per_replica=64"));
  const auto zero = launcher_flags(test_job(llama_8b(), 8, 4096, 64, "deepspeed"), {.dp = 8, .zero_stage = 3});
  EXPECT_THAT(zero, Contains("zero_optimization.stage=3"));
}

TEST(Launcher, EveryDialectWritesEveryFramework) {
  for (const Framework& stack : frameworks()) {
    for (const std::string& dialect : launcher_dialects()) {
      const auto flags = launcher_flags(test_job(mixture(48, 128, 8), 64, 4096, 256, stack.name),
                                        {.tp = 2, .pp = 2, .dp = 16, .ep = 4}, dialect);
      EXPECT_GT(flags.size(), 5U) << stack.name << " " << dialect;
    }
    for (const std::string& own : stack.flags) EXPECT_THAT(launcher_dialects(), Contains(own)) << stack.name;
  }
}

TEST(Launcher, UnknownDialectIsRefused) {
  try {
    launcher_flags(test_job(llama_8b(), 8, 4096, 64), {.dp = 8}, "megatrom");
    FAIL();
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), HasSubstr("'megatron'"));
  }
}

}  // namespace
}  // namespace meshwright::parallel
