#include "meshwright/parallel/placement.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <set>

#include "meshwright/hardware/catalog.hpp"
#include "meshwright/parallel/memory.hpp"
#include "parallel/jobs.hpp"

namespace meshwright::parallel {
namespace {

const Framework& megatron() { return framework("megatron-core", "test"); }

/// Ranks of the group that starts at rank 0.
std::set<int> ranks(const Group& g) {
  std::set<int> all;
  const int block = g.block > 0 ? g.block : g.size;
  for (int i = 0; i < g.size; ++i) all.insert(i / block * g.jump + i % block * g.stride);
  return all;
}

TEST(Groups, CoverTheJob) {
  for (const Layout& l :
       {Layout{.tp = 8, .dp = 8}, Layout{.tp = 4, .pp = 4, .dp = 4}, Layout{.tp = 8, .cp = 2, .pp = 2, .dp = 2},
        Layout{.dp = 64, .zero_stage = 3, .hsdp_shard = 8}}) {
    const Groups g = groups(l, megatron());
    EXPECT_EQ(g.tensor.size * g.data.size * g.pipeline.size, 64) << describe_layout(l);
    EXPECT_EQ(g.shard.size * g.replica.size, g.data.size) << describe_layout(l);
    EXPECT_EQ(g.pipeline.stride * g.pipeline.size, 64) << describe_layout(l);
  }
}

// Megatron-LM, core/parallel_state.py, RankGenerator: its own example of 16 ranks, tp 2, pp 4, in both orders.
TEST(Groups, FollowTheOrder) {
  const RankOrder early = read_order("tp-cp-ep-pp-dp", "test");
  const Groups last = groups({.tp = 2, .pp = 4, .dp = 2}, megatron());
  EXPECT_EQ(ranks(last.data), (std::set<int>{0, 2}));
  EXPECT_EQ(ranks(last.pipeline), (std::set<int>{0, 4, 8, 12}));
  const Groups first = groups({.tp = 2, .pp = 4, .dp = 2, .order = early}, megatron());
  EXPECT_EQ(ranks(first.pipeline), (std::set<int>{0, 2, 4, 6}));
  EXPECT_EQ(ranks(first.data), (std::set<int>{0, 8}));
  const auto stage = [](const Layout& l, int rank) { return pipeline_stage(l, megatron(), rank); };
  for (const int rank : {0, 3, 4, 15}) EXPECT_EQ(stage({.tp = 2, .pp = 4, .dp = 2}, rank), rank / 4);
  for (const int rank : {0, 3, 4, 15})
    EXPECT_EQ(stage({.tp = 2, .pp = 4, .dp = 2, .order = early}, rank), rank / 2 % 4);
}

// dp and cp are no neighbours: the group is blocks of context ranks.
TEST(Groups, OfAxesApart) {
  const Layout l{.tp = 2, .cp = 2, .pp = 2, .dp = 4, .zero_stage = 3, .order = read_order("tp-cp-ep-pp-dp", "test")};
  const Groups g = groups(l, megatron());
  EXPECT_EQ(ranks(g.data), (std::set<int>{0, 2, 8, 10, 16, 18, 24, 26}));
  for (const int shard : {1, 2, 4, 8}) {
    Layout part = l;
    part.hsdp_shard = shard;
    const Groups h = groups(part, megatron());
    std::set<int> all;
    for (const int a : ranks(h.shard)) {
      for (const int b : ranks(h.replica)) all.insert(a + b);
    }
    EXPECT_EQ(h.shard.size, shard);
    EXPECT_EQ(all, ranks(g.data)) << shard;  // every rank of the group once
  }
}

// Megatron Core MoE, parallel folding: with tp 2 and dp 4, etp 1 lets eight ranks hold the experts.
TEST(Groups, ExpertsFold) {
  const Groups folded = groups({.tp = 2, .dp = 4, .ep = 8, .etp = 1}, megatron());
  EXPECT_EQ(folded.expert, (Group{8, 1}));
  EXPECT_EQ(folded.expert_data.size, 1);
  const Groups by_default = groups({.tp = 2, .dp = 4, .ep = 4}, megatron());
  EXPECT_EQ(by_default.expert, (Group{4, 2}));
  EXPECT_EQ(by_default.expert_tensor, (Group{2, 1}));
  // DeepSpeed's experts lie over data ranks: a tensor rank exchanges with its like.
  const Groups over_data = groups({.tp = 2, .dp = 4, .ep = 4}, framework("megatron-deepspeed", "test"));
  EXPECT_EQ(over_data.expert, (Group{4, 2}));
  EXPECT_EQ(over_data.expert_tensor.size, 1);
}

// Megatron Core before 0.10, parallel_state.py: experts lie over data ranks, beyond the context ranks, which hold the
// same ones (dp % ep, data_modulo_expert_parallel_group with context parallelism).
TEST(Groups, ExpertsBeyondContextRanks) {
  const Layout l{.cp = 4, .dp = 16, .ep = 8};
  Framework early = megatron();
  early.rules.experts_fold_over_tp = early.rules.experts_fold_over_cp = false;
  const Groups apart = groups(l, early), folded = groups(l, megatron());
  EXPECT_EQ(folded.expert, (Group{8, 1}));
  EXPECT_EQ(folded.expert_data, (Group{8, 8}));
  EXPECT_EQ(apart.expert, (Group{8, 4}));
  EXPECT_EQ(apart.expert_data.size, 8) << "4 context ranks of 2 replicas";
  EXPECT_EQ(apart.expert_data.stride, 1);
}

TEST(Placement, DefaultsAreTheStacks) {
  const Layout l{.tp = 4, .cp = 2, .dp = 2, .ep = 4};
  const Job job = test_job(mixture(48, 128, 8), 16, 4096, 64),
            titan = test_job(mixture(48, 128, 8), 16, 4096, 64, "torchtitan");
  EXPECT_EQ(placement(job, l).layout.etp, 4);
  EXPECT_EQ(placement(titan, l).layout.etp, 1);
  EXPECT_EQ(placement(job, l).layout.cp_kind, ContextKind::ring);
  EXPECT_EQ(placement(titan, l).layout.cp_kind, ContextKind::all_gather);
  Layout stated = l;
  stated.etp = 2;
  EXPECT_EQ(placement(job, stated).layout.etp, 2);
}

TEST(Placement, StagesHoldWhatIsStated) {
  const Job job = test_job(llama(60, 4096, 14336, 32, 8), 8, 4096, 64);
  const Placement p = placement(job, {.pp = 8, .vp = 4, .stages = {4, 8, 8, 8, 8, 8, 8, 8}});
  ASSERT_EQ(p.stages.size(), 8U);
  EXPECT_EQ(p.stages[0].layers, 4);
  EXPECT_EQ(p.stages[0].chunks.size(), 4U);
  EXPECT_EQ(p.stages[0].chunks[1], (Chunk{.stage = 0, .first = 15, .layers = 1}));
  EXPECT_EQ(p.stages[7].layers, 8);
  EXPECT_TRUE(p.stages[7].chunks.back().head);
  EXPECT_GT(p.stages[0].in_flight, p.stages[7].in_flight);
}

// Parameters of all ranks that differ are the model's, apart from the padding of the vocabulary.
TEST(Placement, HoldsTheModelOnce) {
  for (const char* name : {"llama-3.1-8b", "llama-3.2-1b", "mixtral-8x7b", "deepseek-v3", "qwen3-30b-a3b"}) {
    Transformer model = load_model(name);
    model.extra_params = model.extra_params_per_layer = 0;
    const double whole = parameter_counts(model).total + parameter_counts(model).mtp;
    const Job job =
        with_stack(test_job(model, 8, 4096, 64, "generic"), [](Framework& stack) { stack.rules.vocab_multiple = 1; });
    const int ep = model.is_moe() ? 8 : 1;
    const Placement p = placement(job, {.dp = 8, .ep = ep});
    const RankParameters& held = p.stages.front().parameters;
    EXPECT_NEAR((held.dense + held.experts * ep) / whole, 1, 1e-3) << name;
    double staged = 0;
    for (const StagePlace& stage : placement(job, {.pp = 4, .dp = 2}).stages) {
      staged += stage.parameters.dense + stage.parameters.experts;
    }
    const double copy = model.tied_embeddings ? static_cast<double>(model.vocab) * model.hidden : 0;
    EXPECT_NEAR((staged - copy) / whole, 1, 1e-3) << name;
  }
}

// DualPipe has embedding and head on the first stage and on the last one, where a tied head is the embedding.
TEST(Placement, ATiedHeadBesideItsEmbeddingIsHeldOnce) {
  Transformer model = load_model("llama-3.2-1b");
  model.extra_params = model.extra_params_per_layer = 0;
  const Job job =
      with_stack(test_job(model, 8, 4096, 64, "generic"), [](Framework& stack) { stack.rules.vocab_multiple = 1; });
  const Layout layout{.pp = 4, .dp = 2, .schedule = PipelineSchedule::dual_pipe};
  double staged = 0;
  for (const StagePlace& stage : placement(job, layout).stages) staged += stage.parameters.dense;
  EXPECT_NEAR(staged / (2 * parameter_counts(model).total), 1, 1e-3);
  const Memory held = memory(job, layout);
  const RankParameters first = placement(job, layout).stages.front().parameters;
  EXPECT_NEAR(held.weights / (state_bytes(job.recipe.states, job.precision.rest).weights * Bytes::base(first.dense)), 1,
              0.1);
}

TEST(Placement, AxesAreWhereTheFabricHasThem) {
  const Job job = test_job(llama_8b(), 64, 4096, 64);
  const Placement p = placement(job, {.tp = 8, .pp = 2, .dp = 4});
  ASSERT_EQ(p.axes.size(), 3U);
  EXPECT_EQ(p.axes[0].axis, Axis::tp);
  EXPECT_EQ(p.axes[0].place.levels.front().kind, LevelKind::scale_up);
  EXPECT_EQ(p.axes[2].axis, Axis::pp);
  EXPECT_EQ(p.axes[2].place.levels.front().kind, LevelKind::scale_out);
  // With pp before dp, two stages of tp 4 share a node.
  const Placement early = placement(job, {.tp = 4, .pp = 2, .dp = 8, .order = read_order("tp-cp-ep-pp-dp", "test")});
  EXPECT_EQ(early.axes[1].axis, Axis::pp);
  EXPECT_EQ(early.axes[1].place.levels.front().kind, LevelKind::scale_up);
}

}  // namespace
}  // namespace meshwright::parallel
