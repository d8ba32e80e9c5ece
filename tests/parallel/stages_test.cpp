#include "meshwright/parallel/stages.hpp"

#include <gtest/gtest.h>

#include <numeric>

#include "parallel/jobs.hpp"

namespace meshwright::parallel {
namespace {

TEST(Stages, EverySplitDealsEveryLayerOnce) {
  for (const int layers : {7, 16, 61, 80, 126}) {
    for (const int ways : {1, 2, 4, 7, 16}) {
      if (ways > layers) continue;
      for (const StageSplit split : {StageSplit::even, StageSplit::embedding, StageSplit::uneven, StageSplit::cost}) {
        const std::vector<int> parts = stage_layers(llama(layers, 4096, 14336, 32, 8), split, ways);
        EXPECT_EQ(parts.size(), static_cast<std::size_t>(ways));
        EXPECT_EQ(std::accumulate(parts.begin(), parts.end(), 0), layers) << name(split) << layers << "/" << ways;
      }
    }
  }
}

TEST(Stages, FurtherTokensStandBesideTheLoss) {
  // DeepSeek-V3 in Megatron-Bridge: 16 parts hold 4 layers and the last one; 8 parts 8 and 5; 4 parts 16 and 13.
  Transformer model = llama(61, 7168, 18432, 128, 128);
  model.mtp_layers = 1;
  for (const auto& [ways, each, last] : {std::tuple{16, 4, 1}, std::tuple{8, 8, 5}, std::tuple{4, 16, 13}}) {
    const std::vector<int> parts = stage_layers(model, StageSplit::uneven, ways);
    EXPECT_EQ(parts.front(), each);
    EXPECT_EQ(parts.back(), last);
  }
  // Its layout of H100, "Et|(tt|)*30mL": 31 parts of two would hold 62 layers, so the first has one, the last none.
  std::vector<int> halves(32, 2);
  halves.front() = 1, halves.back() = 0;
  EXPECT_EQ(stage_layers(model, StageSplit::uneven, 32), halves);
  model.mtp_layers = 0;
  EXPECT_EQ(stage_layers(model, StageSplit::uneven, 16).back(), 3);
}

TEST(Stages, EmbeddingAndLossCountAsLayers) {
  const std::vector<int> parts = stage_layers(llama_405b(), StageSplit::embedding, 16);
  EXPECT_EQ(parts.front(), 7);
  EXPECT_EQ(parts.back(), 7);
  EXPECT_EQ(parts[1], 8);
}

// huggingface/nanotron's published sweep: its 1.3B model at pp 2 has 11 and 5 layers.
TEST(Published, NanotronSplitsByCost) {
  const Transformer small = llama(16, 2048, 8192, 32, 32, 131072);
  EXPECT_EQ(stage_layers(small, StageSplit::cost, 2), (std::vector<int>{11, 5}));
  EXPECT_EQ(stages_used_by_cost(small, 2), 2);
  EXPECT_LT(stages_used_by_cost(small, 32), 32);
}

TEST(Stages, ChunksFollowTheSchedule) {
  const Framework any = framework("generic", "test");
  const auto interleaved = pipeline_chunks(llama(16, 1024, 4096, 8, 8), any, {.pp = 4, .vp = 2});
  ASSERT_EQ(interleaved.size(), 8U);
  EXPECT_EQ(interleaved[5], (Chunk{.stage = 1, .first = 10, .layers = 2}));
  EXPECT_TRUE(interleaved.front().embedding);
  EXPECT_TRUE(interleaved.back().head);
  const auto folded =
      pipeline_chunks(llama(16, 1024, 4096, 8, 8), any, {.pp = 4, .schedule = PipelineSchedule::zero_bubble_v});
  EXPECT_EQ(folded.back().stage, 0);
  const auto both =
      pipeline_chunks(llama(16, 1024, 4096, 8, 8), any, {.pp = 4, .schedule = PipelineSchedule::dual_pipe});
  ASSERT_EQ(both.size(), 8U);
  EXPECT_EQ(both[4], (Chunk{.stage = 3, .first = 0, .layers = 4, .embedding = true}));
}

}  // namespace
}  // namespace meshwright::parallel
