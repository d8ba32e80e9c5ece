// Launch configurations: words of a shell, formats by content, and the layout that comes of other terms.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "calibrate/launch_format.hpp"
#include "calibrate/launch_values.hpp"
#include "core/refusal.hpp"
#include "meshwright/calibrate/run_logs.hpp"
#include "meshwright/parallel/layout.hpp"

namespace meshwright::calibrate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

std::vector<std::string> arguments(std::string_view script) {
  std::vector<std::string> out;
  for (const LaunchValue& v : read_command_line(script, "run.sh")) out.push_back(v.key + "=" + v.value);
  return out;
}

TEST(Launch, SplitsVariablesOutsideQuotes) {
  EXPECT_THAT(arguments("P=\"--pp 4\"; torchrun x.py $P"), ElementsAre("pp=4"));
  EXPECT_THAT(arguments("P='--pp 4  --bf16\n --tp 2'\nx.py ${P} --cp 1"),
              ElementsAre("pp=4", "bf16=True", "tp=2", "cp=1"));
  EXPECT_THAT(arguments("P=\"--pp 4\"\nALL=\"$P --tp 2\"\nx.py $ALL"), ElementsAre("pp=4", "tp=2"));
  EXPECT_THAT(arguments("P=\"--pp 4\"\nALL=$P\nALL+=\" --tp 2\"\nx.py $ALL"), ElementsAre("pp=4", "tp=2"));
  EXPECT_THAT(arguments("x.py ${EXTRA:---pp 4} --tp 2"), ElementsAre("pp=4", "tp=2"));
  EXPECT_THAT(arguments("E=\nx.py --bf16 $E --tp 2"), ElementsAre("bf16=True", "tp=2"));
  EXPECT_THAT(arguments("N=--pp\nx.py $N=4 $N 2"), ElementsAre("pp=4", "pp=2"));
}

TEST(Launch, KeepsWhatIsQuotedTogether) {
  EXPECT_THAT(arguments("S=\"a b\"\nx.py --name \"$S\" --tp 2"), ElementsAre("name=a b", "tp=2"));
  EXPECT_THAT(arguments("S=\"a b\"\nx.py --name='$S'"), ElementsAre("name=$S"));
  EXPECT_THAT(arguments("A=(--pp 4 --bf16)\nx.py \"${A[@]}\" --tp 2"), ElementsAre("pp=4", "bf16=True", "tp=2"));
  EXPECT_THAT(arguments("A=(\"--pp 4\" \"--bf16\")\nx.py ${A[*]}"), ElementsAre("pp=4", "bf16=True"));
}

TEST(Launch, EndsLinesInsideTexts) {
  EXPECT_THAT(arguments("P=\" \\\n --pp 4 \\\n --tp 2\"\nx.py $P"), ElementsAre("pp=4", "tp=2"));
  EXPECT_EQ(read_command_line("P=\"a\n\nb\"\nx.py --tp $TP", "run.sh").front().line, 4);
}

TEST(Launch, EndsCommandsAtOperators) {
  EXPECT_THAT(arguments("x.py --bf16 2>&1 | tee --append log"), ElementsAre("bf16=True", "append=log"));
  EXPECT_THAT(arguments("x.py --tp 2 --bf16; next"), ElementsAre("tp=2", "bf16=True"));
  EXPECT_THAT(arguments("A=(--tp 2 --bf16)\nnext --pp 4 --fp8 && more"),
              ElementsAre("tp=2", "bf16=True", "pp=4", "fp8=True"));
}

TEST(Launch, BoundsWhatVariablesUnfoldTo) {
  std::string script = "A=\"--tp 2 aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"\n";
  for (char c = 'B'; c < 'Z'; ++c) {
    const std::string before(1, static_cast<char>(c - 1));
    script += std::string(1, c) + "=\"$" + before + " $" + before + " $" + before + " $" + before + "\"\n";
  }
  EXPECT_THROW(read_command_line(script + "x.py $Y\n", "run.sh"), Error);
}

TEST(Launch, SniffsTheFormat) {
  using enum LaunchFormat;
  EXPECT_EQ(launch_format("# c\nparallelism:\n  tp: 2\n", ".sh"), yaml);
  EXPECT_EQ(launch_format("max_target_length: 4096\n", ""), yaml);
  EXPECT_EQ(launch_format("  {\n\"a\": 1}", ".out"), json);
  EXPECT_EQ(launch_format("{a: 1}", ".yaml"), yaml);
  EXPECT_EQ(launch_format("[training]\nseq_len = 1\n", ".txt"), toml);
  EXPECT_EQ(launch_format("seq_len = 1\n", ""), toml);
  EXPECT_EQ(launch_format("seq_len=1\n", ".toml"), toml);
  EXPECT_EQ(launch_format("[a\nb = 1", ".toml"), toml);
  EXPECT_EQ(launch_format("#!/bin/bash\nx: y\n", ".yaml"), script);
  EXPECT_EQ(launch_format("TP=8\n", ".sh"), script);
  EXPECT_EQ(launch_format("# c\nMESHWRIGHT_ARGS=(\n  --a.b=1\n)\n", ".toml"), script);
  EXPECT_EQ(launch_format("torchrun x.py --tp 8\n", ".yaml"), script);
  EXPECT_EQ(launch_format("set -ex\n[ -z \"$A\" ] && exit\nMESHWRIGHT_ARGS=(\n", ""), script);
  EXPECT_EQ(launch_format("model.tensor_model_parallel_size=8\n", ""), script);
  EXPECT_EQ(launch_format("activation-checkpoint:full\n--parallelism.tp=2\n", ""), script);
  EXPECT_EQ(launch_format("", ".yaml"), yaml);
  EXPECT_EQ(launch_format("", ""), script);
}

struct Imported {
  std::string dialect;
  Reader job;
  std::vector<std::string> notes;
};

Imported imported(std::string_view text, const LogCompletion& completion) {
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / fmt::format("meshwright_launch_{}.txt", ::getpid());
  std::ofstream(path, std::ios::binary) << text;
  const RunLog launch = read_launch(path);
  std::filesystem::remove(path);
  return {launch.dialect, Reader::text(job_of_log(launch, completion), "job.json"), launch.notes};
}

const LogCompletion llama_8b{.model = "llama-3.1-8b", .cluster = "dgx-h100", .gpus = 64};  // 32 layers
constexpr std::string_view megatron =
    "--tensor-model-parallel-size 2 --micro-batch-size 1 --global-batch-size 256 --seq-length 4096 "
    "--pipeline-model-parallel-size 4 ";

parallel::Layout layout_of(std::string_view text, const LogCompletion& completion = llama_8b) {
  return parallel::read_layout(imported(text, completion).job.at("layout"));
}
parallel::Layout megatron_layout(const std::string& more) { return layout_of(std::string(megatron) + more); }

std::string refused(const std::string& more) {
  return refusal([&] { megatron_layout(more); });
}

// megatron/training/arguments.py: layers (and the ends that count as one) / pp / layers a virtual stage.
TEST(LaunchPipelines, VirtualStagesByTheirLayers) {
  EXPECT_EQ(megatron_layout("--num-layers-per-virtual-pipeline-stage 2").vp, 4);
  EXPECT_EQ(megatron_layout("--num-layers-per-virtual-pipeline-stage 8").vp, 1);
  EXPECT_EQ(megatron_layout("--num-virtual-stages-per-pipeline-rank 8").vp, 8);
  const LogCompletion cluster{.cluster = "dgx-h100", .gpus = 64};
  const std::string own = std::string(megatron) +
                          "--num-layers 24 --hidden-size 4096 --num-attention-heads 32 --vocab-size 32000 "
                          "--num-layers-per-virtual-pipeline-stage 3";
  EXPECT_EQ(layout_of(own, cluster).vp, 2);
  const LogCompletion larger{.model = "llama-3.1-405b", .cluster = "dgx-h100", .gpus = 64};  // 126 layers
  const std::string ends = "--account-for-embedding-in-pipeline-split --account-for-loss-in-pipeline-split ";
  const auto layout = layout_of(std::string(megatron) + ends + "--num-layers-per-virtual-pipeline-stage 4", larger);
  EXPECT_EQ(layout.vp, 8);
  EXPECT_EQ(layout.stage_split, parallel::StageSplit::embedding);
  EXPECT_THAT(refused("--num-layers-per-virtual-pipeline-stage 3"), HasSubstr("found 3 layers a virtual stage"));
}

TEST(LaunchPipelines, StatedEnds) {
  EXPECT_THAT(megatron_layout("--decoder-first-pipeline-num-layers 5 --decoder-last-pipeline-num-layers 7").stages,
              ElementsAre(5, 10, 10, 7));
  EXPECT_THAT(megatron_layout("--decoder-first-pipeline-num-layers 5").stages, ElementsAre(5, 9, 9, 9));
  EXPECT_THAT(refused("--decoder-first-pipeline-num-layers 6"), HasSubstr("leaves 26"));
  const std::string layers = " --pipeline-model-parallel-layout 'Et*3|t*4|t*4|t*4|t*4|t*4|t*4|t*5L'";
  const auto layout = megatron_layout(layers);
  EXPECT_EQ(layout.vp, 2);
  EXPECT_THAT(layout.stages, ElementsAre(3, 4, 4, 4, 4, 4, 4, 5));
}

// An embedding that counts as a layer: 31 layers over 4 stages of 8.
TEST(LaunchPipelines, OneEndCounts) {
  const LogCompletion cluster{.cluster = "dgx-h100", .gpus = 64};
  const std::string sizes =
      std::string(megatron) + "--num-layers 31 --hidden-size 4096 --num-attention-heads 32 --vocab-size 32000 ";
  EXPECT_THAT(layout_of(sizes + "--account-for-embedding-in-pipeline-split", cluster).stages, ElementsAre(7, 8, 8, 8));
  EXPECT_THAT(layout_of(sizes + "--account-for-loss-in-pipeline-split", cluster).stages, ElementsAre(8, 8, 8, 7));
}

TEST(LaunchPipelines, NemoAndBridge) {
  const std::string bridge =
      "train.micro_batch_size=1 train.global_batch_size=256 model.seq_length=4096 "
      "model.tensor_model_parallel_size=2 model.pipeline_model_parallel_size=4 mixed_precision=bf16_mixed ";
  const auto layout = layout_of(bridge +
                                "model.virtual_pipeline_model_parallel_size=2 "
                                "model.recompute_granularity=full model.recompute_method=block "
                                "model.recompute_num_layers=2 model.num_layers_in_first_pipeline_stage=2");
  EXPECT_EQ(layout.vp, 2);
  EXPECT_EQ(layout.recompute_layers, 2);
  EXPECT_THAT(layout.stages, ElementsAre(2, 10, 10, 10));
}

// torchtitan b5bcd76c66, distributed/pipeline_parallel.py, _get_pipeline_metadata.
TEST(LaunchPipelines, Torchtitan) {
  const std::string titan =
      "--parallelism.pipeline_parallel_degree=2 --parallelism.data_parallel_shard_degree=32 "
      "--training.max_context_length=4096 --training.num_tokens_per_microbatch_per_dp_rank=4096 "
      "--training.num_tokens_per_train_step=1048576 --parallelism.pipeline_parallel_schedule=Interleaved1F1B ";
  EXPECT_EQ(layout_of(titan).vp, 2);
  EXPECT_EQ(layout_of(titan + "--parallelism.pipeline_parallel_layers_per_stage=9").vp, 2);
  EXPECT_EQ(layout_of(titan + "--parallelism.pipeline_parallel_layers_per_stage=6").vp, 3);
  std::string modules = "[['tok_embeddings'";
  for (int layer = 0; layer < 32; ++layer) {
    const bool opens = layer == 7 || layer == 15 || layer == 24;
    modules += std::string(opens ? "],[" : ",") + "'layers." + std::to_string(layer) + "'";
  }
  modules += ",'norm','lm_head']]";
  const auto layout = layout_of(titan + "--parallelism.module_fqns_per_model_part=\"" + modules + "\"");
  EXPECT_EQ(layout.vp, 2);
  EXPECT_THAT(layout.stages, ElementsAre(7, 8, 9, 8));
}

// megatron/core/recompute.py: "block" redoes the first so many layers, "uniform" all of them in chunks.
TEST(LaunchRecompute, SomeLayersOrAll) {
  const std::string full = "--recompute-granularity full --recompute-num-layers 2 --recompute-method ";
  EXPECT_EQ(megatron_layout(full + "block").recompute_layers, 2);
  EXPECT_EQ(megatron_layout(full + "uniform").recompute_layers, 0);
  EXPECT_EQ(megatron_layout(full + "uniform").recompute, parallel::Recompute::full);
  EXPECT_EQ(megatron_layout("--recompute-activations").recompute, parallel::Recompute::selective);
  EXPECT_EQ(megatron_layout("").recompute, parallel::Recompute::none);
}

TEST(LaunchRecompute, ModulesByTheirNames) {
  const auto recipe = [](const std::string& text) {
    const Reader job = imported(text, llama_8b).job;
    return job.has("recipe") ? job.at("recipe").dump() : "";
  };
  const std::string two = R"({"activations":{"recompute_modules":["core_attn","layernorm"]}})";
  const std::string selective = std::string(megatron) + "--recompute-granularity selective ";
  EXPECT_EQ(recipe(selective + "--recompute-modules core_attn layernorm --bf16"), two);
  EXPECT_EQ(recipe(selective + "--recompute-modules core_attn layernorm\nsleep_first"), two) << "of one line";
  EXPECT_EQ(recipe(selective), "");
  EXPECT_EQ(recipe(std::string(megatron) + "--recompute-modules layernorm"), "") << "of selective recompute alone";
  EXPECT_EQ(recipe("train.micro_batch_size=1 train.global_batch_size=256 model.seq_length=4096 "
                   "model.tensor_model_parallel_size=2 mixed_precision=bf16_mixed "
                   "model.recompute_granularity=selective model.recompute_modules='[core_attn,layernorm]'"),
            two);
  const std::string unfused = R"({"kernels":{"unfused":true}})";
  EXPECT_EQ(recipe(std::string(megatron) + "--no-bias-swiglu-fusion"), unfused);
  EXPECT_EQ(recipe(std::string(megatron) + "--swiglu --no-bias-swiglu-fusion"), unfused);
  EXPECT_EQ(recipe(std::string(megatron) + "--no-bias-gelu-fusion"), unfused);
  EXPECT_EQ(recipe(std::string(megatron) + "--swiglu --no-bias-gelu-fusion"), "") << "there is no GELU";
  EXPECT_EQ(recipe(std::string(megatron) + "--moe-shared-expert-overlap"),
            R"({"kernels":{"shared_expert_overlap":true}})");
  EXPECT_EQ(recipe(std::string(megatron) + "--delay-wgrad-compute --moe-expert-capacity-factor 1.5 "
                                           "--moe-pad-expert-input-to-capacity"),
            R"({"kernels":{"delay_wgrad":true,"capacity_factor":1.5,"pad_to_capacity":true}})");
}

// deepspeedai/Megatron-DeepSpeed, megatron/arguments.py.
TEST(LaunchDialects, MegatronDeepSpeed) {
  const Imported read = imported(
      "deepspeed --num_nodes 4 --num_gpus 8 pretrain_gpt.py --tensor-model-parallel-size 1 --micro-batch-size 1 "
      "--global-batch-size 256 --seq-length 8192 --num-layers 32 --hidden-size 4096 --num-attention-heads 32 "
      "--num-key-value-heads 8 --vocab-size 32000 --swiglu --normalization rmsnorm --disable-bias-linear "
      "--use-rotary-position-embeddings --untie-embeddings-and-output-weights --ffn-hidden-size 11008 "
      "--ds-sequence-parallel-size 4 --deepspeed --zero-stage 3 --recompute-granularity selective "
      "--deepspeed-activation-checkpointing --bf16",
      {.cluster = "dgx-h100"});
  EXPECT_EQ(read.dialect, "megatron-deepspeed");
  const auto layout = parallel::read_layout(read.job.at("layout"));
  EXPECT_EQ(layout.zero_stage, 3);
  EXPECT_EQ(layout.cp, 4);
  EXPECT_EQ(layout.recompute, parallel::Recompute::selective);
  EXPECT_EQ(read.job.at("gpus").integer(), 32);
  EXPECT_EQ(read.job.at("model").at("kv_heads").integer(), 8);
  EXPECT_FALSE(read.job.at("model").at("layer_norm_bias").boolean());
  EXPECT_EQ(imported("deepspeed train.py --deepspeed ds.json --model_name_or_path llama-3.1-8b --bf16 True "
                     "--per_device_train_batch_size 2 --gradient_accumulation_steps 2 --max_seq_length 4096",
                     llama_8b)
                .dialect,
            "hf-trainer");
}

TEST(LaunchDialects, ASizeThatIsMissingIsNamed) {
  const std::string sizes = std::string(megatron) + "--num-layers 24 --hidden-size 4096 --num-attention-heads 32";
  try {
    layout_of(sizes, {.cluster = "dgx-h100", .gpus = 64});
    FAIL();
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), HasSubstr("does not say the model's vocabulary (vocab_size, or --model)"));
    EXPECT_THAT(e.what(), Not(HasSubstr("layers")));
  }
}

TEST(LaunchDialects, OnlyVariablesThatCountMustBeSet) {
  EXPECT_EQ(megatron_layout("--data-path $DATA --save $1 --load $(pwd)/x").tp, 2);
  EXPECT_THAT(refused("--pipeline-model-parallel-size ${PP}"), HasSubstr("found $PP as pipeline_model_parallel_size"));
  EXPECT_THAT(refused("--pipeline-model-parallel-size $((A / B))"), HasSubstr("$(...)"));
}

}  // namespace
}  // namespace meshwright::calibrate
