#include "meshwright/parallel/launcher.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "core/refusal.hpp"
#include "meshwright/parallel/placement.hpp"
#include "meshwright/parallel/prediction.hpp"
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
  EXPECT_THAT(flags, Contains("--pipeline-model-parallel-layout 'Et*16|t*16|t*16|t*13mL'"));
  EXPECT_THAT(flags, Contains("--expert-model-parallel-size 8"));
  EXPECT_THAT(flags, Contains("--expert-tensor-parallel-size 1"));
  EXPECT_THAT(flags, Contains("--moe-layer-freq '([0]*3+[1]*58)'"));
}

TEST(Launcher, OwnDialectOfTheStack) {
  const auto nano = launcher_flags(test_job(llama_8b(), 64, 4096, 256, "nanotron"),
                                   {.tp = 8, .pp = 2, .dp = 4, .overlap_param_gather = false});
  EXPECT_THAT(nano, Contains("tokens.batch_accumulation_per_replica=64"));
  const auto zero = launcher_flags(test_job(llama_8b(), 8, 4096, 64, "deepspeed"), {.cp = 2, .dp = 4, .zero_stage = 3});
  EXPECT_THAT(zero, Contains("zero_optimization.stage=3"));
  EXPECT_THAT(zero, Contains("sequence_parallel_size=2"));
  EXPECT_THAT(zero, Contains("gradient_accumulation_steps=16"));
}

// NVIDIA/Megatron-LM, megatron/training/arguments.py at d98e8a64dd, lines 1118-1170: Megatron-FSDP asserts its
// checkpoint format, and parameter gathers overlap only beside overlapped gradient reduction (line 1029).
TEST(Launcher, MegatronFsdpAsItsArgumentsAssert) {
  const Job job = test_job(llama_8b(), 64, 8192, 256);
  const auto flags =
      launcher_flags(job, {.tp = 2, .cp = 2, .dp = 16, .zero_stage = 3, .cp_kind = ContextKind::ulysses});
  for (const char* flag : {"--use-megatron-fsdp", "--use-distributed-optimizer", "--ckpt-format fsdp_dtensor",
                           "--data-parallel-sharding-strategy optim_grads_params", "--cp-comm-type a2a"}) {
    EXPECT_THAT(flags, Contains(flag));
  }
  EXPECT_THROW(launcher_flags(job, {.dp = 64, .overlap_grad_reduce = false}), Error);
  EXPECT_THROW(launcher_flags(job, {.dp = 64, .overlap_grad_reduce = false}, "bridge"), Error);
  const auto plain = launcher_flags(job, {.dp = 64, .overlap_grad_reduce = false, .overlap_param_gather = false});
  EXPECT_THAT(plain, Not(Contains("--overlap-param-gather")));
  EXPECT_THAT(plain, Not(Contains(HasSubstr("ckpt-format"))));
}

// megatron/core/recompute.py, lines 167-183: "block" checkpoints the first so many layers of each chunk.
TEST(Launcher, MegatronRecomputeOfSomeLayers) {
  const Job job = test_job(llama_8b(), 16, 8192, 64);
  const auto flags = launcher_flags(job, {.tp = 8, .dp = 2, .recompute = Recompute::full, .recompute_layers = 3});
  for (const char* flag : {"--recompute-granularity full", "--recompute-method block", "--recompute-num-layers 3"})
    EXPECT_THAT(flags, Contains(flag));
  const auto all = launcher_flags(job, {.tp = 8, .dp = 2, .recompute = Recompute::full});
  EXPECT_THAT(all, Contains("--recompute-method uniform"));
}

// megatron/training/initialize.py, line 395: two orders of ranks.
TEST(Launcher, MegatronOrders) {
  const Job job = test_job(llama_8b(), 16, 8192, 64);
  const auto order = [](const char* text) { return read_order(text, "test"); };
  EXPECT_THAT(launcher_flags(job, {.tp = 2, .pp = 2, .dp = 4, .order = order("tp-cp-ep-pp-dp")}),
              Contains("--use-tp-pp-dp-mapping"));
  EXPECT_THROW(launcher_flags(job, {.tp = 2, .pp = 2, .dp = 4, .order = order("dp-cp-ep-pp-tp")}), Error);
}

TEST(Launcher, MegatronStatedStages) {
  const Job job = test_job(llama(60, 4096, 14336, 32, 8), 8, 4096, 64);
  EXPECT_THAT(launcher_flags(job, {.pp = 4, .dp = 2, .stages = {4, 24, 24, 8}}),
              Contains("--pipeline-model-parallel-layout 'Et*4|t*24|t*24|t*8L'"));
}

// Transformer Engine's attention takes cp_comm_type p2p, all_gather, a2a or a2a+p2p (megatron/core/transformer/
// transformer_config.py at d98e8a64dd, line 1034); recompute_modules 1943-1975, token dispatchers 891-898.
TEST(Launcher, MegatronsNamesOfChoices) {
  const Job dense = test_job(llama_8b(), 16, 8192, 64);
  EXPECT_THAT(launcher_flags(dense, {.cp = 2, .dp = 8, .cp_kind = ContextKind::all_gather}),
              Contains("--cp-comm-type all_gather"));
  const char* recipe = R"({"activations": {"recompute_modules": ["core_attn", "layernorm", "moe_act", "mla_up_proj"]},
                           "kernels": {"dispatcher": "hybridep"}})";
  EXPECT_THAT(launcher_flags(with_recipe(dense, recipe), {.dp = 16, .recompute = Recompute::selective}),
              Contains("--recompute-modules core_attn layernorm"));
  const Job moe = with_recipe(test_job(mixture(48, 128, 8), 16, 4096, 64), recipe);
  const Layout layout{.dp = 16, .ep = 8, .recompute = Recompute::selective};
  const auto flags = launcher_flags(moe, layout);
  for (const char* flag : {"--moe-token-dispatcher-type flex", "--moe-flex-dispatcher-backend hybridep",
                           "--recompute-modules core_attn moe_act layernorm"})
    EXPECT_THAT(flags, Contains(flag));
  const auto bridge = launcher_flags(moe, layout, "bridge");
  for (const char* flag : {"model.moe_token_dispatcher_type=flex", "model.moe_flex_dispatcher_backend=hybridep",
                           "model.recompute_modules='[core_attn,moe_act,layernorm]'"})
    EXPECT_THAT(bridge, Contains(flag));
  const Job beside = with_recipe(moe, R"({"kernels": {"dispatcher": "all-to-all", "shared_expert_overlap": true}})");
  EXPECT_THAT(launcher_flags(beside, layout), Contains("--moe-shared-expert-overlap"));
  EXPECT_THAT(launcher_flags(beside, layout, "bridge"), Contains("model.moe_shared_expert_overlap=True"));
  const Job padded = with_recipe(moe, R"({"kernels": {"dispatcher": "all-to-all", "capacity_factor": 1.25,
                                                      "pad_to_capacity": true, "delay_wgrad": true}})");
  Layout overlapped = layout;
  overlapped.ep_comm_overlap = true;
  for (const char* flag :
       {"--moe-expert-capacity-factor 1.25", "--moe-pad-expert-input-to-capacity", "--delay-wgrad-compute"})
    EXPECT_THAT(launcher_flags(padded, overlapped), Contains(flag));
  for (const char* flag : {"model.moe_expert_capacity_factor=1.25", "model.moe_pad_expert_input_to_capacity=True",
                           "comm_overlap.delay_wgrad_compute=True"})
    EXPECT_THAT(launcher_flags(padded, overlapped, "bridge"), Contains(flag));
  const Job dropping = with_recipe(moe, R"({"kernels": {"dispatcher": "all-to-all", "capacity_factor": 1.25}})");
  EXPECT_THAT(launcher_flags(dropping, layout, "nemo"), Contains("model.config.moe_expert_capacity_factor=1.25"));
  // One rank of experts has nothing to dispatch, which "flex" refuses.
  EXPECT_THAT(launcher_flags(moe, {.dp = 16}), Contains("--moe-token-dispatcher-type alltoall"));
  // NeMo 25.04 has no HybridEP: its file says so.
  EXPECT_THAT(launcher_flags(moe, layout, "nemo"), Not(Contains(HasSubstr("dispatcher"))));
  EXPECT_THAT(launch_file(moe, predict(moe, layout), "nemo"), HasSubstr("# not in these flags, set it besides: "));
  EXPECT_THAT(launch_file(moe, predict(moe, layout), "megatron"), Not(HasSubstr("not in these flags")));
}

TEST(Launcher, FusionsThatAreNotTheStacksAreSaid) {
  const auto file = [](const char* stack, const char* recipe) {
    const Job job = with_recipe(test_job(llama_8b(), 8, 4096, 64, stack), recipe);
    Layout layout{.dp = 8};
    layout.overlap_param_gather = usual_param_gather(job.framework, layout.zero_stage, layout.overlap_grad_reduce);
    return launch_file(job, predict(job, layout));
  };
  EXPECT_THAT(file("megatron-core", R"({"kernels": {"unfused": true}})"),
              HasSubstr("set it besides: kernels unfused true"));
  EXPECT_THAT(file("megatron-core", "{}"), Not(HasSubstr("unfused")));
  EXPECT_THAT(file("nanotron", "{}"), Not(HasSubstr("besides: kernels unfused")));
}

// torchtitan and accelerate state the data-parallel ranks of a shard; context ranks share states besides.
TEST(Launcher, ShardsOverContextRanks) {
  const auto titan = [](const Layout& layout) {
    return launcher_flags(test_job(llama_8b(), layout.accelerators(), 8192, 256, "torchtitan"), layout);
  };
  const auto flags = titan({.cp = 2, .dp = 16, .zero_stage = 3, .hsdp_shard = 8});
  EXPECT_THAT(flags, Contains("--parallelism.data_parallel_shard_degree=4"));
  EXPECT_THAT(flags, Contains("--parallelism.data_parallel_replicate_degree=4"));
  EXPECT_THROW(titan({.cp = 4, .dp = 16, .zero_stage = 3, .hsdp_shard = 2}), Error);
  const Layout hybrid{.cp = 2, .dp = 16, .zero_stage = 3, .hsdp_shard = 2};
  const Job fsdp = test_job(llama_8b(), 32, 8192, 256, "pytorch-fsdp");
  EXPECT_THAT(launcher_flags(fsdp, hybrid, "accelerate"),
              Contains("parallelism_config.parallelism_config_dp_shard_size=1"));
  EXPECT_EQ(data_shard({.cp = 4, .dp = 8}), 8);
  EXPECT_EQ(data_shard({.cp = 4, .dp = 8, .hsdp_shard = 6}), std::nullopt);
}

// Composer's Precision, accelerate's PrecisionType, DeepSpeed's runtime/config.py: none trains in bf16 unasked.
TEST(Launcher, FormatsAreWrittenOrRefused) {
  const auto flags = [](const char* stack, const char* format, const char* dialect) {
    const Layout layout{.dp = 8, .zero_stage = 3};
    return launcher_flags(with_precision(test_job(llama_8b(), 8, 4096, 64, stack), format), layout, dialect);
  };
  EXPECT_THAT(flags("deepspeed", "fp32", "deepspeed"), Contains("bf16.enabled=false"));
  EXPECT_THAT(flags("deepspeed", "fp32", "deepspeed"), Contains("fp16.enabled=false"));
  EXPECT_THAT(flags("deepspeed", "bf16", "deepspeed"), Not(Contains(HasSubstr("fp16"))));
  EXPECT_THAT(flags("llm-foundry", "fp16", "fsdp"), Contains("precision=amp_fp16"));
  EXPECT_THAT(flags("llm-foundry", "fp32", "fsdp"), Contains("precision=fp32"));
  EXPECT_THAT(flags("pytorch-fsdp", "fp32", "accelerate"), Contains("mixed_precision=no"));
  EXPECT_THAT(flags("maxtext", "fp32", "maxtext"), Contains("dtype=float32"));
  EXPECT_THAT(flags("nanotron", "fp32", "nanotron"), Contains("model.dtype=float32"));
  EXPECT_THROW(flags("generic", "fp8-rowwise", "megatron"), Error);
  EXPECT_THROW(flags("deepspeed", "tf32", "deepspeed"), Error);
  EXPECT_THROW(flags("maxtext", "fp8-rowwise", "maxtext"), Error);
}

double value_of(const std::vector<std::string>& flags, const std::string& key) {
  for (const std::string& flag : flags) {
    if (flag.starts_with(key + "=")) return std::stod(flag.substr(key.size() + 1));
  }
  return 0;
}

// AI-Hypercomputer/maxtext, src/maxtext/configs/types.py at e591f30cbb, lines 3458-3479 (batch) and base.yml line 531
// (mesh axes, whose sizes multiply to the devices).
TEST(Launcher, MaxTextTrainsTheGlobalBatch) {
  for (const Layout& layout :
       {Layout{.tp = 8, .dp = 8, .zero_stage = 3}, Layout{.dp = 64, .zero_stage = 3}, Layout{.tp = 2, .pp = 4, .dp = 8},
        Layout{.tp = 4, .dp = 16, .ep = 8, .zero_stage = 3}}) {
    const auto flags = launcher_flags(test_job(mixture(48, 128, 8), 64, 8192, 256, "maxtext"), layout);
    EXPECT_DOUBLE_EQ(value_of(flags, "per_device_batch_size") * value_of(flags, "gradient_accumulation_steps") * 64,
                     256)
        << describe_layout(layout);
    double mesh = 1;
    for (const char* axis : {"data", "fsdp", "tensor", "context", "pipeline", "expert"}) {
      mesh *= value_of(flags, fmt::format("ici_{}_parallelism", axis));
    }
    EXPECT_DOUBLE_EQ(mesh, 64) << describe_layout(layout);
  }
}

// pytorch/torchtitan at b5bcd76c66: config/configs.py (names), distributed/pipeline_parallel.py, lines 205-270.
TEST(Launcher, TorchtitanStagesAreAccepted) {
  const auto titan = [](const Layout& layout) {
    return launcher_flags(test_job(llama(80, 8192, 28672, 64, 8), 64, 8192, 256, "torchtitan"), layout);
  };
  const auto plain = titan({.tp = 2, .dp = 32, .zero_stage = 3});
  EXPECT_THAT(plain, Contains("--parallelism.data_parallel_shard_degree=32"));
  EXPECT_THAT(plain, Contains("--training.num_tokens_per_microbatch_per_dp_rank=8192"));
  EXPECT_THAT(plain, Contains("--training.num_tokens_per_train_step=2097152"));
  EXPECT_THAT(plain, Contains("activation-checkpoint:none"));
  // 82 modules over 64 chunks: layers_per_stage 1 gives 82 chunks and 2 gives 41, so the modules are named.
  const auto many = titan({.tp = 2, .pp = 4, .vp = 16, .dp = 8, .zero_stage = 3});
  EXPECT_THAT(many, Not(Contains(HasSubstr("layers_per_stage"))));
  const auto named = std::find_if(many.begin(), many.end(), [](const std::string& f) {
    return f.starts_with("--parallelism.module_fqns_per_model_part=");
  });
  ASSERT_NE(named, many.end());
  EXPECT_EQ(std::count(named->begin(), named->end(), '['), 65);
  EXPECT_THAT(*named, HasSubstr("'layers.79'"));
  EXPECT_THAT(*named, HasSubstr("'lm_head']]"));
  // ceil(82 / 11) = 8 chunks on 2 stages.
  EXPECT_THAT(titan({.tp = 4, .pp = 2, .vp = 4, .dp = 8, .zero_stage = 3}),
              Contains("--parallelism.pipeline_parallel_layers_per_stage=11"));
  const auto two = titan({.tp = 4, .pp = 2, .vp = 2, .dp = 8, .zero_stage = 3});  // the stack's own number of chunks
  EXPECT_THAT(two, Not(Contains(HasSubstr("layers_per_stage"))));
  EXPECT_THAT(two, Not(Contains(HasSubstr("module_fqns"))));
}

TEST(Launcher, EveryFrameworkHasItsDialectAndNoOther) {
  for (const Framework& stack : frameworks()) {
    const Job job = test_job(mixture(48, 128, 8), 64, 4096, 256, stack.name);
    for (const std::string& dialect : launcher_dialects()) {
      const bool own = std::find(stack.flags.begin(), stack.flags.end(), dialect) != stack.flags.end();
      if (own) {
        const bool fsdp = dialect == "accelerate" || dialect == "fsdp" || dialect == "torchtitan";
        Layout layout{.dp = 64, .zero_stage = fsdp ? 3 : 1};  // FSDP has no stage 1
        layout.overlap_grad_reduce = usual_grad_reduce(stack, layout.zero_stage);
        layout.overlap_param_gather = usual_param_gather(stack, layout.zero_stage, layout.overlap_grad_reduce);
        EXPECT_GT(launcher_flags(job, layout, dialect).size(), 5U) << stack.name << " " << dialect;
        EXPECT_FALSE(launcher_release(job, dialect).empty());
      } else if (!stack.flags.empty()) {
        EXPECT_THROW(launcher_flags(job, {.dp = 64}, dialect), Error) << stack.name << " " << dialect;
      }
    }
    for (const std::string& own : stack.flags) EXPECT_THAT(launcher_dialects(), Contains(own)) << stack.name;
  }
  EXPECT_THROW(launcher_flags(test_job(llama_8b(), 8, 4096, 64, "pytorch-fsdp"), {.tp = 8}, "fsdp"), Error);
}

TEST(Launcher, AFileHasItsSyntaxAndWhatIsPredicted) {
  const Layout layout{.tp = 2, .dp = 32};
  const Job megatron = test_job(llama_8b(), 64, 4096, 256);
  const std::string script = launch_file(megatron, predict(megatron, layout), "megatron");
  EXPECT_THAT(script, testing::StartsWith("# "));
  EXPECT_THAT(script, HasSubstr("# predicted: "));
  EXPECT_THAT(script, HasSubstr("MESHWRIGHT_ARGS=(\n"));
  EXPECT_THAT(script, HasSubstr("  --tensor-model-parallel-size 2\n"));
  EXPECT_THAT(launch_file(megatron, predict(megatron, layout), "bridge"),
              HasSubstr("  model.tensor_model_parallel_size=2\n"));
  const Job nano = test_job(llama_8b(), 64, 4096, 256, "nanotron");
  const Layout of_nano{.tp = 2, .dp = 32, .overlap_param_gather = false};
  EXPECT_THAT(launch_file(nano, predict(nano, of_nano)), HasSubstr("parallelism:\n  dp: 32\n  tp: 2\n"));
  const Job zero = test_job(llama_8b(), 64, 4096, 256, "deepspeed");
  const Reader json = Reader::text(launch_file(zero, predict(zero, {.dp = 64, .zero_stage = 3})), "ds_config.json");
  EXPECT_EQ(json.at("zero_optimization").at("stage").integer(), 3);
  EXPECT_GT(json.at("_comment").items().size(), 3U);
}

// FSDP shards gradients with the optimizer; NeMo's strategy has the distributed optimizer alone.
TEST(Launcher, WhatADialectCannotSayIsRefused) {
  EXPECT_THROW(
      launcher_flags(test_job(llama_8b(), 8, 4096, 64, "pytorch-fsdp"), {.dp = 8, .zero_stage = 1}, "accelerate"),
      Error);
  EXPECT_THROW(launcher_flags(test_job(llama_8b(), 8, 4096, 64), {.dp = 8, .zero_stage = 3}, "nemo"), Error);
}

// What a layout says and a dialect has no key for would be another layout where the file is launched.
TEST(Launcher, ChoicesWithoutAKeyAreRefused) {
  struct Case {
    const char* stack;
    Layout layout;
    const char* words;
  };
  const RankOrder replicas_first{{Axis::dp, Axis::tp, Axis::cp, Axis::ep, Axis::pp}};
  const Layout nano{.tp = 2, .dp = 8, .overlap_param_gather = false};
  const auto of_nano = [&](auto change) {
    Layout layout = nano;
    change(layout);
    return layout;
  };
  const Case cases[] = {
      {"nanotron", of_nano([&](Layout& l) { l.order = replicas_first; }),
       "nanotron cannot configure order dp-tp-cp-ep-pp"},
      {"nanotron", of_nano([](Layout& l) {
         l.tp = 1, l.pp = 2, l.stages = {10, 22};
       }),
       "stages 10-22"},
      {"nanotron", of_nano([](Layout& l) { l.recompute = Recompute::selective; }), "recompute selective"},
      {"nanotron", of_nano([](Layout& l) { l.overlap_param_gather = true; }), "overlap_param_gather true"},
      {"torchtitan", {.dp = 16}, "torchtitan cannot configure ZeRO stage 1"},
      {"torchtitan", {.tp = 2, .dp = 8, .zero_stage = 3, .order = replicas_first}, "torchtitan cannot configure order"},
      {"maxtext", {.dp = 16, .zero_stage = 2}, "maxtext cannot configure ZeRO stage 2"},
      {"maxtext", {.tp = 2, .dp = 8, .sequence_parallel = false}, "sequence_parallel false"},
      {"maxtext", {.dp = 16, .overlap_grad_reduce = false}, "overlap_grad_reduce false"},
      {"maxtext", {.pp = 4, .dp = 4, .schedule = PipelineSchedule::gpipe}, "schedule gpipe"},
      {"deepspeed", {.dp = 16, .zero_stage = 3, .overlap_param_gather = false}, "overlap_param_gather false"},
  };
  for (const Case& c : cases) {
    const std::string said =
        meshwright::refusal([&] { launcher_flags(test_job(llama_8b(), 16, 4096, 64, c.stack), c.layout); });
    EXPECT_THAT(said, HasSubstr(c.words));
  }
  EXPECT_NO_THROW(launcher_flags(test_job(llama_8b(), 16, 4096, 64, "nanotron"), nano));
}

TEST(Launcher, AFileEndsAsItsSyntaxDoes) {
  const Job titan = test_job(llama_8b(), 8, 4096, 64, "torchtitan"),
            zero = test_job(llama_8b(), 8, 4096, 64, "deepspeed");
  for (const char* path : {"train.sh", "train", "train.txt", ""})
    EXPECT_NO_THROW(check_launch_ending(titan, path)) << path;
  for (const char* path : {"train.toml", "train.json", "train.yml"})
    EXPECT_THROW(check_launch_ending(titan, path), Error) << path;
  EXPECT_NO_THROW(check_launch_ending(zero, "ds_config.json"));
  EXPECT_THROW(check_launch_ending(zero, "ds_config.yaml"), Error);
}

// accelerate's file is written for FSDP 2, the Trainer's profile is that of DeepSpeed.
TEST(Launcher, TheStackOfADialectIsNamed) {
  const Job trainer = test_job(llama_8b(), 8, 4096, 64, "hf-trainer");
  const std::string said =
      meshwright::refusal([&] { launcher_flags(trainer, {.dp = 8, .zero_stage = 3}, "accelerate"); });
  EXPECT_THAT(said, HasSubstr("expected deepspeed, or a plan for another framework (pytorch-fsdp, transformers)"));
}

TEST(Launcher, AStackWithoutADialectIsAskedForOne) {
  const Job job = test_job(llama_8b(), 8, 4096, 64, "llm-q");
  EXPECT_THAT(meshwright::refusal([&] { launcher_flags(job, {.dp = 8}, ""); }),
              HasSubstr("no launcher dialect is known for llm-q"));
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
