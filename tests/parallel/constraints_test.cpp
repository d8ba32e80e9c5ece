#include "meshwright/parallel/constraints.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "parallel/jobs.hpp"

namespace meshwright::parallel {
namespace {

using testing::HasSubstr;

Rule refused(const Transformer& model, const Layout& layout, int seq_len = 4096,
             const std::string& stack = "megatron-core", int global_batch = 0) {
  const int batch = global_batch > 0 ? global_batch : layout.dp * layout.micro_batch * layout.pp * 4;
  return refused_by(test_job(model, layout.accelerators(), seq_len, batch, stack), layout);
}

TEST(Constraints, PublishedLayoutsPass) {
  EXPECT_EQ(refused(llama_405b(), {.tp = 8, .pp = 16, .dp = 128}, 8192), Rule::none);
  EXPECT_EQ(refused(llama_405b(), {.tp = 8, .pp = 16, .vp = 8, .dp = 128}, 8192), Rule::none);
  EXPECT_EQ(refused(gpt(96, 12288, 96), {.tp = 8, .pp = 8, .dp = 16}, 2048), Rule::none);
}

TEST(Constraints, Heads) {
  Transformer forty = llama(40, 5120, 13824, 40, 40);
  EXPECT_EQ(refused(forty, {.tp = 3}), Rule::heads_tp);  // vllm-project/vllm issue 596
  for (const int tp : {1, 2, 4, 5, 8, 10}) EXPECT_NE(refused(forty, {.tp = tp}, 4000), Rule::heads_tp) << tp;
  Transformer small = gpt(12, 768, 12);  // hpcaitech/ColossalAI issue 3043
  EXPECT_EQ(refused(small, {.tp = 8}), Rule::heads_tp);
  for (const int tp : {2, 4, 6, 12}) EXPECT_NE(refused(small, {.tp = tp}, 4800), Rule::heads_tp) << tp;
}

// pytorch/torchtitan issue 2574: two kv heads cannot be cut by four there; Megatron replicates them.
TEST(Constraints, KeyValueHeadsByStack) {
  const Transformer two = llama(48, 4096, 12288, 32, 2);
  EXPECT_EQ(refused(two, {.tp = 4}, 4096, "torchtitan"), Rule::kv_heads_tp);
  EXPECT_EQ(refused(two, {.tp = 4}, 4096, "megatron-core"), Rule::none);
  EXPECT_EQ(refused(llama(48, 4096, 12288, 32, 4), {.tp = 8}, 4096, "pytorch-fsdp"), Rule::kv_heads_tp);
  EXPECT_EQ(refused(llama(48, 4096, 12288, 24, 3), {.tp = 4}), Rule::kv_heads_tp);  // 4 is no multiple of 3
}

TEST(Constraints, LayersOverStages) {
  const auto layers = [](int count, int pp, int vp, StageSplit split = StageSplit::automatic) {
    return refused(llama(count, 4096, 14336, 32, 8), {.pp = pp, .vp = vp, .dp = 8, .stage_split = split});
  };
  EXPECT_EQ(layers(7, 2, 1), Rule::layers_split);                     // Megatron-LM issue 381
  EXPECT_EQ(layers(30, 4, 1, StageSplit::even), Rule::layers_split);  // Megatron-LM issue 1304
  EXPECT_EQ(layers(30, 4, 1, StageSplit::embedding), Rule::none);     // 30 + 2 = 32
  EXPECT_EQ(layers(46, 4, 1, StageSplit::even), Rule::layers_split);  // modelscope/ms-swift issue 5737
  EXPECT_EQ(layers(40, 8, 2), Rule::layers_split);                    // Megatron-LM issue 326
  EXPECT_EQ(layers(80, 16, 2), Rule::layers_split);                   // Megatron-LM issue 468
  EXPECT_EQ(layers(61, 16, 1), Rule::layers_split);                   // needs an explicit layout
  EXPECT_EQ(layers(61, 16, 1, StageSplit::uneven), Rule::none);
  EXPECT_EQ(layers(62, 16, 4), Rule::none);
  EXPECT_EQ(layers(8, 16, 1), Rule::layers_least);
  EXPECT_EQ(usual_stage_split(61, framework("megatron-core", "t"), 16, 1), StageSplit::uneven);
  EXPECT_EQ(usual_stage_split(126, framework("megatron-core", "t"), 16, 1), StageSplit::embedding);
  EXPECT_EQ(usual_stage_split(64, framework("megatron-core", "t"), 16, 1), StageSplit::even);
}

TEST(Constraints, Sequences) {
  EXPECT_EQ(refused(llama_8b(), {.cp = 2}, 7), Rule::sequence_cp);  // Megatron-LM issue 1669
  EXPECT_EQ(refused(llama_8b(), {.cp = 8}, 8192), Rule::none);
  EXPECT_EQ(refused(llama_8b(), {.cp = 16}, 8200), Rule::sequence_cp);
  EXPECT_EQ(refused(llama_8b(), {.tp = 8}, 4100), Rule::sequence_tp);
  EXPECT_EQ(refused(llama_8b(), {.tp = 8, .sequence_parallel = false}, 4100), Rule::none);
}

TEST(Constraints, Experts) {
  const Transformer m = mixture(48, 128, 8);
  // NVIDIA-NeMo/Megatron-Bridge issue 546: folded, four accelerators hold tp 4 and ep 4.
  EXPECT_EQ(refused(m, {.tp = 4, .ep = 4, .etp = 1}), Rule::none);
  EXPECT_EQ(refused(m, {.tp = 4, .ep = 4, .etp = 0}), Rule::expert_fold);              // etp follows tp: 16
  EXPECT_EQ(refused(m, {.pp = 2, .vp = 24, .dp = 2, .ep = 2, .etp = 1}), Rule::none);  // NeMo issue 14838
  EXPECT_EQ(refused(m, {.dp = 48, .ep = 48}), Rule::experts_ep);
  EXPECT_EQ(refused(m, {.dp = 8, .ep = 4, .etp = 5}), Rule::expert_tensor);
  EXPECT_EQ(refused(llama_8b(), {.dp = 8, .ep = 8}), Rule::experts_ep);
  EXPECT_EQ(refused(m, {.tp = 4, .dp = 2, .ep = 8}, 4096, "megatron-deepspeed"), Rule::expert_fold);
}

TEST(Constraints, Batches) {
  EXPECT_EQ(refused(llama_8b(), {.dp = 8, .micro_batch = 3}, 4096, "megatron-core", 256), Rule::batch);
  EXPECT_EQ(refused(llama_8b(), {.pp = 4, .vp = 2, .dp = 1}, 4096, "megatron-core", 6), Rule::interleaved_batches);
  EXPECT_EQ(refused(llama_8b(), {.pp = 8, .dp = 1, .zero_stage = 1}, 4096, "nanotron", 4), Rule::pipeline_batches);
  EXPECT_EQ(refused(llama_8b(), {.pp = 4, .dp = 1, .schedule = PipelineSchedule::dual_pipe}, 4096, "hai-llm", 4),
            Rule::pipeline_batches);
}

// Megatron-LM issue 750: two stages interleave only where sends overlap.
TEST(Constraints, VirtualStages) {
  EXPECT_EQ(refused(llama_8b(), {.pp = 2, .vp = 2, .dp = 4}), Rule::none);
  EXPECT_EQ(refused(llama_8b(), {.pp = 2, .vp = 2, .dp = 4, .overlap_p2p = false}), Rule::virtual_stages);
  EXPECT_EQ(refused(llama_8b(), {.vp = 2, .dp = 8}), Rule::virtual_stages);
}

TEST(Constraints, SchedulesAndSharding) {
  EXPECT_EQ(refused(llama_8b(), {.pp = 4, .dp = 2, .schedule = PipelineSchedule::zero_bubble_h1}),
            Rule::schedule_missing);
  EXPECT_EQ(refused(llama_8b(), {.pp = 4, .dp = 2, .schedule = PipelineSchedule::zero_bubble_h1}, 4096, "generic"),
            Rule::none);
  EXPECT_EQ(refused(llama_8b(), {.pp = 4, .dp = 2, .zero_stage = 3}), Rule::zero_pipeline);
  EXPECT_EQ(refused(llama_8b(), {.pp = 4, .dp = 2, .zero_stage = 3}, 4096, "torchtitan"), Rule::none);
  EXPECT_EQ(refused(llama_8b(), {.dp = 8, .zero_stage = 2}, 4096, "nanotron"), Rule::zero_missing);
  EXPECT_EQ(refused(llama_8b(), {.cp = 2, .dp = 4}, 4096, "nanotron"), Rule::axis_missing);
  EXPECT_EQ(refused(llama_8b(), {.tp = 2, .dp = 4}, 4096, "llm-foundry"), Rule::axis_missing);
  EXPECT_EQ(refused(llama_8b(), {.dp = 8, .zero_stage = 3, .hsdp_shard = 3}), Rule::hsdp_shard);
  EXPECT_EQ(refused(llama_8b(), {.dp = 8, .zero_stage = 1, .hsdp_shard = 4}), Rule::hsdp_shard);
}

TEST(Constraints, EveryRefusalNamesRuleNeededAndAvailable) {
  const Layout eight{.tp = 8, .pp = 16, .dp = 128};
  Job job = test_job(llama_405b(), 16384, 8192, 2048);
  EXPECT_FALSE(constraint(job, eight));
  job.accelerators = 16000;
  EXPECT_EQ(constraint(job, eight)->text(), "tp * cp * pp * dp = accelerators: needs 16384, has 16000");
  job = test_job(llama(40, 5120, 13824, 40, 40), 3, 4096, 8);
  EXPECT_EQ(constraint(job, {.tp = 3})->text(), "heads % tp (megatron-core): needs a multiple of tp 3, has 40 heads");
  job = test_job(llama(30, 4096, 14336, 32, 8), 4, 4096, 16);
  EXPECT_THAT(constraint(job, {.pp = 4, .stage_split = StageSplit::even})->text(),
              HasSubstr("stage_split 'embedding'"));
  for (std::size_t i = 1; i < rule_count; ++i) {
    const Violation v = violation_of(job, {.tp = 2, .pp = 2}, static_cast<Rule>(i));
    EXPECT_FALSE(v.rule.empty()) << i;
    EXPECT_FALSE(v.needed.empty()) << v.rule;
    EXPECT_FALSE(v.available.empty()) << v.rule;
  }
}

}  // namespace
}  // namespace meshwright::parallel
