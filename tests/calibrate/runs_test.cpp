// Training records: reading, resolving what they leave out, checking, and fitting.
#include <gmock/gmock.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <map>

#include "calibrate/measured.hpp"
#include "calibrate/run_groups.hpp"
#include "core/embedded.hpp"
#include "meshwright/calibrate/fit_runs.hpp"
#include "meshwright/calibrate/validate_runs.hpp"

namespace meshwright::calibrate {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string record_text(const std::string& layout, const std::string& task = "pretrain",
                        const std::string& accelerator = "H100-SXM5-80GB", const std::string& layers = "32") {
  return R"({"id": "r", "set": "s", "tier": "A", "task": ")" + task +
         R"(", "source": {"title": "t", "date": "2025-01"}, "seq_len": 8192, "model": {"name": "m", "layers": )" +
         layers +
         R"(, "hidden": 4096, "ffn_hidden": 14336, "heads": 32, "kv_heads": 8, "head_dim": 128, "vocab": 128256},
      "cluster": {"accelerator": ")" +
         accelerator + R"(", "count": 8, "node_size": 8, "scale_up_domain": 8}, "layout": )" + layout +
         R"(, "measured": {"step_time_s": 6.0}})";
}

RunRecord read(const std::string& text) { return read_run_record(Reader::text(text, "test"), builtin_catalog()); }

TEST(RunRecords, NullsAreResolvedByTheStack) {
  const RunRecord nemo = read(record_text(
      R"({"tp": 2, "pp": 1, "vp": null, "micro_batch": 1, "global_batch": 128, "precision": "bf16", "framework": "nemo"})"));
  ASSERT_FALSE(nemo.skipped) << *nemo.skipped;
  EXPECT_EQ(nemo.layout.dp, 4);
  EXPECT_EQ(nemo.layout.vp, 1);
  EXPECT_TRUE(nemo.layout.sequence_parallel);
  EXPECT_TRUE(nemo.layout.tp_comm_overlap);
  EXPECT_EQ(nemo.job.framework.name, "megatron-core");
  EXPECT_THAT(nemo.job.assumptions, testing::Contains(HasSubstr("sequence_parallel: true")));
  const RunRecord eager = read(
      record_text(R"({"tp": 2, "pp": 1, "micro_batch": 1, "global_batch": 128, "framework": "megatron-deepspeed"})"));
  EXPECT_FALSE(eager.layout.sequence_parallel);
  EXPECT_EQ(eager.layout.recompute, Recompute::full);
}

// Megatron-LM sends behind compute since 2023-05 and reduces behind the backward pass since 2023-08; MegaScale compares
// itself with a commit of 2023-01, whatever its own date.
TEST(RunRecords, WhatRunsBesideComputeGoesWithTheReleaseOfTheStack) {
  const auto of = [](const std::string& set, const std::string& date) {
    std::string text = record_text(
        R"({"tp": 1, "pp": 4, "vp": 2, "micro_batch": 1, "global_batch": 128, "precision": "fp16", "framework": "megatron-lm"})");
    for (const auto& [from, to] : {std::pair<std::string, std::string>{R"("set": "s")", R"("set": ")" + set + R"(")"},
                                   {R"("date": "2025-01")", R"("date": ")" + date + R"(")"}}) {
      text.replace(text.find(from), from.size(), to);
    }
    const RunRecord run = read(text);
    EXPECT_FALSE(run.skipped) << *run.skipped;
    return run;
  };
  const RunRecord now = of("s", "2025-01"), then = of("s", "2022-05"), compared = of("megascale", "2024-02");
  EXPECT_TRUE(now.layout.overlap_p2p && now.layout.overlap_grad_reduce && now.layout.overlap_param_gather);
  for (const RunRecord& run : {then, compared}) {
    EXPECT_FALSE(run.layout.overlap_p2p || run.layout.overlap_grad_reduce || run.layout.overlap_param_gather);
    EXPECT_THAT(run.job.assumptions, testing::Contains(HasSubstr("overlap_p2p: false")));
  }
  const RunRecord torch = of("s", "2020-07");
  EXPECT_TRUE(torch.layout.overlap_grad_reduce) << "its launch scripts took PyTorch's data parallelism";
  EXPECT_FALSE(torch.layout.overlap_p2p);
  EXPECT_EQ(then.job.recipe.states.reduce, StateFormat::compute) << "fp16 gradients were reduced as they are";
}

TEST(RunRecords, NullOfTaskAndStackIsNotSaid) {
  std::string text = record_text(R"({"tp": 1, "pp": 1, "micro_batch": 1, "global_batch": 128, "framework": null})");
  const std::string task = R"("task": "pretrain")";
  text.replace(text.find(task), task.size(), R"("task": null)");
  const RunRecord run = read(text);
  EXPECT_FALSE(run.skipped) << *run.skipped;
  EXPECT_EQ(run.task, "pretrain");
  EXPECT_EQ(run.framework, "other");
  EXPECT_EQ(run.job.precision.name, "bf16");
  EXPECT_TRUE(check_run(run).counted);
}

// What we say of a step, told as a measurement, is that step: B300 has next to no int8.
TEST(RunRecords, PredictedRatesReadBackAsTheirStep) {
  const Layout layout{.dp = 8, .zero_stage = 3};
  for (const char* node : {"dgx-h100", "dgx-b300"}) {
    for (const char* format : {"bf16", "fp8", "int8"}) {
      JobSpec spec{.model = "llama-3.1-8b", .seq_len = 4096, .global_batch = 64};
      spec.cluster = {.of = node, .nodes = 1};
      spec.precision = format;
      const Job job = make_job(spec, builtin_catalog());
      const Prediction p = predict(job, layout);
      const auto step = [&](const char* figure, double value) {
        const std::string text = "{\"" + std::string(figure) + "\": " + std::to_string(value) + "}";
        return measured_step_time(Reader::text(text, "measured"), job)->value();
      };
      EXPECT_NEAR(step("mfu", p.mfu), p.step_time.value(), 1e-3 * p.step_time.value()) << node << " " << format;
      EXPECT_NEAR(step("tokens_per_s_per_gpu", p.tokens_per_s_per_gpu), p.step_time.value(),
                  1e-3 * p.step_time.value());
    }
  }
}

TEST(RunRecords, FineTuningOnPackedDocumentsSaysHowLongTheyAre) {
  const std::string layout = R"({"tp": 1, "pp": 1, "micro_batch": 1, "global_batch": 128, "framework": "nemo"})";
  const auto documents = [&](const std::string& task, const std::string& set) {
    std::string text = record_text(layout, task);
    const std::string member = R"("set": "s")";
    text.replace(text.find(member), member.size(), R"("set": ")" + set + '"');
    const RunRecord run = read(text);
    EXPECT_FALSE(run.skipped) << *run.skipped;
    return run.job.document_len;
  };
  EXPECT_EQ(documents("sft", "dgxc"), 200);
  EXPECT_EQ(documents("lora", "nemo-finetune"), 200);
  EXPECT_GT(documents("pretrain", "dgxc"), 2000);
  EXPECT_GT(documents("lora", "mlperf-lora"), 2000) << "its documents fill the sequence";
}

// prime-rl and ms-swift print which FlashAttention ran.
TEST(RunRecords, NotesSayWhichAttentionRan) {
  const auto attention = [](const std::string& notes) {
    std::string text = record_text(
        R"({"tp": 1, "pp": 1, "micro_batch": 1, "global_batch": 8, "fsdp": true, "framework": "pytorch-fsdp"})", "sft");
    text.insert(1, R"("notes": ")" + notes + R"(", )");
    const RunRecord run = read(text);
    EXPECT_FALSE(run.skipped) << *run.skipped;
    return run.job.recipe.kernels.attention;
  };
  EXPECT_EQ(attention("bf16 compute; attention flash_attention_3. RL trainer step"), "flash-3");
  EXPECT_EQ(attention("Liger kernels; attention kernel fa3"), "flash-3");
  EXPECT_EQ(attention("Liger kernels; attention kernel fa2"), "flash-2");
}

// Pax recomputes everything unless told what to save: what its source leaves open is all where less does not fit.
TEST(RunRecords, OpenRecomputeOfPaxIsWhatFits) {
  const auto recompute = [](int micro_batch) {
    return read(record_text(R"({"tp": 1, "pp": 1, "fsdp": true, "micro_batch": )" + std::to_string(micro_batch) +
                            R"(, "global_batch": )" + std::to_string(8 * micro_batch) + R"(, "framework": "jax-pax"})"))
        .layout.recompute;
  };
  EXPECT_EQ(recompute(1), Recompute::selective);
  EXPECT_EQ(recompute(16), Recompute::full);
}

// What a source leaves open may have been done: a run that ran is not refused for a choice that it does not state.
TEST(RunRecords, RefusalsCountWhatIsLeftOpen) {
  const auto run = [](const std::string& more) {
    return read(
        record_text(R"({"tp": 1, "pp": 1, "micro_batch": 2, "global_batch": 16, "zero_stage": 1, "framework": "nemo")" +
                    more + "}"));
  };
  const RunRecord open = run(""), said = run(R"(, "recompute": "none")"), custom = run(R"(, "recompute": "custom")");
  ASSERT_TRUE(open.lightest.has_value());
  EXPECT_EQ(open.lightest->recompute, Recompute::full);
  EXPECT_EQ(open.lightest->micro_batch, 2) << "which is stated";
  EXPECT_FALSE(said.lightest.has_value());
  EXPECT_EQ(custom.lightest.value_or(Layout{}).recompute, Recompute::full) << "of modules that are not named";
  const double kept = fits_probability(said), full = fits_probability(run(R"(, "recompute": "full")"));
  ASSERT_GT(full, kept);
  EXPECT_DOUBLE_EQ(fits_probability(open), (kept + full) / 2);
  EXPECT_TRUE(check_run(open).memory_open);
  const auto figures = fits_by_stack(std::vector<RunCheck>{check_run(open), check_run(said)});
  EXPECT_EQ(figures.at("nemo").ran, 2);
  EXPECT_EQ(figures.at("all").open, 1);
}

// MLPerf submissions of MangoBoost: ACG full, ACM block, ACL 21.
TEST(RunRecords, RecomputeOfSomeLayersIsRead) {
  const auto layers = [](const std::string& recompute, const std::string& detail) {
    return read(record_text(
                    R"({"tp": 1, "pp": 1, "micro_batch": 1, "global_batch": 8, "framework": "nemo", "recompute": ")" +
                    recompute + R"(", "recompute_detail": )" + detail + "}"))
        .layout.recompute_layers;
  };
  EXPECT_EQ(layers("full", R"("block: 21 of 80 layers")"), 21);
  EXPECT_EQ(layers("full", R"("activation checkpointing per block")"), 0);
  EXPECT_EQ(layers("full", "null"), 0);
  EXPECT_EQ(layers("selective", R"("block: 21 of 80 layers")"), 0);
}

TEST(RunRecords, WhatCannotBePredictedSaysWhy) {
  const std::string layout = R"({"tp": 1, "pp": 1, "micro_batch": 1, "global_batch": 128, "framework": "nemo"})";
  EXPECT_THAT(read(record_text(layout, "pretrain", "H100-SXM5-80GB", "null")).skipped.value_or(""),
              HasSubstr("layers"));
  EXPECT_THAT(read(record_text(layout, "pretrain", "Q9000")).skipped.value_or(""), HasSubstr("Q9000"));
  EXPECT_THAT(read(record_text(R"({"framework": "nemo"})")).skipped.value_or(""), HasSubstr("layout"));
  EXPECT_THAT(read(record_text(R"({"tp": 3, "pp": 1, "framework": "nemo"})")).skipped.value_or(""),
              HasSubstr("divide"));
}

// What sizes of one layer don't say (windows, mixtures every second layer, state spaces) the model of that name does.
TEST(RunRecords, HybridsAreTheModelsOfTheirNames) {
  const auto hybrid = [](const std::string& name, const std::string& layers) {
    std::string text = record_text(
        R"({"tp": 1, "pp": 1, "micro_batch": 1, "global_batch": 8, "fsdp": true, "framework": "torchtitan"})",
        "pretrain", "H100-SXM5-80GB", layers);
    const auto model = text.find(R"("model": {)"), end = text.find('}', model);
    return read(text.replace(model, end - model,
                             R"("model": {"name": ")" + name + R"(", "layers": )" + layers +
                                 R"(, "hidden": null, "vocab": 262144, "hybrid": "in words")"));
  };
  const RunRecord gemma = hybrid("Gemma-3-12B", "48");
  ASSERT_FALSE(gemma.skipped) << *gemma.skipped;
  EXPECT_EQ(gemma.job.model.sliding_window, 1024);
  EXPECT_EQ(gemma.job.model.full_attention_every, 6);
  EXPECT_EQ(gemma.job.model.vocab, 262144) << "as the record says";
  EXPECT_THAT(hybrid("Gemma-3-12B", "40").skipped.value_or(""), HasSubstr("in words")) << "not its layers";
  EXPECT_THAT(hybrid("Unheard-12B", "48").skipped.value_or(""), HasSubstr("in words"));
}

TEST(RunRecords, AnUnknownFormatLeavesOneRecordOut) {
  const auto why = [](const std::string& layout) { return read(record_text(layout)).skipped.value_or("predicted"); };
  EXPECT_THAT(
      why(R"({"tp": 1, "pp": 1, "micro_batch": 1, "global_batch": 128, "framework": "nemo", "precision": "fp1"})"),
      HasSubstr("unknown precision 'fp1'"));
  EXPECT_EQ(why(R"({"tp": 1, "pp": 1, "micro_batch": 1, "global_batch": 128, "framework": "nemo"})"), "predicted");
  EXPECT_THROW(why(R"({"tp": "one", "pp": 1, "framework": "nemo"})"), Error) << "malformed, not unknown";
}

TEST(RunRecords, AnUnknownWordForRecomputeLeavesOneRecordOut) {
  const auto mode = [](const std::string& word) {
    return read(
        record_text(R"({"tp": 1, "pp": 1, "micro_batch": 1, "global_batch": 128, "framework": "nemo", "recompute": ")" +
                    word + "\"}"));
  };
  EXPECT_THAT(mode("partly").skipped.value_or("predicted"), AllOf(HasSubstr("recompute"), HasSubstr("'partly'")));
  EXPECT_EQ(mode("none").layout.recompute, Recompute::none);
  EXPECT_EQ(mode("custom").layout.recompute, Recompute::selective);
  EXPECT_EQ(mode("full").layout.recompute, Recompute::full);
}

TEST(RunRecords, WhatAStackRecomputesMayGoWithItsTaskAndSize) {
  const auto mode = [](const std::string& task, int accelerators) {
    std::string text = record_text(R"({"tp": 1, "pp": 1, "global_batch": 32, "framework": "nemo-automodel"})", task);
    const std::string count = R"("count": 8)";
    text.replace(text.find(count), count.size(), R"("count": )" + std::to_string(accelerators));
    return read(text).layout.recompute;
  };
  EXPECT_EQ(mode("lora", 8), Recompute::full);
  EXPECT_EQ(mode("lora", 1), Recompute::none);
  EXPECT_EQ(mode("pretrain", 8), Recompute::none);
}

// MaxText states a device's sequences, and runs those of a replica's devices in one pass.
TEST(RunRecords, BatchesOfADeviceAreReadAsTheReplicas) {
  const auto sequences = [](const std::string& stack, int micro_batch) {
    const RunRecord run = read(record_text(R"({"tp": 4, "pp": 1, "global_batch": 32, "micro_batch": )" +
                                           std::to_string(micro_batch) + R"(, "framework": ")" + stack + R"("})"));
    return run.layout.micro_batch;
  };
  EXPECT_EQ(sequences("maxtext", 4), 16);  // 8 devices of 4 each make the batch of 32
  EXPECT_EQ(sequences("maxtext", 16), 16);
  EXPECT_EQ(sequences("maxtext", 2), 2);  // neither: passes follow one another
  EXPECT_EQ(sequences("megatron-lm", 4), 4);
}

TEST(RunRecords, NotesSayHowFrozenWeightsAreUnpacked) {
  const auto unpacking = [](const std::string& notes) {
    std::string text = record_text(R"({"tp": 1, "pp": 1, "global_batch": 8, "framework": "pytorch-fsdp"})", "lora");
    text.insert(1, R"("extra": {"method": "Q-LoRA"}, "notes": ")" + notes + R"(", )");
    return read(text).job.recipe.trainable.unpacking;
  };
  EXPECT_EQ(unpacking("Int4 GPTQ base weights"), parallel::Unpacking::elementwise);
  EXPECT_EQ(unpacking("NF4 base weights"), parallel::Unpacking::fused);
}

TEST(RunRecords, MetasTrainerIsAStackOfItsOwn) {
  const RunRecord run = read(record_text(
      R"json({"tp": 2, "pp": 2, "zero_stage": 2, "micro_batch": 1, "global_batch": 8, "framework": "other",
              "framework_version": "Meta internal (FSDP+TP+CP+PP)"})json"));
  ASSERT_FALSE(run.skipped) << *run.skipped;
  EXPECT_EQ(run.job.framework.name, "meta");
  EXPECT_EQ(run.layout.zero_stage, 2);
}

TEST(RunRecords, NotesAndMethodsSayWhatIsTrainedAndHeld) {
  const auto recipe = [](const std::string& task, const std::string& method, const std::string& notes) {
    std::string text = record_text(R"({"tp": 1, "pp": 1, "global_batch": 8, "framework": "pytorch-fsdp"})", task);
    text.insert(1, R"("extra": {"method": ")" + method + R"("}, "notes": ")" + notes + R"(", )");
    const RunRecord run = read(text);
    EXPECT_FALSE(run.skipped) << *run.skipped;
    return run.job.recipe;
  };
  EXPECT_EQ(recipe("lora", "LoRA (emb)", "").trainable.whole.bits, 0b10001U) << "embedding and head";
  EXPECT_EQ(recipe("lora", "LoRA", "").trainable.whole.bits, 0U);
  EXPECT_EQ(recipe("lora", "", "packed; QLoRA NF4").trainable.base, parallel::StateFormat::int4);
  const parallel::RecipeStates half = recipe("sft", "", "batch 2, AdamW bf16").states;
  EXPECT_EQ(half.weights, parallel::StateFormat::compute);
  EXPECT_EQ(half.moments, parallel::StateFormat::compute);
  EXPECT_EQ(half.master, parallel::StateFormat::none);
  EXPECT_EQ(recipe("sft", "", "8-bit paged AdamW").states.optimizer, "adamw-8bit");
}

TEST(RunRecords, RunsOfOneLayoutAndOtherRecipesAreNoReruns) {
  const auto configuration = [](const std::string& task, const std::string& method) {
    std::string text = record_text(R"({"tp": 1, "pp": 1, "global_batch": 8, "framework": "pytorch-fsdp"})", task);
    text.insert(1, R"("extra": {"method": ")" + method + R"("}, )");
    return configuration_of(read(text));
  };
  EXPECT_EQ(configuration("lora", "LoRA"), configuration("lora", "LoRA"));
  EXPECT_NE(configuration("lora", "LoRA"), configuration("lora", "Q-LoRA"));
  EXPECT_NE(configuration("lora", "LoRA"), configuration("sft", ""));
}

TEST(RunRecords, LlmQHoldsStatesInTheModelsFormatAndIsAStackOfItsOwn) {
  const auto run = [](const std::string& notes) {
    std::string text = record_text(
        R"({"tp": 1, "pp": 1, "micro_batch": 1, "global_batch": 128, "zero_stage": 1, "framework": "llm.q"})");
    text.insert(1, R"("notes": ")" + notes + R"(", )");
    return read(text);
  };
  const RunRecord said = run("bf16 master weights, CUDA graphs; median of steps");
  ASSERT_FALSE(said.skipped) << *said.skipped;
  EXPECT_FALSE(said.unknown_stack);
  EXPECT_EQ(said.job.framework.name, "llm-q");
  const parallel::RecipeStates& states = said.job.recipe.states;
  EXPECT_EQ(states.moments, parallel::StateFormat::compute);
  EXPECT_EQ(states.gradients, parallel::StateFormat::compute);
  EXPECT_EQ(states.master, parallel::StateFormat::none);
  EXPECT_EQ(said.job.recipe.kernels.cuda_graphs, parallel::CudaGraphs::per_layer);
  EXPECT_EQ(run("").job.recipe.kernels.cuda_graphs, parallel::CudaGraphs::none);
}

// Eight bytes a parameter and grouped experts, as its guide to expert parallelism measures; the Trainer with DeepSpeed
// holds sixteen and waits for its host.
TEST(RunRecords, TransformersWithoutDeepSpeedIsAStackOfItsOwn) {
  const auto run = [](const std::string& version) {
    return read(record_text(R"({"tp": 1, "pp": 1, "micro_batch": 1, "global_batch": 8, "zero_stage": 3,
      "framework": "transformers", "framework_version": ")" +
                                version + "\"}",
                            "sft"));
  };
  const RunRecord own = run("");
  ASSERT_FALSE(own.skipped) << *own.skipped;
  EXPECT_EQ(own.job.framework.name, "transformers");
  EXPECT_EQ(own.job.recipe.kernels.expert_gemm, parallel::ExpertGemm::grouped);
  EXPECT_EQ(own.job.framework.host.per_layer, Seconds{});
  const parallel::StateBytes bytes = parallel::state_bytes(own.job.recipe.states, own.job.precision.rest);
  EXPECT_EQ(bytes.weights + bytes.gradients + bytes.optimizer, 8);
  const RunRecord trainer = run("hf-trainer transformers + DeepSpeed");
  EXPECT_EQ(trainer.job.framework.name, "hf-trainer");
  EXPECT_GT(trainer.job.framework.host.per_layer, Seconds{});
}

TEST(RunRecords, AnUnknownStackIsPredictedAsAnyAndCountedApart) {
  const auto text = [](const char* stack) {
    return record_text(R"({"tp": 1, "pp": 1, "micro_batch": 1, "global_batch": 128, "framework": ")" +
                       std::string(stack) + "\"}");
  };
  const RunRecord run = read(text("somestack"));
  ASSERT_FALSE(run.skipped) << *run.skipped;
  EXPECT_TRUE(run.unknown_stack);
  EXPECT_EQ(run.job.framework.name, "generic");
  EXPECT_THAT(run.job.assumptions, testing::Contains(HasSubstr("'somestack' is known to no profile")));
  const std::vector<RunCheck> checks = {check_run(run), check_run(read(text("nemo")))};
  const auto width = [](const RunCheck& c) { return std::log(c.prediction->p90 / c.prediction->p10); };
  EXPECT_GT(width(checks[0]), 1.2 * width(checks[1]));
  const auto figures = figures_by_group(checks);
  EXPECT_EQ(figures.at("all").count, 1);
  EXPECT_EQ(figures.at("unknown stack:somestack").count, 1);
  EXPECT_FALSE(read(text("nemo")).unknown_stack);
}

TEST(RunRecords, ReleaseAndFlagsReachTheRecipe) {
  const auto recipe = [](const std::string& version, const std::string& members) {
    std::string text = record_text(
        R"({"tp": 1, "pp": 1, "ep": 8, "micro_batch": 1, "global_batch": 128, "framework": "megatron-bridge", "framework_version": ")" +
        version + "\"}");
    text.insert(text.rfind('}'), members);
    text.insert(text.find("\"layers\""), R"("experts": 64, "top_k": 8, "moe_ffn_hidden": 768, )");
    const RunRecord run = read(text);
    EXPECT_FALSE(run.skipped) << *run.skipped;
    return std::pair{run.job.recipe, run.job.framework.version};
  };
  EXPECT_EQ(recipe("Megatron-Bridge v0.2.0", "").second, "25.11");
  EXPECT_EQ(recipe("Megatron-Bridge v0.4.2", "").second, "26.04");
  EXPECT_EQ(recipe("Megatron-Bridge v0.2.0", "").first.kernels.dispatcher, Dispatcher::all_to_all);
  EXPECT_EQ(recipe("Megatron-Bridge v0.4.2", "").first.kernels.dispatcher, Dispatcher::hybridep);
  const Recipe said =
      recipe(
          "Megatron-Bridge v0.4.2",
          R"(, "flags": {"cuda_graph": "partial", "cuda_graph_modules": ["attn", "moe_router"], "moe_dispatcher": "alltoall",
                 "moe_grouped_mlp": "off: one GEMM per expert", "attention_format": "fp8", "cpu_offload_layers": 20})")
          .first;
  const auto exchanged_by = [&](const std::string& name) {
    return recipe("Megatron-Bridge v0.4.2", R"(, "extra": {"moe_dispatcher": ")" + name + "\"}")
        .first.kernels.dispatcher;
  };
  EXPECT_EQ(exchanged_by("DeepEP over NVSHMEM"), Dispatcher::deepep);
  EXPECT_EQ(exchanged_by("DeepEP over UCCL"), Dispatcher::uccl_ep);
  EXPECT_EQ(exchanged_by("NCCL all-to-all"), Dispatcher::all_to_all);
  EXPECT_EQ(said.kernels.cuda_graphs, CudaGraphs::partial);
  EXPECT_EQ(said.kernels.graph_parts.bits, 0b101U) << "attention and router";
  EXPECT_EQ(said.kernels.dispatcher, Dispatcher::all_to_all);
  EXPECT_EQ(said.kernels.expert_gemm, ExpertGemm::list);
  EXPECT_EQ(said.precision.attention, StateFormat::fp8);
  EXPECT_TRUE(said.offload.activations);
  EXPECT_EQ(said.offload.activation_layers, 20);
  const Recipe padded = recipe("Megatron-Bridge v0.2.0",
                               R"(, "flags": {"moe_routing": "token_drop cf=1.0, padded to capacity",
                                              "moe_a2a_overlap": true, "delay_wgrad": true})")
                            .first;
  EXPECT_EQ(padded.kernels.capacity_factor, 1);
  EXPECT_TRUE(padded.kernels.pad_to_capacity && padded.kernels.static_shapes && padded.kernels.delay_wgrad);
}

// dgxc-benchmarking, grok1/launch.sh at v25.05: CUDA_GRAPH true on GB200.
TEST(RunRecords, ALaunchScriptSaysWhatItsRecordsDoNot) {
  const auto graphs = [](const std::string& set, const std::string& version) {
    std::string text = record_text(
        R"({"tp": 1, "pp": 1, "micro_batch": 1, "global_batch": 128, "framework": "nemo", "framework_version": ")" +
            version + "\"}",
        "pretrain", "GB200");
    text.replace(text.find(R"("set": "s")"), 10, R"("set": ")" + set + "\"");
    text.replace(text.find(R"("name": "m")"), 11, R"("name": "Grok-1-314B")");
    const RunRecord run = read(text);
    EXPECT_FALSE(run.skipped) << *run.skipped;
    return run.job.recipe.kernels.cuda_graphs;
  };
  EXPECT_EQ(graphs("dgxc", "NeMo 25.04.00"), CudaGraphs::per_layer);
  EXPECT_EQ(graphs("s", "NeMo 25.04.00"), CudaGraphs::none);
  EXPECT_EQ(graphs("dgxc", "NeMo 24.12"), CudaGraphs::none);
}

TEST(RunRecords, AdapterTrainingIsPredicted) {
  const std::string layout = R"({"tp": 1, "pp": 1, "micro_batch": 1, "global_batch": 128, "framework": "nemo"})";
  const RunRecord lora = read(record_text(layout, "lora")), full = read(record_text(layout));
  ASSERT_FALSE(lora.skipped) << *lora.skipped;
  EXPECT_EQ(lora.job.recipe.trainable.kind, TrainableKind::lora);
  EXPECT_LT(predict(lora.job, lora.layout).step_time, 0.85 * predict(full.job, full.layout).step_time);
}

TEST(RunRecords, AMachineWithItsOwnKernelsIsAnOverlayThatAnyJobCanName) {
  std::string text = record_text(
      R"({"tp": 1, "pp": 1, "micro_batch": 1, "global_batch": 128, "precision": "bf16", "framework": "megatron-lm"})",
      "pretrain", "B200-SXM6-180GB");
  const RunRecord plain = read(text);
  text.insert(1, R"("overlay": "b200-box", )");
  const RunRecord box = read(text);
  ASSERT_FALSE(box.skipped) << *box.skipped;
  EXPECT_GT(predict(box.job, box.layout).step_time, predict(plain.job, plain.layout).step_time);
  const Job named = with(plain.job, [](JobSpec& spec) { spec.overlay = "b200-box"; });
  EXPECT_EQ(predict(named, plain.layout).step_time, predict(box.job, box.layout).step_time);
  const Catalog by_folder = overlay(builtin_catalog(), "b200-box");  // as --hardware takes it
  EXPECT_EQ(predict(make_job(plain.job.spec, by_folder), plain.layout).step_time,
            predict(box.job, box.layout).step_time);
  EXPECT_THAT([&] { with(plain.job, [](JobSpec& spec) { spec.overlay = "b200-bix"; }); },
              testing::Throws<Error>(testing::Property(&Error::what_happened, HasSubstr("did you mean 'b200-box'"))));
}

TEST(RunRecords, CheckHasErrorAndBand) {
  const RunCheck check = check_run_record(
      Reader::text(
          record_text(
              R"({"tp": 1, "pp": 1, "micro_batch": 1, "global_batch": 128, "precision": "bf16", "framework": "nemo"})"),
          "test"),
      builtin_catalog());
  ASSERT_TRUE(check.prediction);
  EXPECT_NEAR(*check.step_time_error, check.prediction->step_time.value() / 6.0 - 1, 1e-12);
  EXPECT_LT(check.prediction->p10, check.prediction->step_time);
  EXPECT_GT(check.prediction->p90, check.prediction->step_time);
  EXPECT_TRUE(check.counted);
}

TEST(RunFit, FindsAParameterThatTheRunsWereMadeWith) {
  std::vector<RunRecord> runs;
  for (const int layers : {16, 24, 32, 40, 48, 64}) {
    for (const int batch : {64, 128, 256}) {
      RunRecord run = read(record_text(R"({"tp": 1, "pp": 1, "micro_batch": 1, "global_batch": )" +
                                           std::to_string(batch) + R"(, "precision": "bf16", "framework": "nemo"})",
                                       "pretrain", "H100-SXM5-80GB", std::to_string(layers)));
      run.job = with(run.job, [&](JobSpec& spec) { spec.shape->name = "m" + std::to_string(layers); });
      const Job made = with_figures(
          run.job, [](Figures& figures) { figures.accelerator.efficiency.of(DType::bf16).sustained *= 0.9; });
      run.measured.step_time = predict(made, run.layout).step_time;
      runs.push_back(run);
    }
  }
  const RunFit fit = fit_runs(runs);
  EXPECT_EQ(fit.configurations, 18);
  EXPECT_LT(fit.mean_error_after, 0.01);
  EXPECT_LT(fit.model_and_device.mean, 0.02);
  EXPECT_GT(fit.mean_error_before, 0.05);
  const auto found = std::ranges::find(fit.parameters, "gemm.bf16.sustained", &RunParameter::field);
  ASSERT_NE(found, fit.parameters.end());
  EXPECT_NEAR(found->value / found->prior, 0.9, 0.04);
  EXPECT_THAT(overlay_json(fit, builtin_catalog(), "test"), HasSubstr("\"H100-SXM5-80GB\""));
}

TEST(RunFit, OrdinaryUsersRunsAreLeftOutByTheirSource) {
  std::vector<RunRecord> runs;
  const auto add = [&](const std::string& set, const std::string& tier, const std::string& task, int layers) {
    RunRecord run = read(record_text(
        R"({"tp": 1, "pp": 1, "micro_batch": 1, "global_batch": 128, "precision": "bf16", "framework": "nemo"})", task,
        "H100-SXM5-80GB", std::to_string(layers)));
    run.set = set, run.tier = tier;
    const Job made = with_figures(run.job, [&](Figures& figures) {
      figures.accelerator.efficiency.of(DType::bf16).sustained *= set == "s" ? 0.9 : 0.6;
    });
    run.measured.step_time = predict(made, run.layout).step_time;
    runs.push_back(run);
  };
  for (const int layers : {16, 24, 32, 40, 48, 64}) add("s", "A", "pretrain", layers);
  for (const int layers : {20, 28, 36}) add("torchtune", "B", "pretrain", layers);
  add("torchtune", "A", "sft", 44);
  add("torchtune", "C", "pretrain", 52);
  runs.push_back(runs.back());
  runs.back().tier = "B", runs.back().skipped = "no vocab";
  const UsersLeftOut users = fit_runs(runs).users;
  EXPECT_EQ(users.records, 5) << "tier C is not counted";
  EXPECT_EQ(users.not_stated, 1);
  EXPECT_EQ(users.configurations, 4) << "fine-tuning is";
  EXPECT_NEAR(users.errors.mean, 1 - 0.6 / 0.9, 0.07) << "the others say 0.9, not what the source itself tells";
  EXPECT_EQ(fit_runs({runs.data(), 6}).users.records, 0);
}

/// Runs of torchtitan whose attention kernels reach `share` of what the profile says.
std::vector<RunRecord> runs_of_release(const std::string& version, double share, std::initializer_list<int> layers) {
  std::vector<RunRecord> runs;
  for (const int n : layers) {
    for (const int batch : {64, 128}) {
      RunRecord run = read(record_text(
          R"({"tp": 1, "pp": 1, "micro_batch": 1, "fsdp": true, "global_batch": )" + std::to_string(batch) +
              R"(, "precision": "bf16", "framework": "torchtitan", "framework_version": ")" + version + R"("})",
          "pretrain", "H100-SXM5-80GB", std::to_string(n)));
      run.job = with(run.job, [&](JobSpec& spec) { spec.shape->name = "m" + std::to_string(n); });
      const Job made =
          with_figures(run.job, [share](Figures& figures) { figures.framework.kernels.attention_efficiency *= share; });
      run.measured.step_time = predict(made, run.layout).step_time;
      runs.push_back(run);
    }
  }
  return runs;
}

TEST(RunFit, AReleaseLiesBetweenItsNeighbours) {
  std::vector<RunRecord> runs = runs_of_release("2024-05", 0.4, {16, 24, 32});
  for (const RunRecord& run : runs_of_release("2025-08", 1, {20, 28, 36})) runs.push_back(run);
  const RunFit fit = fit_runs(runs);
  const auto of = [&](const std::string& release) {
    return *std::ranges::find_if(fit.parameters, [&](const RunParameter& p) {
      return p.field == "kernels.attention_efficiency" && p.release == release;
    });
  };
  EXPECT_LT(of("2024-05").value, 0.9 * of("2025-08").value);
  EXPECT_EQ(of("2024-05").runs, 12) << "neighbours tell it too";
  const Reader overlay = Reader::text(overlay_json(fit, builtin_catalog(), "test"), "overlay");
  std::map<std::string, double> written;
  for (const Reader& stack : overlay.at("frameworks").items()) {
    if (stack.at("name").string() != "torchtitan") continue;
    for (const Reader& release : stack.at("releases").items())
      written[release.at("version").string()] = release.at("kernels").at("attention_efficiency").number();
  }
  EXPECT_NEAR(written.at("2024-05"), of("2024-05").value, 1e-3);
  EXPECT_GT(written.at("2025-02"), written.at("2024-05")) << "between two that runs tell";
  EXPECT_GT(written.at("2025-04"), written.at("2025-02"));
  EXPECT_LT(written.at("2025-04"), written.at("2025-08"));
  EXPECT_EQ(written.at("2026-06"), written.at("2025-08")) << "no runs after";
}

TEST(RunFit, OfThePublishedRunsFromBenchmarksIsWhatShips) {
  // `meshwright calibrate runs data/runs/published.jsonl --from-benchmarks`; 1 % for compilers and rounding.
  std::vector<RunRecord> runs;
  for (const Reader& record : published_runs()) runs.push_back(read_run_record(record, benchmark_catalog()));
  const RunFit fit = fit_runs(runs, false);
  const std::vector<Reader> shipped =
      Reader::text(embedded_fitted().front().content, "runs.json").at("fit").at("parameters").items();
  ASSERT_EQ(fit.parameters.size(), shipped.size());
  for (std::size_t i = 0; i < shipped.size(); ++i) {
    const RunParameter& p = fit.parameters[i];
    EXPECT_EQ(p.owner + " " + p.field, shipped[i].at("of").string() + " " + shipped[i].at("field").string());
    EXPECT_NEAR(p.value / shipped[i].at("fitted").number(), 1, 0.01) << p.owner << " " << p.field;
    EXPECT_LE(p.value, p.most * (1 + 1e-9)) << p.owner << " " << p.field;
    EXPECT_GE(p.runs, 3);
  }
}

TEST(RunFit, LoadedAsAnOverlayPredictsWhatShips) {
  const auto folder = std::filesystem::path(testing::TempDir()) / "fitted-runs";
  std::filesystem::create_directories(folder);
  write_file(folder / "fitted.json", embedded_fitted().front().content);
  const Catalog loaded = overlay(benchmark_catalog(), folder);
  for (const char* record :
       {R"({"tp": 8, "pp": 1, "micro_batch": 1, "global_batch": 128, "framework": "nemo"})",
        R"({"tp": 1, "pp": 1, "micro_batch": 1, "global_batch": 128, "fsdp": true, "framework": "torchtitan"})"}) {
    const Reader reader = Reader::text(record_text(record), "test");
    const RunRecord shipped = read_run_record(reader, builtin_catalog());
    const RunRecord again = read_run_record(reader, loaded);
    const RunRecord without = read_run_record(reader, benchmark_catalog());
    const double expected = predict(shipped.job, shipped.layout).step_time.value();
    EXPECT_NEAR(predict(again.job, again.layout).step_time.value() / expected, 1, 1e-9);
    EXPECT_GT(std::abs(predict(without.job, without.layout).step_time.value() / expected - 1), 0.01);
  }
}

TEST(PublishedRuns, SayOfTheirRecipeWhatTheirSourcesDo) {
  std::map<std::string, parallel::Recipe> recipes;
  for (const Reader& record : published_runs()) {
    const std::string id = record.at("id").string();
    if (id.starts_with("torchtune-llama3.1-8b-qlora") || id.starts_with("primerl-8xh200-qwen3-30b"))
      recipes[id] = read_run_record(record, builtin_catalog()).job.recipe;
  }
  EXPECT_EQ(recipes.at("torchtune-llama3.1-8b-qlora-4090").trainable.base, parallel::StateFormat::int4);
  EXPECT_EQ(
      recipes.at("primerl-8xh200-qwen3-30b-a3b-instruct-2507-sft-full-recompute-fa3-s16384-2026-01").kernels.attention,
      "flash-3");
}

TEST(PublishedRuns, ThatShipArePredictedWithinTheGoal) {
  std::vector<RunCheck> checks;
  for (const Reader& record : published_runs()) checks.push_back(check_run_record(record, builtin_catalog()));
  ASSERT_GT(checks.size(), 1000U);
  const auto figures = figures_by_group(checks);
  const ErrorFigures& tier_a = figures.at("tier:A");
  EXPECT_LT(tier_a.skipped, 0.1 * (tier_a.count + tier_a.skipped));
  EXPECT_LT(figures.at("headline: tier A pre-training, A100 and H100, Megatron family").median, 0.15);
  EXPECT_LT(figures.at("headline: tier A pre-training, A100 and H100, Megatron family").mean,
            figures.at("headline: tier A pre-training, A100 and H100, Megatron family").baseline);
  EXPECT_THAT(accuracy_markdown(checks), HasSubstr("## By stack"));
}

TEST(PublishedRuns, OfAMixtureShowWhetherTheyErrToOneSide) {
  const auto run = [](std::string model, double error, std::string tier = "A") {
    RunCheck c;
    c.tier = std::move(tier), c.task = "pretrain", c.framework = "nemo", c.accelerator = "GB200", c.precision = "bf16";
    c.model = std::move(model), c.experts = true, c.counted = true, c.step_time_error = error;
    c.prediction = Prediction{};
    c.prediction->model_flops = 1;
    c.measured.step_time = Seconds::base(1);
    return c;
  };
  const std::vector<RunCheck> checks = {run("one", -0.3), run("one", -0.1), run("one", -0.2),
                                        run("two", 0.02), run("two", 0.04), run("two", 0.06),
                                        run("few", 0.5),  run("few", 0.5),  run("few", 0.5, "C")};
  const std::string page = accuracy_markdown(checks);
  EXPECT_THAT(page, HasSubstr("Within 10 %: 1 of 2."));
  EXPECT_THAT(page, HasSubstr("| one | nemo | GB200 | bf16 | 3 | -20.0 |\n| two | nemo | GB200 | bf16 | 3 | +4.0 |\n"));
  EXPECT_THAT(page, Not(HasSubstr("| few | nemo")));
}

TEST(Records, OfTheFolderAreAllPredictedOrLeftOutWithAReason) {
  const char* folder = std::getenv("MESHWRIGHT_RECORDS");
  if (folder == nullptr) GTEST_SKIP() << "MESHWRIGHT_RECORDS names no folder of training records: left out";
  std::vector<RunCheck> checks;
  for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(folder) / "runs")) {
    if (!entry.path().filename().string().starts_with("runs-")) continue;
    for (const Reader& record : Reader::lines(entry.path())) {
      checks.push_back(check_run_record(record, builtin_catalog()));
      EXPECT_NE(checks.back().skipped.has_value(), checks.back().step_time_error.has_value()) << checks.back().id;
    }
  }
  EXPECT_LT(figures_by_group(checks).at("headline: tier A pre-training, A100 and H100, Megatron family").median, 0.08);
}

}  // namespace
}  // namespace meshwright::calibrate
