#include "meshwright/parallel/constraints.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "meshwright/parallel/prediction.hpp"
#include "parallel/jobs.hpp"

namespace meshwright::parallel {
namespace {

using testing::HasSubstr;

/// The rule that refuses, "" where none does.
std::string_view refused(const Transformer& model, const Layout& layout, int seq_len = 4096,
                         const std::string& stack = "megatron-core", int global_batch = 0) {
  const int batch = global_batch > 0 ? global_batch : layout.dp * layout.micro_batch * layout.pp * 4;
  const Rule rule = refused_by(test_job(model, layout.accelerators(), seq_len, batch, stack), layout);
  return rule == nullptr ? "" : rule->name;
}

// Megatron Core, transformer_config.py: "disable moe_shared_expert_overlap when enabling
// overlap_moe_expert_parallel_comm".
TEST(Constraints, SharedExpertsOrAnotherMicroBatchBesideTheExchange) {
  const Job job = test_job(mixture(48, 128, 8), 8, 4096, 64);
  const Job shared = with_recipe(job, R"({"kernels": {"dispatcher": "all-to-all", "shared_expert_overlap": true}})");
  const Layout layout{.dp = 8, .ep = 8, .ep_comm_overlap = true};
  EXPECT_EQ(refused_by(job, layout), nullptr);
  const Rule rule = refused_by(shared, layout);
  ASSERT_NE(rule, nullptr);
  EXPECT_EQ(rule->name, "ep_comm_overlap");
  EXPECT_EQ(violation_of(shared, layout, rule).needed, "recipe kernels shared_expert_overlap false");
}

// Megatron Core by its tags: FSDP of its own since 0.12, in CUDA graphs and beside the overlap of experts since 0.18
// (mcore_fsdp_adapter.py), experts apart from tensor ranks since 0.10, their overlap since 0.14.
TEST(Constraints, ReleasesOfMegatronHaveTheirOwn) {
  const auto refused_in = [](const char* release, const Layout& layout, const char* recipe = "{}") {
    const Job job = with(test_job(mixture(48, 128, 8), 8, 4096, 64), [&](JobSpec& spec) {
      spec.framework_version = release, spec.recipe = Reader::text(recipe, "recipe.json");
    });
    const Rule rule = refused_by(job, layout);
    return std::string(rule == nullptr ? "" : rule->name);
  };
  const Layout sharded{.dp = 8, .ep = 8, .zero_stage = 3}, spread{.tp = 2, .dp = 4, .ep = 8, .etp = 1};
  for (const char* early : {"24.09", "24.12"}) EXPECT_EQ(refused_in(early, sharded), "zero_stage") << early;
  for (const char* late : {"25.04", "25.11", "26.08"}) EXPECT_EQ(refused_in(late, sharded), "") << late;
  EXPECT_EQ(refused_in("24.09", spread), "ep * etp divides tp * cp * dp");
  EXPECT_EQ(refused_in("24.12", spread), "");
  const Layout over_context{.cp = 4, .dp = 2, .ep = 8};
  EXPECT_EQ(refused_in("24.09", over_context), "ep * etp divides tp * cp * dp");
  EXPECT_EQ(refused_in("24.12", over_context), "");
  Layout overlapped{.dp = 8, .ep = 8, .ep_comm_overlap = true};
  EXPECT_EQ(refused_in("25.07", overlapped), "ep_comm_overlap");
  EXPECT_EQ(refused_in("25.09", overlapped), "");
  overlapped.zero_stage = 3;
  EXPECT_EQ(refused_in("25.11", overlapped), "zero_stage with ep_comm_overlap");
  EXPECT_EQ(refused_in("26.06", overlapped), "");
  const char* graphs = R"({"kernels": {"cuda_graphs": "partial"}})";
  EXPECT_EQ(refused_in("25.11", sharded, graphs), "zero_stage with graphs");
  EXPECT_EQ(refused_in("26.06", sharded, graphs), "");
}

// Megatron Core replays graphs of parts of a layer beside another micro-batch since 0.16, never one of a whole layer
// or of its MLP (transformer_config.py: "CUDA graph scope on moe and mlp is not supported").
TEST(Constraints, OverlapOfExpertsTakesLayersApart) {
  const auto words_in = [](const char* release, const char* recipe) {
    const Job job = with(test_job(mixture(48, 128, 8), 8, 4096, 64), [&](JobSpec& spec) {
      spec.framework_version = release, spec.recipe = Reader::text(recipe, "recipe.json");
    });
    const Layout layout{.dp = 8, .ep = 8, .ep_comm_overlap = true};
    const Rule rule = refused_by(job, layout);
    return rule == nullptr ? std::string() : violation_of(job, layout, rule).available;
  };
  const char* attention = R"({"kernels": {"cuda_graphs": "partial", "graph_parts": ["attention", "router"]}})";
  EXPECT_EQ(words_in("25.11", attention), "cuda_graphs partial");
  EXPECT_EQ(words_in("26.02", attention), "");
  EXPECT_EQ(words_in("26.02", R"({"kernels": {"cuda_graphs": "partial", "graph_parts": ["mlp"]}})"), "mlp among them");
  EXPECT_EQ(words_in("26.02", R"({"kernels": {"cuda_graphs": "per_layer"}})"), "cuda_graphs per_layer");
}

TEST(Constraints, PublishedLayoutsPass) {
  EXPECT_EQ(refused(llama_405b(), {.tp = 8, .pp = 16, .dp = 128}, 8192), "");
  EXPECT_EQ(refused(llama_405b(), {.tp = 8, .pp = 16, .vp = 8, .dp = 128}, 8192), "");
  EXPECT_EQ(refused(gpt(96, 12288, 96), {.tp = 8, .pp = 8, .dp = 16}, 2048), "");
}

TEST(Constraints, Heads) {
  Transformer forty = llama(40, 5120, 13824, 40, 40);
  EXPECT_EQ(refused(forty, {.tp = 3}), "heads % tp");  // vllm-project/vllm issue 596
  for (const int tp : {1, 2, 4, 5, 8, 10}) EXPECT_NE(refused(forty, {.tp = tp}, 4000), "heads % tp") << tp;
  Transformer small = gpt(12, 768, 12);  // hpcaitech/ColossalAI issue 3043
  EXPECT_EQ(refused(small, {.tp = 8}), "heads % tp");
  for (const int tp : {2, 4, 6, 12}) EXPECT_NE(refused(small, {.tp = tp}, 4800), "heads % tp") << tp;
}

// pytorch/torchtitan issue 2574: two kv heads cannot be cut by four there; Megatron replicates them.
TEST(Constraints, KeyValueHeadsByStack) {
  const Transformer two = llama(48, 4096, 12288, 32, 2);
  EXPECT_EQ(refused(two, {.tp = 4}, 4096, "torchtitan"), "kv_heads against tp");
  EXPECT_EQ(refused(two, {.tp = 4}, 4096, "megatron-core"), "");
  EXPECT_EQ(refused(llama(48, 4096, 12288, 32, 4), {.tp = 8}, 4096, "pytorch-fsdp"), "kv_heads against tp");
  EXPECT_EQ(refused(llama(48, 4096, 12288, 24, 3), {.tp = 4}), "kv_heads against tp");  // 4 is no multiple of 3
}

TEST(Constraints, LayersOverStages) {
  const auto layers = [](int count, int pp, int vp, StageSplit split = StageSplit::automatic) {
    return refused(llama(count, 4096, 14336, 32, 8), {.pp = pp, .vp = vp, .dp = 8, .stage_split = split});
  };
  EXPECT_EQ(layers(7, 2, 1), "layers % (pp * vp)");                     // Megatron-LM issue 381
  EXPECT_EQ(layers(30, 4, 1, StageSplit::even), "layers % (pp * vp)");  // Megatron-LM issue 1304
  EXPECT_EQ(layers(30, 4, 1, StageSplit::embedding), "");               // 30 + 2 = 32
  EXPECT_EQ(layers(46, 4, 1, StageSplit::even), "layers % (pp * vp)");  // modelscope/ms-swift issue 5737
  EXPECT_EQ(layers(40, 8, 2), "layers % (pp * vp)");                    // Megatron-LM issue 326
  EXPECT_EQ(layers(80, 16, 2), "layers % (pp * vp)");                   // Megatron-LM issue 468
  EXPECT_EQ(layers(61, 16, 1), "layers % (pp * vp)");                   // needs an explicit layout
  EXPECT_EQ(layers(61, 16, 1, StageSplit::uneven), "");
  EXPECT_EQ(layers(62, 16, 4), "");
  EXPECT_EQ(layers(8, 16, 1), "layers >= pp * vp");
  EXPECT_EQ(usual_stage_split(61, framework("megatron-core", "t"), 16, 1), StageSplit::uneven);
  EXPECT_EQ(usual_stage_split(126, framework("megatron-core", "t"), 16, 1), StageSplit::embedding);
  EXPECT_EQ(usual_stage_split(64, framework("megatron-core", "t"), 16, 1), StageSplit::even);
}

TEST(Constraints, Sequences) {
  EXPECT_EQ(refused(llama_8b(), {.cp = 2}, 7), "seq_len % (2 * cp)");  // Megatron-LM issue 1669
  EXPECT_EQ(refused(llama_8b(), {.cp = 8}, 8192), "");
  EXPECT_EQ(refused(llama_8b(), {.cp = 16}, 8200), "seq_len % (2 * cp)");
  EXPECT_EQ(refused(llama_8b(), {.tp = 8}, 4100), "seq_len / cp % tp (sequence_parallel)");
  EXPECT_EQ(refused(llama_8b(), {.tp = 8, .sequence_parallel = false}, 4100), "");
}

TEST(Constraints, Experts) {
  const Transformer m = mixture(48, 128, 8);
  // NVIDIA-NeMo/Megatron-Bridge issue 546: folded, four accelerators hold tp 4 and ep 4.
  EXPECT_EQ(refused(m, {.tp = 4, .ep = 4, .etp = 1}), "");
  EXPECT_EQ(refused(m, {.tp = 4, .ep = 4, .etp = 0}), "ep * etp divides tp * cp * dp");  // etp follows tp: 16
  EXPECT_EQ(refused(m, {.pp = 2, .vp = 24, .dp = 2, .ep = 2, .etp = 1}), "");            // NeMo issue 14838
  EXPECT_EQ(refused(m, {.dp = 48, .ep = 48}), "experts % ep");
  EXPECT_EQ(refused(m, {.dp = 8, .ep = 4, .etp = 5}), "moe_ffn_hidden % etp");
  EXPECT_EQ(refused(llama_8b(), {.dp = 8, .ep = 8}), "experts % ep");
  EXPECT_EQ(refused(m, {.tp = 4, .dp = 2, .ep = 8}, 4096, "megatron-deepspeed"), "ep * etp divides tp * cp * dp");
}

TEST(Constraints, Batches) {
  EXPECT_EQ(refused(llama_8b(), {.dp = 8, .micro_batch = 3}, 4096, "megatron-core", 256),
            "global_batch % (dp * micro_batch)");
  EXPECT_EQ(refused(llama_8b(), {.pp = 4, .vp = 2, .dp = 1}, 4096, "megatron-core", 6),
            "micro-batches % pp (interleaving)");
  EXPECT_EQ(refused(llama_8b(), {.pp = 8, .dp = 1, .zero_stage = 1}, 4096, "nanotron", 4),
            "micro-batches for the pipeline");
  EXPECT_EQ(refused(llama_8b(), {.pp = 4, .dp = 1, .schedule = PipelineSchedule::dual_pipe}, 4096, "hai-llm", 4),
            "micro-batches for the pipeline");
}

// Megatron-LM issue 750: two stages interleave only where sends overlap.
TEST(Constraints, VirtualStages) {
  EXPECT_EQ(refused(llama_8b(), {.pp = 2, .vp = 2, .dp = 4}), "");
  EXPECT_EQ(refused(llama_8b(), {.pp = 2, .vp = 2, .dp = 4, .overlap_p2p = false}), "virtual stages");
  EXPECT_EQ(refused(llama_8b(), {.vp = 2, .dp = 8}), "virtual stages");
}

TEST(Constraints, SchedulesAndSharding) {
  const Layout bubbles{.pp = 4, .dp = 2, .schedule = PipelineSchedule::zero_bubble_h1};
  EXPECT_EQ(refused(llama_8b(), bubbles), "pipeline schedule");
  const auto said = violation(test_job(llama_8b(), 8, 4096, 64), bubbles);
  ASSERT_TRUE(said.has_value());
  EXPECT_TRUE(said->needed.starts_with("a schedule of megatron-core: ")) << said->needed;
  EXPECT_NE(said->needed.find("interleaved"), std::string::npos) << said->needed;
  EXPECT_EQ(said->available, name(bubbles.schedule));
  EXPECT_EQ(refused(llama_8b(), {.pp = 4, .dp = 2, .schedule = PipelineSchedule::zero_bubble_h1}, 4096, "generic"), "");
  EXPECT_EQ(refused(llama_8b(), {.pp = 4, .dp = 2, .zero_stage = 3}), "zero_stage with a pipeline");
  EXPECT_EQ(refused(llama_8b(), {.pp = 4, .dp = 2, .zero_stage = 3}, 4096, "torchtitan"), "");
  EXPECT_EQ(refused(llama_8b(), {.dp = 8, .zero_stage = 2}, 4096, "nanotron"), "zero_stage");
  EXPECT_EQ(refused(llama_8b(), {.cp = 2, .dp = 4}, 4096, "nanotron"), "axis of the stack");
  EXPECT_EQ(refused(llama_8b(), {.tp = 2, .dp = 4}, 4096, "llm-foundry"), "axis of the stack");
  EXPECT_EQ(refused(llama_8b(), {.dp = 8, .zero_stage = 3, .hsdp_shard = 3}), "hsdp_shard");
  EXPECT_EQ(refused(llama_8b(), {.dp = 8, .zero_stage = 1, .hsdp_shard = 4}), "hsdp_shard");
  // megatron/training/arguments.py at d98e8a64dd, line 1029: --overlap-param-gather asserts --overlap-grad-reduce.
  EXPECT_EQ(refused(llama_8b(), {.dp = 8, .overlap_grad_reduce = false}), "overlap_param_gather");
  EXPECT_EQ(refused(llama_8b(), {.dp = 8, .overlap_grad_reduce = false, .overlap_param_gather = false}), "");
  EXPECT_EQ(refused(llama_8b(), {.dp = 8, .zero_stage = 0, .overlap_grad_reduce = false}), "");
  EXPECT_EQ(refused(llama_8b(), {.dp = 8, .zero_stage = 3, .overlap_grad_reduce = false}, 4096, "torchtitan"), "");
}

TEST(Constraints, EveryRefusalNamesRuleNeededAndAvailable) {
  const Layout eight{.tp = 8, .pp = 16, .dp = 128};
  Job job = test_job(llama_405b(), 16384, 8192, 2048);
  EXPECT_FALSE(constraint(job, eight));
  job = test_job(llama_405b(), 16000, 8192, 2048);
  EXPECT_EQ(constraint(job, eight)->text(), "tp * cp * pp * dp = accelerators: needs 16384, has 16000");
  job = test_job(llama(40, 5120, 13824, 40, 40), 3, 4096, 8);
  EXPECT_EQ(constraint(job, {.tp = 3})->text(), "heads % tp (megatron-core): needs a multiple of tp 3, has 40 heads");
  job = test_job(llama(30, 4096, 14336, 32, 8), 4, 4096, 16);
  EXPECT_THAT(constraint(job, {.pp = 4, .stage_split = StageSplit::even})->text(),
              HasSubstr("stage_split 'embedding'"));
}

// modelscope/ms-swift issue 5737 and Megatron-LM's uneven pipeline arguments: counts of the first and last stage.
TEST(Constraints, StatedStages) {
  const auto stages = [](int layers, int pp, int vp, std::vector<int> counts, const char* stack = "megatron-core") {
    const Layout layout{.pp = pp, .vp = vp, .dp = 2, .stages = std::move(counts)};
    const Job job = test_job(llama(layers, 4096, 14336, 32, 8), layout.accelerators(), 4096, 8 * pp, stack);
    const auto refused = constraint(job, layout);
    return refused ? refused->text() : "";
  };
  EXPECT_EQ(stages(60, 4, 3, {4, 24, 24, 8}),
            "layers of a stage % vp (megatron-core): needs a multiple of vp 3 on every stage, has 4 layers on stage 0; "
            "valid are 1, 2, 4");
  EXPECT_EQ(stages(48, 2, 1, {11, 13}),
            "stages sum to the layers: needs stages that sum to 48 layers, has 11 + 13 = 24");
  EXPECT_EQ(stages(60, 8, 4, {4, 8, 8, 8, 8, 8, 8, 8}), "");
  EXPECT_EQ(stages(60, 4, 2, {4, 24, 24, 8}), "");
  EXPECT_EQ(stages(7, 2, 2, {1, 2, 2, 2}), "");  // one count a chunk
  EXPECT_THAT(stages(60, 4, 1, {20, 20, 20}), HasSubstr("needs 4 counts, one a stage, has 3"));
  EXPECT_THAT(stages(60, 4, 1, {14, 16, 16, 14}, "maxtext"), HasSubstr("no explicit split in maxtext"));
}

// Qwen2.5-14B has 40 heads and 8 kv heads.
TEST(Constraints, HeadsUnderUlysses) {
  const Transformer model = llama(48, 5120, 13824, 40, 8);
  const auto kind = [&](int cp, ContextKind how, int tp = 1) {
    return refused(model, {.tp = tp, .cp = cp, .dp = 1, .cp_kind = how}, 2 * 5 * 32 * 40 * tp);
  };
  for (const int cp : {1, 2, 4, 8, 40}) EXPECT_EQ(kind(cp, ContextKind::ulysses), "") << cp;
  for (const int cp : {5, 10, 16, 20, 32}) {
    EXPECT_EQ(kind(cp, ContextKind::ulysses), "heads % (tp * cp) (ulysses)") << cp;
    EXPECT_EQ(kind(cp, ContextKind::ring), "") << cp;
  }
  EXPECT_EQ(kind(4, ContextKind::ulysses, 2), "");
  EXPECT_EQ(kind(8, ContextKind::ulysses, 2), "heads % (tp * cp) (ulysses)");  // 20 heads a rank
  const Layout four{.cp = 5, .cp_kind = ContextKind::ulysses};
  EXPECT_THAT(constraint(test_job(model, 5, 4000, 8), four)->text(), HasSubstr("has 40 heads and 8 kv heads"));
  EXPECT_EQ(refused(model, {.cp = 2, .cp_kind = ContextKind::ring}, 4096, "deepspeed"), "kind of context parallelism");
  EXPECT_EQ(refused(model, {.cp = 2}, 4096, "deepspeed"), "");
}

// Megatron-LM, core/transformer/moe/moe_layer.py (MoELayer.forward) at d98e8a64dd: a mixture with tensor parallelism
// trains with sequence parallelism or not at all.
TEST(Constraints, ExpertsNeedSequenceParallelism) {
  const Layout whole{.tp = 2, .dp = 4, .ep = 4, .sequence_parallel = false};
  EXPECT_EQ(refused(mixture(48, 128, 8), whole), "experts with sequence_parallel");
  EXPECT_EQ(refused(mixture(48, 128, 8), {.tp = 2, .dp = 4, .ep = 4}), "");
  EXPECT_EQ(refused(mixture(48, 128, 8), whole, 4096, "generic"), "");
  EXPECT_EQ(refused(llama_8b(), {.tp = 2, .dp = 4, .sequence_parallel = false}), "");
}

// A rule that refuses says why in words; every rule of the table refuses something.
TEST(Constraints, EveryRuleRefusesInWords) {
  const Transformer dense = llama_8b(), moe = mixture(48, 128, 8);
  struct Example {
    Transformer model;
    Layout layout;
    const char* stack = "megatron-core";
    int batch = 64, accelerators = 0;
    const char *release = "", *recipe = "{}";
  };
  const RankOrder early{{Axis::tp, Axis::cp, Axis::ep, Axis::pp, Axis::dp}};
  const Example examples[] = {
      {dense, {.tp = 2}, "megatron-core", 64, 8},
      {dense, {.cp = 2}, "nanotron"},
      {dense, {.tp = 3}},
      {dense, {.tp = 16}, "torchtitan"},
      {llama(32, 4096, 14337, 32, 8), {.tp = 2}},
      {dense, {.cp = 2, .cp_kind = ContextKind::ring}, "deepspeed"},
      {dense, {.cp = 64, .cp_kind = ContextKind::ulysses}},
      {dense, {.cp = 3}},
      {llama(32, 4608, 14400, 36, 36), {.tp = 12}},
      {dense, {.tp = 2, .tp_comm_overlap = true}, "nanotron"},
      {dense, {.dp = 3}},
      {moe, {.dp = 3, .ep = 3}, "megatron-core", 63},
      {moe, {.dp = 4, .ep = 4, .etp = 5}},
      {moe, {.dp = 4, .ep = 8}},
      {moe, {.tp = 2, .sequence_parallel = false}},
      {moe, {.pp = 2, .dp = 2, .ep = 2, .ep_comm_overlap = true}},
      {moe, {.tp = 2, .pp = 2, .dp = 2, .ep = 4, .etp = 1, .order = early}},
      {dense, {.vp = 2}},
      {dense, {.pp = 2, .schedule = PipelineSchedule::zero_bubble_v}},
      {dense, {.pp = 3, .schedule = PipelineSchedule::dual_pipe}, "generic"},
      {dense, {.pp = 2, .stages = {32}}},
      {dense, {.pp = 2, .stages = {16, 15}}},
      {dense, {.pp = 4, .vp = 2, .stages = {7, 8, 8, 9}}},
      {dense, {.pp = 64}},
      {llama(33, 4096, 14336, 32, 8), {.pp = 2}},
      {llama(2, 2048, 8192, 32, 32, 131072), {.pp = 2}, "nanotron"},
      {dense, {.pp = 4, .vp = 2}, "megatron-core", 6},
      {dense, {.pp = 4}, "nanotron", 2},
      {dense, {.recompute = Recompute::full, .recompute_layers = 3}, "nanotron"},
      {moe, {.dp = 8, .ep = 8}, "megatron-core", 64, 0, "", R"({"kernels": {"delay_wgrad": true}})"},
      {dense, {.zero_stage = 2}, "nanotron"},
      {dense,
       {.dp = 8, .zero_stage = 3},
       "megatron-core",
       64,
       0,
       "25.09",
       R"({"kernels": {"cuda_graphs": "per_layer"}})"},
      {moe, {.dp = 8, .ep = 8, .zero_stage = 2, .ep_comm_overlap = true}, "megatron-core", 64, 0, "25.09"},
      {dense, {.pp = 2, .zero_stage = 3}},
      {dense, {.dp = 8, .zero_stage = 3, .hsdp_shard = 3}},
      {dense, {.dp = 8, .overlap_grad_reduce = false}},
  };
  std::vector<int> hits(rules().size());
  for (const Example& e : examples) {
    const int used = e.accelerators > 0 ? e.accelerators : e.layout.accelerators();
    const Job job = with(test_job(e.model, used, 4096, e.batch, e.stack), [&](JobSpec& spec) {
      spec.framework_version = e.release;
      spec.recipe = Reader::text(e.recipe, "recipe.json");
    });
    const Rule rule = refused_by(job, e.layout);
    ASSERT_NE(rule, nullptr) << describe_layout(e.layout);
    ++hits[index_of(rule)];
    const Rule first = refused_whatever_states(job, e.layout);
    EXPECT_EQ(first != nullptr ? first : refused_by_states(job, e.layout), rule) << rule->name;
    for (int zero = 0; zero <= 3; ++zero) {
      Layout other = e.layout;
      other.zero_stage = zero, other.hsdp_shard = zero == 3 ? 2 : 0;
      EXPECT_EQ(refused_whatever_states(job, other), first) << rule->name;
    }
    const Violation v = violation_of(job, e.layout, rule);
    EXPECT_FALSE(v.needed.empty()) << v.rule;
    EXPECT_FALSE(v.available.empty()) << v.rule;
  }
  for (const char* shards : {"parameters", "gradients"}) {
    const std::string recipe = fmt::format(R"({{"offload": {{"{}": true}}}})", shards);
    const Job host = with_recipe(test_job(dense, 8, 4096, 64, "deepspeed"), recipe.c_str());
    const Rule rule = refused_by(host, {.dp = 8, .zero_stage = 1});
    ASSERT_NE(rule, nullptr) << shards;
    EXPECT_EQ(refused_by(host, {.dp = 8, .zero_stage = 3}), nullptr) << shards;
    EXPECT_FALSE(violation_of(host, {.dp = 8, .zero_stage = 1}, rule).needed.empty());
    ++hits[index_of(rule)];
  }
  const Job little = with(test_job(dense, 8, 4096, 64, "deepspeed"), [](JobSpec& spec) {
    spec.recipe = Reader::text(R"({"offload": {"optimizer": true}})", "recipe.json");
    spec.cluster.node.host_memory = Bytes::base(1e9);
  });
  ASSERT_EQ(refused_by(little, {.dp = 8, .zero_stage = 1}), nullptr);
  const Rule of_host = refusal(little, {.dp = 8, .zero_stage = 1});
  ASSERT_NE(of_host, nullptr);
  EXPECT_EQ(of_host->name, "host memory");
  ++hits[index_of(of_host)];
  const Job large = test_job(llama_405b(), 8, 8192, 8);
  ASSERT_EQ(refused_by(large, {.tp = 8}), nullptr);
  const Rule of_device = refusal(large, {.tp = 8});
  ASSERT_NE(of_device, nullptr);
  EXPECT_EQ(of_device->name, "device memory");
  EXPECT_TRUE(of_memory(of_host) && of_memory(of_device) && !of_memory(&rules().front()) && !of_memory(nullptr));
  ++hits[index_of(of_device)];
  for (const RuleRow& rule : rules()) EXPECT_GT(hits[index_of(&rule)], 0) << rule.name;
}

}  // namespace
}  // namespace meshwright::parallel
