#include "meshwright/search/space.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "search/jobs.hpp"

namespace meshwright::search {
namespace {

TEST(Space, DegreesDivideWhatTheyShard) {
  const Job job = test_job("mixtral-8x7b", "dgx-h100", 4, 4096, 256);
  for (const ShardChoice& s : shard_choices(job, 16)) {
    EXPECT_EQ(job.model.heads % s.tp, 0);
    EXPECT_EQ(job.model.experts % s.ep, 0);
    EXPECT_EQ(job.accelerators % (s.tp * s.cp), 0);
    EXPECT_LE(s.micro_batch, 16);
    for (const int pp : pipeline_degrees(job, s)) {
      EXPECT_EQ(job.accelerators % (s.tp * s.cp * pp), 0);
      EXPECT_LE(pp, job.model.layers);
    }
  }
}

TEST(Space, HoldsThePublishedLayoutOfLlama405B) {
  const Job job = test_job("llama-3.1-405b", "dgx-h100", 2048, 8192, 2048);
  const auto shards = shard_choices(job, 16);
  const auto found = std::find_if(shards.begin(), shards.end(),
                                  [](const ShardChoice& s) { return s.tp == 8 && s.cp == 1 && s.micro_batch == 1; });
  ASSERT_NE(found, shards.end());
  const auto stages = pipeline_degrees(job, *found);
  EXPECT_NE(std::find(stages.begin(), stages.end(), 16), stages.end());
  EXPECT_EQ(most_virtual_stages(job, 16), 8);
}

TEST(Space, DenseModelsHaveNoExpertParallelism) {
  for (const ShardChoice& s : shard_choices(test_job("llama-3.1-8b", "dgx-h100", 1, 4096, 64), 8)) {
    EXPECT_EQ(s.ep, 1);
    EXPECT_EQ(s.etp, 1);
  }
}

TEST(Space, OneStageHasOneSchedule) {
  const Job job = test_job("llama-3.1-8b", "dgx-h100", 1, 4096, 64);
  EXPECT_EQ(schedules(job.framework, 1, 1), std::vector{PipelineSchedule::one_f_one_b});
  EXPECT_EQ(schedules(job.framework, 4, 2), std::vector{PipelineSchedule::interleaved});
  EXPECT_EQ(most_virtual_stages(job, 1), 1);
}

}  // namespace
}  // namespace meshwright::search
