#include "meshwright/search/space.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "search/jobs.hpp"

namespace meshwright::search {
namespace {

TEST(Space, DegreesDivideWhatTheyShard) {
  const Job job = test_job("mixtral-8x7b", "dgx-h100", 4, 4096, 256);
  for (const ShardChoice& s : shard_choices(job, {})) {
    EXPECT_EQ(job.model.heads % s.tp, 0);
    EXPECT_EQ(job.model.experts % s.ep, 0);
    EXPECT_EQ(job.accelerators % (s.tp * s.cp), 0);
    EXPECT_LE(s.micro_batch, 16);
    for (const int pp : pipeline_degrees(job, {}, s)) {
      EXPECT_EQ(s.tp * s.cp * pp * data_degree(job, {}, s, pp), job.accelerators);
      EXPECT_LE(pp, job.model.layers);
    }
  }
}

TEST(Space, HoldsThePublishedLayoutOfLlama405B) {
  const Job job = test_job("llama-3.1-405b", "dgx-h100", 2048, 8192, 2048);
  const auto shards = shard_choices(job, {});
  const auto found = std::find_if(shards.begin(), shards.end(),
                                  [](const ShardChoice& s) { return s.tp == 8 && s.cp == 1 && s.micro_batch == 1; });
  ASSERT_NE(found, shards.end());
  const auto stages = pipeline_degrees(job, {}, *found);
  EXPECT_NE(std::find(stages.begin(), stages.end(), 16), stages.end());
  EXPECT_EQ(virtual_stages(job, {}, 16), (std::vector{1, 2, 3, 4, 5, 6, 7, 8}));
}

TEST(Space, DenseModelsHaveNoExpertParallelism) {
  for (const ShardChoice& s : shard_choices(test_job("llama-3.1-8b", "dgx-h100", 1, 4096, 64), {})) {
    EXPECT_EQ(s.ep, 1);
    EXPECT_EQ(s.etp, 1);
  }
}

TEST(Space, OneStageHasOneSchedule) {
  const Job job = test_job("llama-3.1-8b", "dgx-h100", 1, 4096, 64);
  EXPECT_EQ(schedules(job.framework, {}, 1, 1), std::vector{PipelineSchedule::one_f_one_b});
  EXPECT_EQ(schedules(job.framework, {}, 4, 2), std::vector{PipelineSchedule::interleaved});
  EXPECT_EQ(virtual_stages(job, {}, 1), std::vector{1});
}

// A row that a stack names is searched, in the table or beside it; GPipe only where 1F1B doesn't run.
TEST(Space, SchedulesAreThoseOfTheStack) {
  static const ScheduleRow toy = [] {
    ScheduleRow row = PipelineSchedule::zero_bubble_h1.row();
    row.name = "toy";
    return row;
  }();
  Framework stack = test_job("llama-3.1-8b", "dgx-h100", 1, 4096, 64).framework;
  stack.rules.schedules.rows = {PipelineSchedule::gpipe, PipelineSchedule::one_f_one_b, PipelineSchedule::interleaved,
                                toy};
  EXPECT_EQ(schedules(stack, {}, 4, 1), (std::vector<PipelineSchedule>{PipelineSchedule::one_f_one_b, toy}));
  stack.rules.schedules.rows = {PipelineSchedule::gpipe};
  EXPECT_EQ(schedules(stack, {}, 4, 1), std::vector{PipelineSchedule::gpipe});
}

TEST(Space, FixedValuesAreTriedEvenWhereTheyAreUnusual) {
  const Job job = test_job("llama-3.1-8b", "dgx-h100", 8, 8192, 64);
  Limits limits;
  fix(limits.filter, "tp=3, micro_batch=3, schedule=zb-h1, stage_split=uneven, hsdp_shard=16", "test");
  const auto shards = shard_choices(job, limits);
  ASSERT_FALSE(shards.empty());
  for (const ShardChoice& s : shards) {
    EXPECT_EQ(s.tp, 3);
    EXPECT_EQ(s.micro_batch, 3);
    EXPECT_EQ(split_of(job, limits, plain_layout(job, limits, s, {})), StageSplit::uneven);
  }
  EXPECT_EQ(schedules(job.framework, limits, 4, 1), std::vector{PipelineSchedule::zero_bubble_h1});
  EXPECT_TRUE(schedules(job.framework, limits, 4, 2).empty());
  for (const Sharding& sharding : shardings(job, limits)) EXPECT_EQ(sharding.hsdp_shard, 16);
}

TEST(Space, OverlapsAreTheStacksForTheStageOrWhatIsLeft) {
  const Job job = test_job("llama-3.1-8b", "dgx-h100", 8, 8192, 64, "deepspeed");
  for (const Sharding& sharding : shardings(job, {})) {
    EXPECT_EQ(sharding.overlap_grad_reduce, sharding.zero_stage == 3) << sharding.zero_stage;
    EXPECT_EQ(sharding.overlap_param_gather, sharding.zero_stage == 3) << sharding.zero_stage;
  }
  Limits limits;
  exclude(limits.filter, "overlap_grad_reduce=true", "test");
  for (const Sharding& sharding : shardings(job, limits)) EXPECT_FALSE(sharding.overlap_grad_reduce);
  Limits fixed;
  fix(fixed.filter, "overlap_grad_reduce=true", "test");
  for (const Sharding& sharding : shardings(job, fixed)) EXPECT_TRUE(sharding.overlap_grad_reduce);
}

TEST(Space, AFixedDataDegreeLeavesThePipelineTheRest) {
  const Job job = test_job("llama-3.1-8b", "dgx-h100", 8, 8192, 64);
  Limits limits;
  fix(limits.filter, "tp=2, cp=1, dp=8", "test");
  for (const ShardChoice& s : shard_choices(job, limits)) {
    EXPECT_EQ(pipeline_degrees(job, limits, s), std::vector{4});
    EXPECT_EQ(data_degree(job, limits, s, 4), 8);
  }
}

}  // namespace
}  // namespace meshwright::search
