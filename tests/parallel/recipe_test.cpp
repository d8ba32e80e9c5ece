#include "meshwright/parallel/recipe.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/refusal.hpp"
#include "meshwright/parallel/constraints.hpp"
#include "meshwright/parallel/job_recipe.hpp"
#include "meshwright/parallel/memory.hpp"
#include "parallel/jobs.hpp"
#include "parallel/stated_recipe.hpp"

namespace meshwright::parallel {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

/// The job with what a "recipe" object states.
Job with(const Job& job, const char* stated) {
  return parallel::with(job, [&](JobSpec& spec) { spec.recipe = Reader::text(stated, "job.json"); });
}

std::string refusal(const Job& job, const char* stated) {
  return meshwright::refusal([&] { with(job, stated); });
}

Job on(const char* node, const Job& job) {
  return parallel::with(job, [&](JobSpec& spec) {
    spec.cluster = {.of = node, .nodes = 1};
    if (make_cluster(builtin_catalog(), node).accelerator.peak(DType::bf16).value() <= 0) spec.precision = "fp16";
  });
}

double states_of(const Recipe& recipe, DType compute) {
  const StateBytes bytes = state_bytes(recipe.states, compute);
  return bytes.weights + bytes.gradients + bytes.optimizer;
}

// Published bytes a parameter: 16 with fp16 states (ZeRO paper, arXiv 1910.02054, sec. 3.1), 18 with fp32 gradients
// (Megatron Core, docs/api-guide/dist_optimizer.md), 16 with fp32 shards (FSDP), 14 with bf16 moments
// (DeepSeek-V3, arXiv 2412.19437, sec. 3.3.1: fp32 master and gradients).
TEST(Published, BytesOfAParameter) {
  const auto of = [](const char* stack, const char* format) {
    const Job job = with_precision(test_job(llama_8b(), 8, 4096, 64, stack), format);
    return states_of(job.recipe, job.precision.rest);
  };
  EXPECT_EQ(of("megatron-core", "bf16"), 18);
  EXPECT_EQ(of("torchtitan", "bf16"), 16);
  EXPECT_EQ(of("hai-llm", "bf16"), 14);
  EXPECT_EQ(of("deepspeed", "bf16"), 20);
  EXPECT_EQ(of("deepspeed", "fp16"), 20);
  for (const Framework& stack : frameworks()) EXPECT_LE(of(stack.name.c_str(), "fp32"), 20) << stack.name;
  EXPECT_EQ(of("megatron-core", "fp32"), 16) << "fp32 weights need no second copy";
}

// deepspeed/runtime/pipe/engine.py, _bf16_reduce_grads: the fp32 gradients of the bf16 optimizer are all-reduced; fp16
// ones are reduced as they are (deepspeed/runtime/zero/stage_1_and_2.py).
TEST(Recipe, PipelinesOfDeepSpeedReduceFp32GradientsInBf16) {
  for (const char* stack : {"megatron-deepspeed", "megatron-deepspeed-2022"}) {
    const auto on_the_wire = [&](const char* format) {
      const Job job = with_precision(test_job(llama_8b(), 8, 4096, 64, stack), format);
      return bytes_of(job.recipe.states.reduce, job.precision.rest);
    };
    EXPECT_EQ(on_the_wire("bf16"), 4) << stack;
    EXPECT_EQ(on_the_wire("fp16"), 2) << stack;
  }
}

TEST(Recipe, AStackRunsTheFirstAttentionKernelThatTheDeviceHas) {
  const auto kernel = [](const char* stack, const char* node) {
    return attention_kernel(on(node, test_job(llama_8b(), 8, 4096, 64, stack))).name;
  };
  for (const char* stack : {"llm-foundry", "nanotron"}) {  // FlashAttention-2, on Hopper too
    EXPECT_EQ(kernel(stack, "dgx-a100"), "flash-2") << stack;
    EXPECT_EQ(kernel(stack, "dgx-h100"), "flash-2") << stack;
    EXPECT_EQ(kernel(stack, "dgx-1v"), "unfused") << stack;
  }
  EXPECT_EQ(kernel("megatron-core", "dgx-h100"), "vendor");
}

TEST(Recipe, OptimizersKeepWhatTheirPapersSay) {
  const auto optimizer_bytes = [](const char* name) {
    RecipeStates states;
    states.optimizer = name, states.master = StateFormat::none;
    return state_bytes(states, DType::bf16).optimizer;
  };
  EXPECT_EQ(optimizer_bytes("adamw"), 8);
  EXPECT_NEAR(optimizer_bytes("adamw-8bit"), 2, 0.05);
  EXPECT_EQ(optimizer_bytes("sgd"), 0);
  EXPECT_EQ(optimizer_bytes("sgd-momentum"), 4);
  EXPECT_EQ(optimizer_bytes("adafactor"), 0);
  EXPECT_EQ(optimizer_bytes("lion"), 4);
  EXPECT_EQ(optimizer_bytes("muon"), 4);
  // Adam over a bf16 model with fp32 states: gradient 4, master and moments 12 read and written, weights 2 written.
  EXPECT_EQ(state_bytes({}, DType::bf16).traffic, 30);
}

// meta-pytorch/torchtune issue 987: 70 B parameters over 8 GPUs with bf16 states and paged 8-bit AdamW peak at 51 GB.
TEST(Published, EightBitAdamOfTorchtune) {
  const Job job =
      with(test_job(llama(80, 8192, 28672, 64, 8, 32000), 8, 1024, 8, "torchtune"),
           R"({"states": {"weights": "compute", "gradients": "compute", "optimizer": "paged-adamw-8bit"}})");
  const Memory m = memory(job, {.dp = 8, .zero_stage = 3, .recompute = Recompute::full});
  EXPECT_NEAR((m.weights + m.gradients + m.optimizer).value(), 51e9, 0.03 * 51e9);
}

/// What a job assumes of its recipe.
std::vector<std::string> recipe_lines(const Job& job) {
  std::vector<std::string> lines;
  std::ranges::copy_if(job.assumptions, std::back_inserter(lines),
                       [](const std::string& line) { return line.starts_with("recipe "); });
  return lines;
}

TEST(Recipe, EachDefaultIsListedInAFormThatCanBeStated) {
  const Job job = test_job(mixture(4, 16, 2), 8, 4096, 64);
  const std::vector<std::string> listed = recipe_lines(job);
  EXPECT_THAT(listed,
              Contains(AllOf(HasSubstr("recipe states: "), HasSubstr("optimizer adamw"), HasSubstr("(megatron-core"))));
  EXPECT_THAT(listed, Contains(HasSubstr("dispatcher")));
  EXPECT_THAT(test_job(llama_8b(), 8, 4096, 64).assumptions, Not(Contains(HasSubstr("dispatcher"))));
  // Stating every default leaves none to list and changes nothing.
  const Job stated = with(job, stated_recipe(job).c_str());
  EXPECT_THAT(recipe_lines(stated), testing::IsEmpty());
  EXPECT_EQ(memory(stated, {.dp = 8}).reserved, memory(job, {.dp = 8}).reserved);
}

TEST(Recipe, WholePartsStandBesideAdapters) {
  const Job job = test_job(llama_8b(), 8, 4096, 64);
  EXPECT_THAT(refusal(job, R"({"trainable": {"whole": ["head"]}})"),
              AllOf(HasSubstr("job.json:/trainable/whole"), HasSubstr("kind lora")));
}

// Megatron Core, transformer_config.py: "moe_shared_expert_overlap only works with alltoall token dispatcher".
TEST(Recipe, SharedExpertsRunBesideOneDispatcher) {
  const Job moe = test_job(mixture(48, 128, 8), 8, 4096, 64);
  EXPECT_THAT(refusal(moe, R"({"kernels": {"dispatcher": "deepep", "shared_expert_overlap": true}})"),
              AllOf(HasSubstr("job.json:/kernels/shared_expert_overlap"), HasSubstr("all-to-all")));
  EXPECT_THAT(refusal(moe, R"({"kernels": {"dispatcher": "all-to-all", "shared_expert_overlap": true},
                               "activations": {"recompute_modules": ["shared_experts"]}})"),
              HasSubstr("recompute_modules"));
  EXPECT_TRUE(with(moe, R"({"kernels": {"dispatcher": "all-to-all", "shared_expert_overlap": true}})")
                  .recipe.kernels.shared_expert_overlap);
}

TEST(Recipe, AttentionIsTheBestThatTheDeviceHas) {
  const Job gpt2 = test_job(gpt(36, 1280, 20), 1, 1024, 4);
  const auto chosen = [&](const char* node) { return with(on(node, gpt2), "{}").recipe.kernels.attention; };
  EXPECT_EQ(chosen("dgx-h100"), "vendor");
  EXPECT_EQ(chosen("dgx-a100"), "vendor");
  EXPECT_EQ(chosen("dgx-1v"), "unfused") << "Volta has no flash attention";
  EXPECT_THAT(refusal(on("dgx-1v", gpt2), R"({"kernels": {"attention": "flash-2"}})"),
              AllOf(HasSubstr("job.json:/kernels/attention"), HasSubstr("V100"), HasSubstr("unfused")));
  EXPECT_THAT(refusal(on("dgx-a100", gpt2), R"({"kernels": {"attention": "fa3"}})"), HasSubstr("flash-3"));
  EXPECT_EQ(with(on("dgx-h100", gpt2), R"({"kernels": {"attention": "FA3"}})").recipe.kernels.attention, "flash-3");
}

// pytorch/torchtitan pull request 1580: checkpoints stop early, as PyTorch's do, until August 2025.
TEST(Recipe, TorchtitanStopsEarlyUntilItsOptionCame) {
  const auto stop = [](const char* release) {
    const Job job = parallel::with(test_job(llama_8b(), 8, 8192, 64, "torchtitan"),
                                   [&](JobSpec& spec) { spec.framework_version = release; });
    return job.recipe.activations.early_stop;
  };
  EXPECT_EQ(stop("2024-12"), EarlyStop::block);
  EXPECT_EQ(stop("2025-06"), EarlyStop::block);
  EXPECT_EQ(stop("2025-09"), EarlyStop::none);
  EXPECT_EQ(stop("2026-01"), EarlyStop::none);
}

// Blackwell's first kernels, and from Bridge 0.2 (cuDNN 9.13) on those that benchmarks of cuDNN 9.17 show; releases
// change nothing where there was nothing to catch up on.
// Transformer Engine, layernorm_linear.py: the norm writes fp8 bytes, and those are gathered.
TEST(Recipe, MegatronGathersInputsInTheFormatOfItsProducts) {
  const auto gathers = [](const char* node, const char* precision, const char* release) {
    const Job job = parallel::with(on(node, test_job(llama_8b(), 8, 8192, 64)), [&](JobSpec& spec) {
      spec.precision = precision, spec.framework_version = release;
    });
    return job.recipe.precision.tensor_gather;
  };
  EXPECT_EQ(gathers("dgx-h100", "bf16", "25.04"), StateFormat::compute);
  EXPECT_EQ(gathers("dgx-h100", "fp8-ds", "24.09"), StateFormat::fp8);
  EXPECT_EQ(gathers("dgx-h100", "fp8-cs", "25.04"), StateFormat::fp8);
  EXPECT_EQ(gathers("dgx-b200", "mxfp8", "26.06"), StateFormat::fp8) << "beside what the release says of mxfp8";
}

TEST(Recipe, AttentionOfBlackwellComesWithTheRelease) {
  const auto of_release = [](const char* node, const char* release) {
    return parallel::with(on(node, test_job(llama_8b(), 8, 8192, 64)),
                          [&](JobSpec& spec) { spec.framework_version = release; });
  };
  const auto chosen = [&](const char* node, const char* release) {
    return of_release(node, release).recipe.kernels.attention;
  };
  EXPECT_EQ(chosen("dgx-b200", "25.04"), "vendor-narrow");
  EXPECT_EQ(chosen("dgx-b200", "25.09"), "vendor-first");
  EXPECT_EQ(chosen("dgx-b200", "25.11"), "vendor");
  EXPECT_EQ(chosen("dgx-b200", "26.08"), "vendor");
  EXPECT_EQ(chosen("dgx-h100", "25.04"), "vendor");
  EXPECT_EQ(chosen("mi300x-oam", "25.04"), "vendor");
  EXPECT_THAT(
      refusal(on("dgx-h100", test_job(llama_8b(), 8, 8192, 64)), R"({"kernels": {"attention": "vendor-first"}})"),
      HasSubstr("no such attention kernel"));
}

// Transformer Engine, fused_attn.cpp: in training on Blackwell, keys of 192 beside values of 128 need cuDNN 9.11, which
// came with NeMo 25.09.
TEST(Recipe, WideHeadsOfBlackwellAreNotFusedBeforeTheirKernels) {
  const auto chosen = [](const char* node, const char* release) {
    const JobSpec spec{.model = "deepseek-v3",
                       .cluster = {.of = node, .nodes = 1},
                       .seq_len = 4096,
                       .global_batch = 64,
                       .framework = "megatron-core",
                       .framework_version = release};
    return make_job(spec, builtin_catalog()).recipe.kernels.attention;
  };
  EXPECT_EQ(chosen("dgx-b200", "25.04"), "unfused");
  EXPECT_EQ(chosen("dgx-b200", "25.07"), "unfused");
  EXPECT_EQ(chosen("dgx-b200", "25.09"), "vendor-first");
  EXPECT_EQ(chosen("dgx-h100", "25.04"), "vendor");
  const Job early = parallel::with(on("dgx-b200", test_job(llama(32, 8192, 14336, 32, 8), 8, 8192, 64)),
                                   [](JobSpec& spec) { spec.framework_version = "25.04"; });
  EXPECT_EQ(early.recipe.kernels.attention, "unfused") << "heads of 256";
  EXPECT_THAT(refusal(early, R"({"kernels": {"attention": "vendor-narrow"}})"),
              AllOf(HasSubstr("heads of 128 at most"), HasSubstr("256")));
}

// Megatron Core, transformer_config.py: moe_expert_capacity_factor, moe_pad_expert_input_to_capacity.
TEST(Recipe, CapacityIsWhatExpertsTake) {
  const Job moe = test_job(mixture(48, 128, 8), 8, 4096, 64);
  const Job skewed = parallel::with(moe, [](JobSpec& spec) { spec.moe_imbalance = 2; });
  const auto taken = [](const Job& job, const char* kernels) {
    return with(job, (std::string(R"({"kernels": )") + kernels + "}").c_str());
  };
  const char* all = R"({"dispatcher": "all-to-all"})";
  EXPECT_EQ(taken(skewed, all).moe_imbalance, 2);
  EXPECT_EQ(taken(skewed, R"({"dispatcher": "all-to-all", "capacity_factor": 1.25})").moe_imbalance, 1.25);
  EXPECT_EQ(taken(skewed, R"({"dispatcher": "all-to-all", "capacity_factor": 3})").moe_imbalance, 2);
  const Job padded = taken(moe, R"({"dispatcher": "all-to-all", "capacity_factor": 1.5, "pad_to_capacity": true,
                                    "static_shapes": false})");
  EXPECT_EQ(padded.moe_imbalance, 1.5) << "whoever is given less is padded";
  EXPECT_TRUE(padded.recipe.kernels.static_shapes);
  EXPECT_THAT(padded.assumptions, Contains(HasSubstr("moe_imbalance: 1.5 in place of 1")));
  EXPECT_GT(memory(padded, {.dp = 8, .ep = 8}).activations, memory(taken(moe, all), {.dp = 8, .ep = 8}).activations);
  EXPECT_THAT(refusal(moe, R"({"kernels": {"pad_to_capacity": true}})"),
              AllOf(HasSubstr("job.json:/kernels/pad_to_capacity"), HasSubstr("capacity_factor")));
  EXPECT_THAT(refusal(moe, R"({"kernels": {"dispatcher": "deepep", "capacity_factor": 1, "pad_to_capacity": true}})"),
              HasSubstr("found true with dispatcher deepep, expected all-to-all, all-gather or hybridep"));
  EXPECT_THAT(refusal(moe, R"({"kernels": {"capacity_factor": -1}})"), HasSubstr("capacity_factor"));
  EXPECT_THAT(refusal(test_job(llama_8b(), 8, 4096, 64), R"({"kernels": {"capacity_factor": 1}})"),
              HasSubstr("has no experts"));
}

// GPT-2 large on a V100 with 32 GB, micro-batch 4, 1,024 tokens: the scores of 36 layers are kept.
TEST(Recipe, KeptScoresDecideWhetherVoltaFits) {
  const Job gpt2 = test_job(gpt(36, 1280, 20), 1, 1024, 4), volta = on("dgx-1v", gpt2);
  const auto likely = [](const Job& job) { return fits_probability(job, memory(job, {.micro_batch = 4})); };
  EXPECT_LT(likely(volta), 0.3);
  const double capacity = volta.cluster.accelerator.memory_capacity.value();
  EXPECT_GT(likely(with_capacity(on("dgx-a100", gpt2), capacity)), 0.9);
}

TEST(Recipe, WrongRecipesAreRefusedWithTheirPlace) {
  const Job job = on("dgx-a100", test_job(llama_8b(), 8, 4096, 64));
  const auto says = [&](const char* stated, const char* place, const char* what) {
    EXPECT_THAT(refusal(job, stated), AllOf(HasSubstr(place), HasSubstr(what))) << stated;
  };
  says(R"({"state": {}})", "job.json", "'states'");
  says(R"({"states": {"moment": "fp32"}})", "/states", "'moments'");
  says(R"({"states": {"moments": "fp33"}})", "/states/moments", "'fp32'");
  says(R"({"states": {"optimizer": "adamm"}})", "/states/optimizer", "'adamw'");
  says(R"({"states": {"weights": "none"}})", "/states/weights", "expected a format");
  says(R"({"kernels": {"attention": "flesh-2"}})", "/kernels/attention", "'flash-2'");
  says(R"({"precision": {"attention": "fp8"}})", "/precision/attention", "A100");
  says(R"({"precision": {"low_precision_weights": true}})", "/precision/low_precision_weights", "bf16");
  says(R"({"trainable": {"kind": "lora", "rank": 0}})", "/trainable/rank", "at least 1");
  says(R"({"trainable": {"kind": "lora", "targets": []}})", "/trainable/targets", "at least one");
}

TEST(Recipe, ChunkedLossKeepsTheLogitsOfAChunk) {
  const Job job = test_job(llama_8b(), 8, 65536, 8);
  const Job chunked = with(job, R"({"loss": {"chunk_tokens": 2048}})");
  EXPECT_NEAR(memory(job, {.dp = 8}).logits / memory(chunked, {.dp = 8}).logits, 32, 1e-9);
  const Job whole = with(job, R"({"loss": {"vocabulary_parallel": false}})");
  EXPECT_NEAR(memory(whole, {.tp = 4, .dp = 2}).logits / memory(job, {.tp = 4, .dp = 2}).logits, 4, 1e-9);
}

}  // namespace
}  // namespace meshwright::parallel
