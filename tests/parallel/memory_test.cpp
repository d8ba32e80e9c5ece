#include "meshwright/parallel/memory.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <set>

#include "meshwright/parallel/band.hpp"
#include "meshwright/parallel/constraints.hpp"
#include "meshwright/parallel/prediction.hpp"
#include "meshwright/workload/presets.hpp"
#include "meshwright/workload/sections.hpp"
#include "parallel/jobs.hpp"
#include "parallel/operator_kernels.hpp"

namespace meshwright::parallel {
namespace {

constexpr double gib = 1073741824.0;

double states(const Memory& m) { return (m.weights + m.gradients + m.optimizer).value(); }

/// fp16 weights and gradients, fp32 master, momentum and variance: the 16 bytes of the ZeRO paper.
Job zero_job(int accelerators) {
  return with_recipe(test_job(gpt(36, 4096, 32, 50304), accelerators, 1024, 64, "deepspeed"),
                     R"({"states": {"accumulation": "none"}})");
}

// Rajbhandari et al. 2020, figure 1 (arxiv.org/abs/1910.02054): 7.5 B parameters on 64 devices take 120, 31.4, 16.6
// and 1.9 GB. The model here has 7.46 B: 1 %.
TEST(Published, ZeroStages) {
  const double published[] = {120e9, 31.4e9, 16.6e9, 1.9e9};
  for (int stage = 0; stage < 4; ++stage) {
    const Memory m = memory(zero_job(64), {.dp = 64, .zero_stage = stage});
    EXPECT_NEAR(states(m), published[stage], 0.02 * published[stage]) << stage;
  }
}

// Korthikanti et al. 2022, table 2 (arxiv.org/abs/2205.05198), bytes of one layer: s b h (34 + 5 a s / h) without
// parallelism, s b h (10 + 24/t + 5 a s / (h t)) with tensor, and 1/t of all of it with sequence parallelism too; the
// 34 without the attention core, 2 s b h with full recompute. 3 %: the published count leaves out small tensors.
TEST(Published, ActivationsOfOneLayer) {
  const double s = 2048, b = 2, h = 12288, a = 96, t = 8, sbh = s * b * h, core = 5 * a * s / h;
  const Job job = test_job(gpt(96, 12288, 96), 64, 2048, 64, "bignlp");
  const auto kept = [&](Layout layout) {
    layout.micro_batch = 2;
    return layer_memory(job, layout).sections[1].kept[static_cast<std::size_t>(layout.recompute)].value();
  };
  const auto expect = [](double ours, double published) { EXPECT_NEAR(ours, published, 0.03 * published); };
  expect(kept({.tp = 1}), sbh * (34 + core));
  expect(kept({.tp = 8, .sequence_parallel = false}), sbh * (10 + 24 / t + core / t));
  expect(kept({.tp = 8}), sbh / t * (34 + core));
  expect(kept({.tp = 8, .recompute = Recompute::selective}), sbh / t * 34);
  expect(kept({.tp = 8, .sequence_parallel = false, .recompute = Recompute::full}), sbh * 2);
}

// karpathy/llm.c pull request 309: 124 475 904 parameters, 237 MiB in bf16, 474 MiB for each Adam moment.
TEST(Published, SmallGptStates) {
  Transformer m = gpt(12, 768, 12, 50257);
  m.position_embeddings = 1024;
  const Memory one = memory(test_job(m, 1, 1024, 4), {.micro_batch = 4});
  EXPECT_NEAR(one.weights.value() / 1048576, 237.4, 1.0);
  EXPECT_NEAR(one.optimizer.value() / 1048576, 3 * 474.8, 6.0);
}

// hiyouga/LlamaFactory issue 5553: 16 bytes of 73.4 B parameters over four devices cannot fit 80 GB.
TEST(Published, FarTooBig) {
  const Job job = test_job(llama(80, 8192, 29568, 64, 8, 152064), 4, 2048, 4, "deepspeed");
  EXPECT_TRUE(refused_by_memory(job, {.dp = 4, .zero_stage = 3}));
  EXPECT_GT(states(memory(job, {.dp = 4, .zero_stage = 3})), 280e9);
}

// ISEEKYAN/Megatron-LM pull request 132: an fp32 copy of 8 192 x 151 936 logits is 4.637 GiB.
TEST(Published, LogitsInFp32) {
  const Job job = with_stack(with_recipe(test_job(llama(1, 2048, 8192, 16, 16, 151936), 1, 8192, 1),
                                         R"({"loss": {"copies": 1, "width": "fp32", "chunk_tokens": 0}})"),
                             [](Framework& stack) { stack.rules.vocab_multiple = 1; });
  EXPECT_NEAR(memory(job, {}).logits.value() / gib, 4.637, 0.001);
}

// modelscope/ms-swift issue 8084: 29 B of experts over ep 8 with one replica each keep all 18 bytes: 65 GB.
TEST(Published, ExpertStatesWithoutReplicas) {
  const Job job = test_job(mixture(48, 128, 8), 8, 4096, 8);
  const Layout layout{.tp = 4, .dp = 2, .ep = 8, .etp = 1, .recompute = Recompute::full};
  const LayerMemory layers = layer_memory(job, layout);
  EXPECT_NEAR(48 * 18 * layers.sections[1].expert_parameters, 65e9, 1e9);
}

/// What users reported of their own runs: did it fit?
struct Report {
  const char* url;
  Job job;
  Layout layout;
  double capacity_gib;
  bool runs;
};

Job fp16_job(Transformer model, int accelerators, int seq_len, int batch, const std::string& stack) {
  return with_precision(test_job(std::move(model), accelerators, seq_len, batch, stack), "fp16");
}

Job offloaded(const Job& job) { return with_recipe(job, R"({"offload": {"optimizer": true}})"); }

std::vector<Report> reports() {
  const Transformer llama2 = llama(32, 4096, 11008, 32, 32, 32000);
  Transformer neox = gpt(44, 6144, 64, 50432), large = gpt(40, 5120, 40, 50304);
  neox.tied_embeddings = large.tied_embeddings = false;
  const Recompute full = Recompute::full;
  return {
      {"https://github.com/alibaba/Megatron-LLaMA/issues/11",
       test_job(llama2, 2, 4096, 64),
       {.tp = 2, .micro_batch = 4},
       80,
       false},
      {"https://github.com/alibaba/Megatron-LLaMA/issues/11",
       test_job(llama2, 4, 4096, 64),
       {.tp = 2, .dp = 2, .micro_batch = 4},
       80,
       true},
      {"https://github.com/EleutherAI/gpt-neox/issues/409",
       fp16_job(large, 8, 2048, 64, "gpt-neox"),
       {.tp = 8, .sequence_parallel = false},
       40,
       false},
      {"https://github.com/EleutherAI/gpt-neox/issues/707",
       fp16_job(neox, 24, 2048, 64, "gpt-neox"),
       {.tp = 4, .pp = 6, .sequence_parallel = false, .recompute = full},
       40,
       true},
      {"https://github.com/hiyouga/LlamaFactory/issues/1221",
       fp16_job(llama2, 8, 2048, 64, "llama-factory"),
       {.dp = 8, .zero_stage = 2, .recompute = full},
       32,
       false},
      {"https://github.com/hiyouga/LlamaFactory/issues/1221",
       fp16_job(llama2, 8, 2048, 64, "llama-factory"),
       {.dp = 8, .zero_stage = 3, .recompute = full},
       32,
       true},
      {"https://github.com/hiyouga/LlamaFactory/issues/5977",
       fp16_job(llama_8b(), 8, 1024, 8, "llama-factory"),
       {.dp = 8, .zero_stage = 3, .recompute = full},
       24,
       false},
      {"https://github.com/hiyouga/LlamaFactory/issues/5977",
       offloaded(fp16_job(llama_8b(), 8, 1024, 8, "llama-factory")),
       {.dp = 8, .zero_stage = 3, .recompute = full},
       24,
       true},
      {"https://github.com/hiyouga/LlamaFactory/issues/5590",
       test_job(llama(80, 8192, 29568, 64, 8, 152064), 16, 2048, 16, "llama-factory"),
       {.dp = 16, .zero_stage = 3, .recompute = full},
       80,
       false},
      {"https://github.com/simplescaling/s1/issues/25",
       test_job(llama(64, 5120, 27648, 40, 8, 152064), 16, 8192, 16, "fsdp"),
       {.dp = 16, .zero_stage = 3, .recompute = full},
       80,
       true},
      {"https://github.com/pytorch/torchtitan/issues/620",
       test_job(llama_8b(), 1, 2048, 8, "torchtitan"),
       {.zero_stage = 3},
       80,
       false},
  };
}

TEST(Published, UserReports) {
  for (const Report& report : reports()) {
    const Job job = with_capacity(report.job, report.capacity_gib * gib);
    const Memory need = memory(job, report.layout);
    EXPECT_EQ(plannable(memory_constants(job), need), report.runs)
        << report.url << " " << describe_layout(report.layout);
  }
}

TEST(Memory, MoreShardsNeverTakeMore) {
  for (const std::string stack : {"megatron-core", "torchtitan", "deepspeed", "nanotron"}) {
    double last = 1e30;
    const int most = framework(stack, "test").rules.max_zero_stage;
    for (int stage = 0; stage <= most; ++stage) {
      const double now = states(memory(test_job(llama_8b(), 64, 4096, 256, stack), {.dp = 64, .zero_stage = stage}));
      EXPECT_LE(now, last) << stack << " zero " << stage;
      last = now;
    }
    EXPECT_LT(states(memory(test_job(llama_8b(), 128, 4096, 256, stack), {.dp = 128, .zero_stage = 1})),
              states(memory(test_job(llama_8b(), 64, 4096, 256, stack), {.dp = 64, .zero_stage = 1})));
  }
}

TEST(Memory, RecomputeTakesLessAndLongerSequencesMore) {
  for (const std::string stack : {"megatron-core", "bignlp", "torchtitan"}) {
    const Job job = test_job(llama_8b(), 8, 8192, 64, stack);
    const auto activations = [&](Recompute mode) {
      return memory(job, {.tp = 2, .dp = 4, .recompute = mode}).activations;
    };
    EXPECT_LE(activations(Recompute::selective), activations(Recompute::none)) << stack;
    EXPECT_LT(activations(Recompute::full), activations(Recompute::selective)) << stack;
    const Job longer = test_job(llama_8b(), 8, 16384, 64, stack);
    EXPECT_GT(memory(longer, {.tp = 2, .dp = 4}).activations, memory(job, {.tp = 2, .dp = 4}).activations);
  }
}

TEST(Memory, FirstStageOfAPipelineIsTheWorst) {
  const Job job = test_job(llama_405b(), 512, 8192, 512);
  const Memory m = memory(job, {.tp = 8, .pp = 16, .dp = 4, .recompute = Recompute::full});
  EXPECT_LE(m.stage, 1);
  EXPECT_DOUBLE_EQ(m.allocated.value(),
                   (m.weights + m.gradients + m.optimizer + m.activations + m.logits + m.buffers).value());
  EXPECT_GT(m.reserved, m.allocated);
}

TEST(Memory, FitHasAnAnswerForEachProbability) {
  const Job job = test_job(llama_8b(), 8, 4096, 64);
  const Memory m = memory(job, {.dp = 8});
  const auto answer = [&](double capacity) {
    return fit(with_capacity(job, capacity * m.reserved.value() / job.framework.memory.usable), m);
  };
  // Where the band of peaks ends a tenth lies beyond: P(fits) is a normal distribution of the log on either side.
  const Band peaks = memory_band(job);
  ASSERT_LT(peaks.low, 1);
  ASSERT_GT(peaks.high, 1);
  EXPECT_EQ(answer(1.001 * peaks.high), Fit::fits);
  EXPECT_EQ(answer(std::pow(peaks.high, 0.6)), Fit::likely);
  EXPECT_EQ(answer(1.0), Fit::borderline);
  EXPECT_EQ(answer(std::pow(peaks.low, 0.6)), Fit::unlikely);
  EXPECT_EQ(answer(0.999 * peaks.low), Fit::does_not_fit);
  const Job tight = with_capacity(job, std::sqrt(peaks.high) * m.reserved.value() / job.framework.memory.usable);
  EXPECT_NEAR(fits_probability(tight, m), 0.739, 0.001);
  EXPECT_EQ(predict(tight, {.dp = 8}).fits_probability, fits_probability(tight, m));
}

// The rule, the prediction and what a plan rests on are one probability.
TEST(Memory, IsRefusedWhereItIsSaidNotToFit) {
  const Job job = test_job(llama_8b(), 8, 4096, 64);
  const Layout layout{.dp = 8};
  for (double room = 0.5; room < 1.5; room += 0.01) {
    const Job limited = with_capacity(job, room * memory(job, layout).reserved.value() / job.framework.memory.usable);
    const Prediction p = predict(limited, layout);
    EXPECT_EQ(violation(limited, layout).has_value(), p.fit == Fit::does_not_fit) << room;
    EXPECT_EQ(plannable(memory_constants(limited), p.memory), p.fits_probability >= 0.5 - 1e-9) << room;
  }
}

TEST(Memory, OffloadedOptimizerLeavesTheDevice) {
  EXPECT_EQ(memory(offloaded(test_job(llama_8b(), 8, 4096, 64)), {.dp = 8}).optimizer, Bytes{});
}

// ZeRO-Offload and ZeRO-Infinity: what the host holds, the device does not.
TEST(Memory, OffloadedShardsLeaveTheDevice) {
  const Job job = test_job(llama_8b(), 8, 4096, 64, "deepspeed");
  const Layout layout{.dp = 8, .zero_stage = 3};
  const Job host = with_recipe(job, R"({"offload": {"optimizer": true, "gradients": true, "parameters": true}})");
  const Memory m = memory(host, layout);
  EXPECT_EQ(m.weights + m.gradients + m.optimizer, Bytes{});
  EXPECT_GT(memory(job, layout).weights, Bytes{});
  EXPECT_THAT(host.assumptions, testing::Contains(testing::HasSubstr("offload: shards")));
}

// meta-pytorch/torchtune, Llama-2-7B on one device, bf16 states: AdamW peaks at 54 GB, and at 67 GB with the
// intermediates that `foreach` makes of all parameters at once.
TEST(Published, IntermediatesOfAnUpdateOfAllParameters) {
  const Job job = test_job(llama(32, 4096, 11008, 32, 32, 32000), 1, 512, 1, "torchtune");
  const auto peak = [&](const char* foreach) {
    const std::string recipe = R"({"states": {"weights": "compute", "gradients": "compute", "master": "none",
                                   "moments": "compute", "foreach_temporaries": )" +
                               std::string(foreach) + "}}";
    const Memory m = memory(with_recipe(job, recipe.c_str()), {.recompute = Recompute::full});
    return states(m) + (m.activations + m.logits + m.update).value();
  };
  EXPECT_NEAR(peak("true"), 67e9, 0.01 * 67e9);
  EXPECT_NEAR(peak("false"), 54e9, 0.03 * 54e9) << "and next to no activations";
}

TEST(Memory, AnUpdateAddsOnlyWhatThePassesDidNotHold) {
  const char* recipe = R"({"states": {"foreach_temporaries": true}})";
  const Job job = with_recipe(test_job(llama_8b(), 8, 4096, 64), recipe);
  const Memory few = memory(job, {.dp = 8, .recompute = Recompute::full}),
               many = memory(job, {.dp = 8, .micro_batch = 8});
  EXPECT_GT(few.update, Bytes{});
  EXPECT_EQ(many.update, Bytes{}) << "activations take more, and are gone by then";
  EXPECT_EQ(few.allocated,
            few.weights + few.gradients + few.optimizer + few.activations + few.logits + few.update + few.buffers);
}

// Megatron Core, core/distributed/param_and_grad_buffer.py: with the distributed optimizer, bf16 weights stand beside
// the bf16 buffer that they are copied into and the fp32 gradients: 8 bytes a parameter, before any state is there.
TEST(Published, WeightsOnTheirWayIntoBuffers) {
  const Job job = test_job(llama_8b(), 64, 512, 64);
  const Memory short_ones = memory(job, {.dp = 64, .recompute = Recompute::full});
  EXPECT_GT(short_ones.start_up, Bytes{});
  EXPECT_NEAR(short_ones.allocated / (short_ones.weights / 2), 8, 1e-9);
  EXPECT_GT(short_ones.reserved, short_ones.allocated) << "it has to fit";
  EXPECT_EQ(memory(job, {.dp = 64, .zero_stage = 0, .recompute = Recompute::full}).start_up, Bytes{})
      << "without buffers of weights";
  EXPECT_EQ(memory(test_job(llama_8b(), 64, 32768, 64), {.dp = 64}).start_up, Bytes{}) << "a step takes more";
  EXPECT_EQ(memory(with_stack(job, [](Framework& stack) { stack.start_up = {}; }), {.dp = 64}).start_up, Bytes{});
}

TEST(Memory, APeakBeforeTheFirstStepDecides) {
  const Job job = test_job(llama_8b(), 64, 512, 64);
  const Layout layout{.dp = 64, .recompute = Recompute::full};
  const Memory m = memory(job, layout);
  const Job small = with_capacity(job, m.reserved.value() / job.framework.memory.usable);
  const Prediction p = predict(small, layout);
  EXPECT_NE(p.fit, Fit::fits);
  EXPECT_THAT(p.warnings, testing::Contains(testing::HasSubstr("the peak is before the first step")));
  EXPECT_THAT(predict(job, layout).warnings, testing::Not(testing::Contains(testing::HasSubstr("first step"))));
}

// DeepSpeed, runtime/zero/stage3.py, initialize_optimizer_states: one fp32 gradient buffer of the largest sub-group.
TEST(Memory, GradientsOfZeroOfASubGroupMakeOptimizerStates) {
  const Job job = test_job(llama_8b(), 8, 512, 8, "deepspeed");
  const Layout layout{.dp = 8, .zero_stage = 3, .recompute = Recompute::full};
  EXPECT_EQ(memory(job, layout).start_up, Bytes{}) << "gradients and buffers of a step take more";
  const auto beside = [&](double most) {
    const Memory m = memory(with_stack(job,
                                       [&](Framework& stack) {
                                         stack.start_up = {.zero_gradient_bytes = 1000, .zero_gradients_most = most};
                                       }),
                            layout);
    return (m.allocated - m.weights - m.optimizer).value();
  };
  EXPECT_NEAR(beside(1e8), 1e11, 1);
  EXPECT_GT(beside(0), 5 * beside(1e8)) << "the share of a billion parameters";
  EXPECT_EQ(beside(0), beside(1e12));
}

// huggingface/transformers, pull request 25107: each process of a node loads the model in fp32, 160 GB each of a model
// of 40 B; DeepSpeed's ZeRO 1 and 2 flatten two bf16 copies on the host, and ZeRO 3 shards weights as they are built.
TEST(Published, HostMemoryOfRanksThatBuildTheModel) {
  const auto whole = [](const char* stack) {
    return memory(test_job(llama_8b(), 8, 4096, 64, stack), {.dp = 8, .zero_stage = 0}).weights;
  };
  const auto built = [](const char* stack, int zero_stage) {
    return host_start_up(test_job(llama_8b(), 8, 4096, 64, stack), {.dp = 8, .zero_stage = zero_stage}).value();
  };
  const double fsdp = 8 * whole("pytorch-fsdp").value(), zero = 8 * 2 * whole("deepspeed").value();
  EXPECT_NEAR(built("pytorch-fsdp", 3), fsdp, 1e-9 * fsdp);
  EXPECT_NEAR(built("deepspeed", 2), zero, 1e-9 * zero);
  EXPECT_EQ(built("deepspeed", 3), 0);
  EXPECT_EQ(built("torchtitan", 3), 0) << "on the meta device";
  EXPECT_EQ(built("megatron-core", 1), 0) << "on the device";
}

TEST(Memory, AHostThatCannotBuildTheModelIsWarnedOf) {
  const auto warnings = [](double bytes) {
    return predict(with(test_job(llama_8b(), 8, 4096, 64, "pytorch-fsdp"),
                        [&](JobSpec& spec) { spec.cluster.node.host_memory = Bytes::base(bytes); }),
                   {.dp = 8, .zero_stage = 3})
        .warnings;
  };
  EXPECT_THAT(warnings(200e9), testing::Contains(testing::HasSubstr("where every rank builds its weights")));
  EXPECT_THAT(warnings(2e12), testing::Not(testing::Contains(testing::HasSubstr("every rank builds"))));
}

// DeepSpeed, estimate_zero3_model_states_mem_needs: 16 bytes a parameter in host memory, over all nodes.
TEST(Published, HostMemoryOfAnOffloadedOptimizer) {
  const auto job = [](int accelerators) {
    return with_recipe(test_job(mixture(48, 128, 8), accelerators, 4096, 64, "deepspeed"),
                       R"({"offload": {"optimizer": true}})");
  };
  EXPECT_NEAR(memory(job(8), {.dp = 8, .zero_stage = 2}).host.value(), 488e9, 0.02 * 488e9);
  EXPECT_NEAR(memory(job(16), {.dp = 16, .zero_stage = 2}).host.value(), 244e9, 0.02 * 244e9);
  EXPECT_EQ(memory(test_job(mixture(48, 128, 8), 8, 4096, 64, "deepspeed"), {.dp = 8, .zero_stage = 2}).host, Bytes{});
}

TEST(Memory, MoreThanTheHostHasIsRefused) {
  const auto job = [](double bytes) {
    return with(test_job(mixture(48, 128, 8), 8, 4096, 64, "deepspeed"), [&](JobSpec& spec) {
      spec.recipe = Reader::text(R"({"offload": {"optimizer": true}})", "recipe.json");
      spec.cluster.node.host_memory = Bytes::base(bytes);
    });
  };
  const Layout layout{.dp = 8, .zero_stage = 3};
  const auto refused = violation(job(400e9), layout);
  ASSERT_TRUE(refused.has_value());
  EXPECT_EQ(refused->rule, "host memory");
  EXPECT_THAT(refused->needed, testing::MatchesRegex("4[0-9.]+ GB a node"));
  EXPECT_EQ(refused->available, "400 GB");
  EXPECT_EQ(predict(job(400e9), layout).fit, Fit::does_not_fit);
  EXPECT_THAT(predict(job(400e9), layout).warnings,
              testing::Contains(testing::HasSubstr("host memory: does not hold")));
  EXPECT_EQ(refusal(job(1e12), layout), nullptr);
  EXPECT_THAT(predict(job(1e12), layout).warnings,
              testing::Contains(testing::HasSubstr("host memory: a node holds 48")));
  EXPECT_THAT(predict(job(2e12), layout).warnings, testing::Not(testing::Contains(testing::HasSubstr("host memory"))));
}

TEST(Memory, ActivationsThatLeaveTheDeviceAreOnTheHost) {
  const Job job = test_job(llama_8b(), 8, 8192, 64, "torchtitan");
  const Layout layout{.dp = 8, .zero_stage = 3, .recompute = Recompute::full};
  const Memory here = memory(job, layout),
               there = memory(with_recipe(job, R"({"offload": {"activations": true}})"), layout);
  EXPECT_NEAR(there.host.value(), 8 * (here.activations - there.activations).value(), 1);
  EXPECT_GT(there.host, Bytes{});
}

// Where parts of blocks are done again, the link carries their inputs: so does the host hold, all but two blocks'.
TEST(Memory, SelectiveRecomputeMovesTheInputsOfBlocks) {
  const Job job = test_job(llama_8b(), 8, 8192, 64);
  const Layout layout{.dp = 8, .recompute = Recompute::selective};
  const Memory here = memory(job, layout),
               there = memory(with_recipe(job, R"({"offload": {"activations": true}})"), layout);
  const double inputs = 30 * 2.0 * 8192 * 4096;
  EXPECT_NEAR(there.host.value(), 8 * inputs, 1);
  EXPECT_NEAR((here.activations - there.activations).value(), inputs, 1);
}

// torchtitan, Qwen3-32B on 32 H100 with 96 GB, tp 8, full recompute, 4,096 tokens: peaks of 43.5 and 70.8 GiB with 16
// and 32 sequences; without the tensors of whole width that DTensor's gathers and scatters make, 37.4 and 57.6 are
// left.
TEST(Published, TensorsThatTensorRanksDoNotShare) {
  Transformer qwen = llama(64, 5120, 25600, 64, 8, 151936);
  qwen.head_dim = 128;
  const auto peak = [&](int micro_batch) {
    const Job job = with(test_job(qwen, 32, 4096, 4 * micro_batch, "torchtitan"),
                         [](JobSpec& spec) { spec.cluster = {.of = "grand-teton-96gb", .accelerators = 32}; });
    return memory(job, {.tp = 8, .dp = 4, .micro_batch = micro_batch, .zero_stage = 3, .recompute = Recompute::full})
               .reserved.value() /
           gib;
  };
  EXPECT_NEAR(peak(16), 43.5, 0.03 * 43.5);
  EXPECT_NEAR(peak(32), 70.8, 0.03 * 70.8);
}

TEST(Memory, IsThatOfTheWorstStage) {
  const Job job = test_job(llama_8b(), 64, 4096, 512);
  for (const Layout& layout :
       {Layout{.tp = 2, .pp = 4, .dp = 8}, Layout{.pp = 8, .vp = 2, .dp = 8}, Layout{.dp = 64}}) {
    const std::vector<Memory> stages = memory_by_stage(job, layout);
    ASSERT_EQ(stages.size(), static_cast<std::size_t>(layout.pp));
    const Memory worst = memory(job, layout);
    for (int stage = 0; stage < layout.pp; ++stage) {
      EXPECT_EQ(stages[stage].stage, stage);
      EXPECT_LE(stages[stage].reserved, worst.reserved);
    }
    EXPECT_EQ(stages[worst.stage].reserved, worst.reserved);
  }
}

TEST(Memory, DualPipeHoldsParametersTwice) {
  const Job job = test_job(llama(32, 4096, 14336, 32, 8), 64, 4096, 512, "hai-llm");
  const Memory one = memory(job, {.pp = 8, .dp = 8});
  const Memory two = memory(job, {.pp = 8, .dp = 8, .schedule = PipelineSchedule::dual_pipe});
  EXPECT_GT(two.weights, 1.5 * one.weights);
}

}  // namespace
// arXiv 2412.19437, 3.2.3 and 3.3.3: trained without full recompute on devices of 80 GB.
TEST(Published, DeepSeekV3FitsAsItWasTrained) {
  JobSpec spec{.model = "deepseek-v3", .seq_len = 4096, .global_batch = 15360};
  spec.precision = "fp8-block", spec.framework = "hai-llm";
  spec.cluster = {.of = "dgx-h800", .accelerators = 2048};
  const Job job = make_job(spec, builtin_catalog());
  Layout layout{.pp = 16, .dp = 128, .ep = 64, .recompute = Recompute::selective};
  layout.schedule = PipelineSchedule::dual_pipe;
  EXPECT_FALSE(violation(job, complete(job, layout)));
  layout.recompute = Recompute::none;
  EXPECT_TRUE(violation(job, complete(job, layout)));
}

// A module drops what it makes again: latent attention's q, k and v and the two inputs that they are made of, the
// inputs of the experts' second product, and what follows norms.
TEST(Memory, ModulesDropWhatTheyMakeAgain) {
  JobSpec spec{.model = "deepseek-v3", .seq_len = 4096, .global_batch = 256};
  spec.cluster = {.of = "dgx-h100", .accelerators = 64};
  const Job plain = make_job(spec, builtin_catalog());
  const auto dropped = [&](const char* modules) {
    const Job job = with_recipe(plain, modules);
    const BlockMemory block = layer_memory(job, {.dp = 64, .ep = 64}).sections[2];
    return (block.kept[0] - block.kept[1]).value();
  };
  const double tokens = 4096, e = 2;
  const double qkv = 128 * (192 + 192 + 128), up = 1536 + 512, experts = 8 * 2048;
  EXPECT_NEAR(dropped(R"({"activations": {"recompute_modules": ["mla_up_proj"]}})"), e * tokens * (qkv + up), 1);
  EXPECT_NEAR(dropped(R"({"activations": {"recompute_modules": ["moe_act"]}})"), e * tokens * experts, 1);
  EXPECT_NEAR(dropped(R"({"activations": {"recompute_modules": ["layernorm"]}})"), e * tokens * 2 * 7168, 1);
}

// A module that names no operator would silently redo nothing.
TEST(Memory, ModulesNameOperatorsOfSomeModel) {
  std::set<std::string, std::less<>> names;
  const Precision& format = workload::precision("bf16", "test");
  for (const Transformer& model : workload::model_presets()) {
    for (const workload::ModelSection& section : workload::model_sections(model)) {
      for (const Operator& op : workload::section_operators(model, section, 1, 4096, {}, format))
        names.emplace(op.name);
    }
  }
  for (std::size_t i = 0; i < recompute_module_names.size(); ++i) {
    const auto operators = operators_of(static_cast<RecomputeModule>(i));
    EXPECT_FALSE(operators.empty()) << recompute_module_names[i];
    for (const std::string_view name : operators) EXPECT_TRUE(names.contains(name)) << name;
  }
}

// The up-projections of latent attention are named by recipes of stacks whatever the model.
TEST(Memory, ModulesThatAModelLacksDropNothing) {
  const Job dense = test_job(llama_8b(), 8, 4096, 64);
  const BlockMemory block =
      layer_memory(with_recipe(dense, R"({"activations": {"recompute_modules": ["mla_up_proj", "moe_act"]}})"),
                   {.dp = 8})
          .sections[1];
  EXPECT_EQ(block.kept[0], block.kept[1]);
}

TEST(Memory, WeightsInTheFormatOfTheProductsAlone) {
  const Job job = with(test_job(llama_8b(), 8, 4096, 64), [](JobSpec& spec) {
    spec.cluster = {.of = "dgx-b200", .accelerators = 8};
    spec.precision = "mxfp8";
  });
  const Job alone = with_recipe(job, R"({"precision": {"low_precision_weights": true}})");
  const Layout layout{.tp = 8};
  const double linear = layer_memory(job, layout).sections[1].gemm_parameters * 32;
  const double copies = job.framework.memory.cached_weight_bytes;
  EXPECT_NEAR((memory(job, layout).weights - memory(alone, layout).weights).value(),
              (2 + copies - std::max(1.0, copies)) * linear, 1e-3 * linear);
}

// What is gathered layer by layer has its copies in eight bits as long: NVIDIA trains Llama-3-70B so on 64 GB200 in fp8
// (NeMo 25.04, Megatron FSDP), where copies of all weights alone would take 139 of 186 GB.
TEST(Memory, CopiesOfGatheredWeightsAreOfAFewLayers) {
  const Transformer model = llama(80, 8192, 28672, 64, 8);
  const Job plain = test_job(model, 64, 8192, 128), low = with_precision(plain, "fp8-cs");
  const Layout layout{.dp = 64, .zero_stage = 3};
  const LayerMemory layers = layer_memory(low, layout);
  const double copies = low.framework.memory.cached_weight_bytes, block = layers.sections[1].gemm_parameters;
  EXPECT_GT(80 * block * copies, 130e9);
  EXPECT_NEAR(memory(low, layout).weights.value(), memory(plain, layout).weights.value(), 1e6);
  const double more = (memory(low, layout).buffers - memory(plain, layout).buffers).value();
  EXPECT_NEAR(more, copies * low.framework.memory.gathered_layers * block, 0.25 * more) << "of two blocks";
  const Layout replicated{.tp = 8, .dp = 8};
  EXPECT_NEAR((memory(low, replicated).weights - memory(plain, replicated).weights).value(), 10 * block * copies,
              0.01 * 10 * block * copies);
}

// unsloth/Meta-Llama-3.1-8B-bnb-4bit on Hugging Face: 5.70 GB. Embedding, head and norms stay in 16 bits.
TEST(Memory, FrozenWeightsInFourBitsAreThoseOfLinearLayers) {
  const Job plain = test_job(llama_8b(), 8, 4096, 64, "pytorch-fsdp");
  const auto of = [&](const char* trainable) {
    return with_recipe(plain, (std::string(R"({"trainable": {"kind": "lora", )") + trainable + "}}").c_str());
  };
  const Job four = of(R"("base": "int4")"), gptq = of(R"("base": "int4", "unpacking": "elementwise")");
  const Job whole = of(R"("base": "compute")");
  const Layout replicated{.dp = 8, .zero_stage = 0, .recompute = Recompute::full};
  const double adapters = 2.0 * 42e6;  // of rank 16 on every linear layer
  EXPECT_NEAR(memory(four, replicated).weights.value(), 5.70e9 + adapters, 0.02 * 5.70e9);
  EXPECT_EQ(memory(four, replicated).weights, memory(gptq, replicated).weights);
  // bitsandbytes' are parameters, cut over ranks and gathered as they are; AutoGPTQ's are buffers, whole everywhere.
  const Layout sharded{.dp = 8, .zero_stage = 3, .recompute = Recompute::full};
  const double linear = layer_memory(four, sharded).sections[1].gemm_parameters * 32, packed = 0.5 + 0.127 / 8;
  EXPECT_NEAR(memory(four, sharded).weights.value(), memory(four, replicated).weights.value() / 8, 1e6);
  EXPECT_NEAR((memory(gptq, sharded).weights - memory(four, sharded).weights).value(), 7.0 / 8 * packed * linear,
              0.01 * packed * linear);
  EXPECT_LT(memory(four, sharded).buffers, memory(whole, sharded).buffers);
  EXPECT_LT(memory(gptq, sharded).buffers, memory(four, sharded).buffers);
  // An offload of parameters takes them as they rest; buffers are no parameters.
  const auto moved = [&](const char* trainable) {
    return with_recipe(
        plain, (std::string(R"({"offload": {"parameters": true}, "trainable": {"kind": "lora", )") + trainable + "}}")
                   .c_str());
  };
  const Memory host = memory(moved(R"("base": "int4")"), sharded);
  EXPECT_EQ(host.weights, Bytes{});
  EXPECT_NEAR(host.host.value(), 8 * memory(four, sharded).weights.value(), 1e6);
  const Memory buffers = memory(moved(R"("base": "int4", "unpacking": "elementwise")"), sharded);
  EXPECT_NEAR(buffers.weights.value(), packed * linear, 0.01 * packed * linear);
  // What the products read is kept for the backward pass: of the block that is done again.
  const BlockMemory fused = layer_memory(four, replicated).sections[1];
  const BlockMemory elementwise = layer_memory(gptq, replicated).sections[1];
  EXPECT_NEAR((elementwise.redone[2] - fused.redone[2]).value(), 2 * linear / 32, 1);
  EXPECT_EQ(elementwise.kept[2], fused.kept[2]);
}

// PEFT's modules_to_save: embedding and head are copied and trained beside adapters, with states of their own.
TEST(Memory, PartsTrainedWholeBesideAdapters) {
  const Job plain = test_job(llama(40, 5120, 13696, 40, 40, 152064), 1, 1024, 8, "pytorch-fsdp");
  const Job adapters = with_recipe(plain, R"({"trainable": {"kind": "lora"}})");
  const Job whole = with_recipe(plain, R"({"trainable": {"kind": "lora", "whole": ["embedding", "head"]}})");
  const Layout l{.dp = 1, .zero_stage = 0, .recompute = Recompute::full};
  const Memory a = memory(adapters, l), b = memory(whole, l);
  const double parts = 2.0 * 152064 * 5120;
  const StateBytes bytes = state_bytes(plain.recipe.states, DType::bf16);
  EXPECT_NEAR((b.weights - a.weights).value(), bytes.weights * parts, 0.001 * bytes.weights * parts);
  EXPECT_NEAR((b.gradients - a.gradients).value(), bytes.gradients * parts, 0.001 * bytes.gradients * parts);
  EXPECT_NEAR((b.optimizer - a.optimizer).value(), bytes.optimizer * parts, 0.001 * bytes.optimizer * parts);
}

// Megatron Core's activation_func_fp8_input_store: a byte of each instead of two.
TEST(Memory, InputsOfNonlinearitiesInEightBits) {
  const Job job = test_job(llama_8b(), 8, 4096, 64);
  const Job eight = with_recipe(job, R"({"activations": {"activation_input": "fp8"}})");
  const auto kept = [](const Job& j) { return layer_memory(j, {.tp = 8}).sections[1].kept[0].value(); };
  EXPECT_NEAR(kept(job) - kept(eight), 4096.0 * 2 * 14336 / 8, 1e-3 * kept(job));
  // Once, in 12 bits, where the projection's input was kept in 16.
  const Job once = with_recipe(job, R"({"activations": {"attention_output": "e5m6"}})");
  EXPECT_NEAR(kept(job) - kept(once), 4096.0 * 0.5 * 4096 / 8, 1e-3 * kept(job));
}

/// What is reserved beyond states, context and what comes and goes with its fragmentation: what a host ahead holds.
static double ahead(const Job& job, const Layout& layout) {
  const Memory m = memory(job, layout);
  const double work = m.allocated.value() - states(m);
  return m.reserved.value() - states(m) - job.framework.memory.fragmentation * work - m.context.value();
}

// nanotron's sweep: models of 16 to 80 layers hold the gathered inputs of about 26 blocks, the queue of launches, and
// none where the hosts of a pipeline wait for each other in every micro-batch.
TEST(Memory, AHostRunsAheadByItsQueueOfLaunches) {
  const auto job = [](int layers, int accelerators) {
    return test_job(llama(layers, 4096, 14336, 32, 32, 49152), accelerators, 4096, 256, "nanotron");
  };
  const double shallow = ahead(job(8, 16), {.tp = 16}), deep = ahead(job(16, 16), {.tp = 16});
  EXPECT_NEAR(shallow, 26 * 4 * 4096.0 * 4096 * 15 / 16, 1e-6 * shallow);
  EXPECT_NEAR(shallow, deep, 1e-6 * deep);
  EXPECT_GT(ahead(job(16, 64), {.tp = 16, .pp = 4}), 0.1 * deep);
  EXPECT_NEAR(ahead(job(16, 128), {.tp = 32, .pp = 4}), 0, 1e-6 * deep);
}

}  // namespace meshwright::parallel
