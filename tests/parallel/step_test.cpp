#include "meshwright/parallel/step.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <tuple>
#include <vector>

#include "meshwright/hardware/catalog.hpp"
#include "meshwright/parallel/memory.hpp"
#include "meshwright/parallel/overlap.hpp"
#include "parallel/jobs.hpp"

namespace meshwright::parallel {
namespace {

Job job_on(const char* node, int accelerators, Transformer model, int seq_len, int global_batch,
           const std::string& stack = "megatron-core") {
  return with(test_job(std::move(model), accelerators, seq_len, global_batch, stack),
              [&](JobSpec& spec) { spec.cluster = {.of = node, .accelerators = accelerators}; });
}

Step step_of(const Job& job, const Layout& layout) {
  Tables tables(job);
  return step_time(tables.constants(), tables.entries(layout), layout);
}

std::vector<Layout> layouts_of_64() {
  return {{.tp = 8, .dp = 8},
          {.tp = 4, .pp = 4, .dp = 4},
          {.tp = 2, .pp = 8, .vp = 2, .dp = 4, .micro_batch = 2},
          {.tp = 8, .cp = 2, .pp = 2, .dp = 2, .recompute = Recompute::full},
          {.tp = 8, .pp = 2, .dp = 4, .recompute = Recompute::full, .recompute_layers = 5},
          {.tp = 8, .dp = 8, .zero_stage = 3},
          {.tp = 1, .dp = 64, .zero_stage = 3, .hsdp_shard = 8, .recompute = Recompute::selective},
          {.tp = 8, .dp = 8, .zero_stage = 0, .tp_comm_overlap = true}};
}

TEST(Overlap, IsPerfectWithoutSlowdownAndNoneWithAllOfIt) {
  for (const double window : {0.0, 1.0, 3.0}) {
    for (const double transfer : {0.0, 0.5, 1.0, 4.0}) {
      const Seconds w = Seconds::base(window), t = Seconds::base(transfer);
      EXPECT_DOUBLE_EQ(overlap(w, t, 0).exposed.value(), std::max(0.0, transfer - window));
      EXPECT_DOUBLE_EQ(overlap(w, t, 1).exposed.value(), transfer);
      for (const double slowdown : {0.0, 0.2, 0.6, 1.0, 2.0}) {
        const Overlap o = overlap(w, t, slowdown);
        EXPECT_DOUBLE_EQ((o.exposed + o.hidden).value(), transfer);
        EXPECT_GE(o.hidden.value(), 0);
      }
    }
  }
}

TEST(Step, TermsAreNotNegativeAndTablesAreSharedBitForBit) {
  const Job job = job_on("dgx-h100", 64, llama_8b(), 8192, 128);
  Tables shared(job);
  for (const Layout& l : layouts_of_64()) {
    const Step alone = step_of(job, l);
    const Step together = step_time(shared.constants(), shared.entries(l), l);
    describe(alone.time, [&](const char* field, Seconds part) {
      EXPECT_GE(part.value(), 0) << field << " of " << describe_layout(l);
    });
    EXPECT_EQ(total(alone.time), total(together.time)) << describe_layout(l);
    EXPECT_EQ(total(predict(job, l).time), total(alone.time)) << describe_layout(l);
  }
}

TEST(Step, ExplanationSumsToTheStep) {
  const Job job = job_on("dgx-h100", 64, llama_8b(), 8192, 128);
  for (const Layout& l : layouts_of_64()) {
    const Prediction p = predict(job, l);
    const Term tree = explain(job, p);
    EXPECT_NEAR(total(tree), p.step_time.value(), 1e-9 * p.step_time.value()) << describe_layout(l);
    EXPECT_NE(find(tree, "tensor_parallel"), nullptr);
  }
}

// Megatron's recompute_method "block": of each chunk's layers the first few, so time and memory are on the line between
// no recompute and recompute of all.
TEST(Step, RecomputeOfSomeLayersIsBetweenNoneAndAll) {
  const Job job = job_on("dgx-h100", 64, llama_8b(), 8192, 128);
  for (const auto& [pp, vp, chunk] : {std::tuple{2, 1, 16}, {4, 2, 4}}) {
    Layout l{.tp = 8, .pp = pp, .vp = vp, .dp = 8 / pp, .recompute = Recompute::full};
    const Prediction all = predict(job, l);
    l.recompute = Recompute::none;
    const Prediction none = predict(job, l);
    l.recompute = Recompute::full;
    for (l.recompute_layers = 1; l.recompute_layers <= chunk + 1; ++l.recompute_layers) {
      const Prediction p = predict(job, l);
      const double share = std::min(1.0, static_cast<double>(l.recompute_layers) / chunk);
      EXPECT_NEAR(p.time.recompute.value(), share * all.time.recompute.value(), 1e-9);
      EXPECT_NEAR(p.hfu - p.mfu, share * (p.mfu / all.mfu) * (all.hfu - all.mfu), 1e-9);
      const double redone = (all.memory.activations - none.memory.activations).value();
      if (share == 1) {
        EXPECT_EQ(p.step_time, all.step_time);
        EXPECT_EQ(p.memory.reserved, all.memory.reserved);
      } else {
        EXPECT_LT(p.step_time, all.step_time);
        EXPECT_GT(p.step_time, none.step_time);
        EXPECT_LT(redone, 0);
        EXPECT_LE(all.memory.activations, p.memory.activations);
      }
    }
  }
}

// Liu et al. 2025 (arXiv 2502.16982): five iterations over every matrix, 4 m + 2 m^2 / n operations a parameter.
TEST(Step, MuonOrthogonalisesWhatLionDoesNot) {
  const Job job = job_on("dgx-h100", 64, llama_8b(), 8192, 128);
  const auto optimizer = [&](const char* name) {
    const std::string recipe = std::string(R"({"states": {"optimizer": ")") + name + R"("}})";
    return predict(with_recipe(job, recipe.c_str()), {.tp = 8, .dp = 8, .zero_stage = 1}).time.optimizer.value();
  };
  const double parameters = 8.03e9 / 64, work = 5 * (4 * 4096 + 2.0 * 4096 * 4096 / 14336);
  const double added = optimizer("muon") - optimizer("lion");
  EXPECT_GT(added, parameters * work / 989.5e12);
  EXPECT_LT(added, 2 * parameters * work / 989.5e12);
}

// B300 has next to no int8 units: attention in bf16 is most of the work, and passed the int8 peak.
TEST(Step, UtilisationIsAgainstTheFastestFormat) {
  const Job job = with_precision(job_on("dgx-b300", 8, llama_8b(), 65536, 8), "int8");
  const Prediction p = predict(job, {.tp = 8});
  EXPECT_LE(p.hfu, 1);
  EXPECT_NEAR(p.mfu, p.model_flops / (p.step_time.value() * 8 * job.cluster.accelerator.peak(DType::bf16).value()),
              1e-12);
}

// A projection to the vocabulary in fp32 runs at the peak of fp32, far below that of bf16.
TEST(Step, AHeadInFp32TakesItsTime) {
  const Job job = job_on("dgx-h100", 8, llama_8b(), 8192, 8);
  const Job precise = with_recipe(job, R"({"precision": {"head": "fp32"}})");
  const auto computing = [](const Job& j) { return predict(j, {.tp = 8}).time.compute.value(); };
  const double products = 3 * 2.0 * 8192 * 8 * 4096 * 128256 / 8;  // of a rank
  const Accelerator& device = job.cluster.accelerator;
  const double added = products / device.peak(DType::fp32).value() - products / device.peak(DType::bf16).value();
  EXPECT_GT(computing(precise) - computing(job), 0.9 * added);
  EXPECT_THROW(with_recipe(job, R"({"precision": {"head": "int4"}})"), Error);
}

// A batch of one micro-batch: no other passes through the last chunk while the rest of the gradients is reduced.
TEST(Step, ChunksHideReductionsBehindTheMicroBatchesThereAre) {
  const Job job = job_on("dgx-h100", 64, llama_8b(), 8192, 16);
  const Layout l{.pp = 4, .vp = 8, .dp = 16, .zero_stage = 1};
  const auto taken = [&](double factor) {
    return total(step_of(scaled(job, Resource::compute, factor), l).time).value();
  };
  for (const double factor : {1.1, 1.5, 2.0}) EXPECT_LE(taken(factor), 1.001 * taken(1)) << factor;
}

TEST(Step, FasterPartsAreNeverSlower) {
  const Job job = job_on("dgx-h100", 64, llama_8b(), 8192, 128);
  for (const Layout& l : layouts_of_64()) {
    const double base = total(step_of(job, l).time).value();
    const auto faster = [&](Resource resource, double factor) {
      return total(step_of(scaled(job, resource, factor), l).time).value();
    };
    EXPECT_LE(faster(Resource::memory_bandwidth, 2), base) << describe_layout(l);
    EXPECT_LT(faster(Resource::compute, 2), base * 1.001) << describe_layout(l);  // a step that transfers hold up
    EXPECT_LE(faster(Resource::nic_bandwidth, 4), base * (1 + 1e-12)) << describe_layout(l);
    EXPECT_LE(faster(Resource::scale_up_bandwidth, 2), base * (1 + 1e-12)) << describe_layout(l);
    EXPECT_LE(faster(Resource::latency, 0.5), base) << describe_layout(l);
  }
}

TEST(Step, ChoicesCostWhatTheyShould) {
  const Job job = job_on("dgx-h100", 64, llama_8b(), 8192, 128);
  const Layout base{.tp = 4, .pp = 4, .dp = 4};
  const auto time = [&](auto change) {
    Layout l = base;
    change(l);
    return total(step_of(job, l).time).value();
  };
  const double plain = time([](Layout&) {});
  EXPECT_GT(time([](Layout& l) { l.recompute = Recompute::full; }), 1.1 * plain);
  EXPECT_GT(time([](Layout& l) { l.recompute = Recompute::selective; }), plain);
  EXPECT_GE(time([](Layout& l) { l.overlap_grad_reduce = false; }), plain);
  EXPECT_GE(time([](Layout& l) { l.overlap_param_gather = false; }), plain);
  EXPECT_LT(time([](Layout& l) { l.tp_comm_overlap = true; }), plain);
  const Job offloaded = with_recipe(job, R"({"offload": {"optimizer": true}})");
  EXPECT_GT(total(step_of(offloaded, base).time).value(), plain);
  const auto bubble = [&](int vp) {
    Layout l = base;
    l.vp = vp;
    return step_of(job, l).time.bubble.value();
  };
  EXPECT_LT(bubble(4), 0.5 * bubble(1));
  EXPECT_LT(bubble(8), bubble(4));
}

TEST(Step, BubbleOfEqualStagesIsTheTextbookShare) {
  // Without embedding and head: (pp - 1) / m of the busy time (Narayanan et al. 2021, section 2.2).
  Transformer model = llama_8b();
  model.vocab = 128;
  const Job job = job_on("dgx-h100", 64, model, 8192, 512);
  const Layout l{.tp = 4, .pp = 4, .dp = 4};
  const Step s = step_of(job, l);
  const Seconds busy = total(s.time) - s.time.bubble - s.time.optimizer - s.time.pipeline - s.time.data_parallel;
  EXPECT_NEAR(s.time.bubble / busy, 3.0 / s.micro_batches, 0.1 * 3.0 / s.micro_batches);
}

TEST(Step, EagerHostIsAFloor) {
  const Job job = job_on("dgx-h100", 8, llama(16, 2048, 8192, 32, 32), 4096, 64, "nanotron");
  const Layout l{.tp = 8, .dp = 1, .micro_batch = 1, .zero_stage = 0};
  const Step s = step_of(job, l);
  const double floor = 64.0 * 16 * job.framework.host.per_layer.value();
  EXPECT_GE(total(s.time).value(), floor);
  const Job compiled = with_stack(job, [](Framework& stack) { stack.host.per_layer = {}; });
  EXPECT_LT(total(step_of(compiled, l).time).value(), floor);
}

TEST(Step, AShardedOptimizerMayReduceAllOfTheGradientsAfterTheBackwardPass) {
  // nanotron: ZeRO-0 reduces buckets beside the last backward pass; ZeRO-1 all-reduces one buffer after it, gathers the
  // parameters, and copies the slice of each tensor and rank.
  const Job job = job_on("aws-p5.48xlarge", 64, llama(16, 2048, 8192, 32, 32), 4096, 64, "nanotron");
  const Layout replicas{.dp = 64, .micro_batch = 1, .zero_stage = 0};
  Layout sharded = replicas;
  sharded.zero_stage = 1;
  const Step whole = step_of(job, sharded);
  EXPECT_EQ(whole.hidden.data_parallel, Seconds{});
  EXPECT_GT(step_of(job, replicas).hidden.data_parallel, Seconds{});
  EXPECT_GT(whole.time.data_parallel, step_of(job, replicas).time.data_parallel);
  const Job scatters = with_stack(job, [](Framework& stack) { stack.overlap.sharded_all_reduce = false; });
  EXPECT_LT(step_of(scatters, sharded).time.data_parallel, whole.time.data_parallel);
  const Job flat = with_stack(job, [](Framework& stack) { stack.host.gather_slice = {}; });
  const double tensors = 16 * 6 + 3;  // of a layer: two norms and four products; embedding, norm and head
  EXPECT_NEAR((whole.time.data_parallel - step_of(flat, sharded).time.data_parallel).value(),
              64 * tensors * job.framework.host.gather_slice.value(), 1e-3);
}

TEST(Step, AnUndividedVocabularySlowsTheHead) {
  Transformer model = llama(16, 2048, 8192, 32, 32);
  model.vocab = 50257;
  const Job padded = job_on("dgx-a100-80gb", 8, model, 1024, 8);
  const Job as_it_is = with_stack(padded, [](Framework& stack) { stack.rules.vocab_multiple = 0; });
  const auto head = [](const Job& job, int tp) {
    Tables tables(job);
    return tables.entries({.tp = tp, .dp = 8 / tp}).shard->sections.back().forward.compute;
  };
  EXPECT_GT(head(as_it_is, 1), 1.5 * head(padded, 1));
  EXPECT_NEAR(head(as_it_is, 2) / head(padded, 2), 1, 0.02);  // 25,128 columns are a multiple of eight
}

const BlockCost& mixture_block(Tables& tables, const Layout& layout) {
  return tables.entries(layout).shard->sections[1];
}

TEST(Step, GraphsAndGroupedExpertsTakeLaunchesOffTheHost) {
  const Job job = job_on("dgx-h100", 8, mixture(16, 64, 8), 4096, 64);
  const Layout l{.dp = 8, .ep = 8, .etp = 1};
  const auto host = [&](const char* recipe) {
    Tables tables(with_recipe(job, recipe));
    return mixture_block(tables, l).host[0];
  };
  const Seconds streams = host(R"({"kernels": {"expert_gemm": "streams", "cuda_graphs": "none"}})");
  const Seconds grouped = host(R"({"kernels": {"expert_gemm": "grouped", "cuda_graphs": "none"}})");
  // Eight local experts, three launches of each of two products: all but the first are launches inside.
  EXPECT_NEAR((streams - grouped).value(), 2 * 3 * 7 * job.framework.launch.inside.value(), 1e-9);
  EXPECT_GT(host(R"({"kernels": {"expert_gemm": "list", "cuda_graphs": "none"}})"), 1.5 * streams);
  const Seconds partial = host(R"({"kernels": {"cuda_graphs": "partial", "graph_parts": ["attention", "router"]}})");
  EXPECT_LT(partial, streams);
  EXPECT_GT(partial, Seconds{});
  EXPECT_EQ(host(R"({"kernels": {"cuda_graphs": "full_iteration"}})"), job.framework.host.per_layer);
}

TEST(Step, AHostThatWaitsForTokenCountsAddsToTheDevice) {
  const Job job = job_on("dgx-h100", 8, mixture(16, 64, 8), 4096, 64);
  const Layout l{.dp = 8, .ep = 8, .etp = 1};
  const Seconds waits = total(step_of(with_recipe(job, R"({"kernels": {"static_shapes": false}})"), l).time);
  const Seconds runs_ahead = total(step_of(with_recipe(job, R"({"kernels": {"static_shapes": true}})"), l).time);
  EXPECT_GT(waits, runs_ahead);
  EXPECT_LT(waits, (1 + job.framework.launch.drained) * runs_ahead);
}

TEST(Step, CountsAreReadForwardAndWhereAllIsDoneAgain) {
  const Job job = with_recipe(job_on("dgx-h100", 8, mixture(16, 64, 8), 4096, 64),
                              R"({"kernels": {"static_shapes": false, "cuda_graphs": "none"}})");
  Tables tables(job);
  const BlockCost& block = mixture_block(tables, {.dp = 8, .ep = 8, .etp = 1});
  EXPECT_GT(block.awaited[0], Seconds{});
  EXPECT_LT(block.awaited[0], 0.5 * block.host[0]) << "backward launches more, and reads nothing";
  EXPECT_EQ(block.awaited[2], 2 * block.awaited[0]);
  Tables static_shapes(with_recipe(job, R"({"kernels": {"static_shapes": true}})"));
  EXPECT_EQ(mixture_block(static_shapes, {.dp = 8, .ep = 8, .etp = 1}).awaited[0], Seconds{});
}

// What a stack's grouped products lose, they lose by having several.
TEST(Step, ASingleExpertIsNotGrouped) {
  const Job whole = job_on("dgx-h100", 64, mixture(16, 64, 8), 4096, 64);
  const Job half = with_stack(whole, [](Framework& stack) { stack.kernels.grouped_gemm_efficiency *= 0.5; });
  const auto compute = [](const Job& job, int ep) { return step_of(job, {.dp = 64, .ep = ep, .etp = 1}).time.compute; };
  EXPECT_EQ(compute(half, 64), compute(whole, 64));
  EXPECT_GT(compute(half, 32), 1.2 * compute(whole, 32));
}

// cuDNN's first kernels for Blackwell: 943 TFLOP/s backward where later ones have 1,211.
TEST(Step, FirstKernelsOfADeviceReachAShareOfItsBest) {
  const Job job = job_on("dgx-b200", 8, llama_8b(), 8192, 64);
  const auto attention = [&](const char* recipe) {
    Tables tables(with_recipe(job, recipe));
    KernelTimes times = tables.entries({.dp = 8}).shard->sections[1].backward_kernels;
    return times.of(OperatorKind::attention);
  };
  EXPECT_NEAR(
      attention(R"({"kernels": {"attention": "vendor-first"}})") / attention(R"({"kernels": {"attention": "vendor"}})"),
      1211.0 / 943, 0.05);
}

// All-to-all copies tokens before it sends them and sorts them again after it; DeepEP and HybridEP sort what came.
TEST(Step, DispatchersThatSendOnceSortOnce) {
  const Job job = job_on("dgx-h100", 8, mixture(16, 64, 8), 4096, 64);
  const auto moved = [&](const char* dispatcher) {
    const std::string recipe = fmt::format(R"({{"kernels": {{"dispatcher": "{}"}}}})", dispatcher);
    Tables tables(with_recipe(job, recipe.c_str()));
    KernelTimes times = mixture_block(tables, {.dp = 8, .ep = 8, .etp = 1}).forward_kernels;
    return times.of(OperatorKind::memory_bound).value();
  };
  const double reached = 8 * (1 - std::pow(7.0 / 8, 8));
  const double vectors = 2 * 4096.0 * (1 + 8 + 2 * 8 - (reached + 8));  // copied and copied back
  const double saved = job.framework.kernels.memory_traffic * 2 * job.model.hidden * vectors;
  const Accelerator& device = builtin_catalog().accelerator("H100-SXM5-80GB");
  const double rate = device.memory_bandwidth.value() * device.efficiency.memory.fraction;
  EXPECT_NEAR(moved("all-to-all") - moved("hybridep"), saved / rate, 0.01 * saved / rate);
  EXPECT_EQ(moved("deepep"), moved("hybridep"));
}

// A gradient of bf16 is read and the sum in fp32 read and written; in fp16 both and the sum are of two bytes.
TEST(Step, GradientsAddedApartMoveWhatTheirFormatsAsk) {
  const Job job = test_job(gpt(16, 4096, 32), 8, 2048, 64, "megatron-deepspeed");
  const auto added = [&](const char* format) {
    const auto backward = [&](double traffic) {
      const Job own = with_stack(job, [&](Framework& stack) { stack.kernels.accumulation_traffic = traffic; });
      Tables tables(with_precision(own, format));
      KernelTimes times = tables.entries({.dp = 8}).shard->sections[1].backward_kernels;
      return times.of(OperatorKind::memory_bound).value();
    };
    return backward(10) - backward(0);
  };
  EXPECT_GT(added("bf16"), 0);
  EXPECT_NEAR(added("fp16") / added("bf16"), 0.6, 0.01) << "long transfers alone reach all of the rate";
}

// gpt-oss: 28 bytes an element of the experts' outputs and a backward of 1.7 times that where each expert's are added
// apart, one pass where they are grouped, none inside the fused product.
TEST(Step, BiasesOfExpertsAreAddedApart) {
  Transformer model = mixture(16, 64, 8);
  const auto streamed = [&](const char* form) {
    const std::string recipe = fmt::format(R"({{"kernels": {{"expert_gemm": "{}"}}}})", form);
    Tables tables(with_recipe(job_on("dgx-h100", 8, model, 4096, 64), recipe.c_str()));
    KernelTimes times = mixture_block(tables, {.dp = 8, .ep = 8, .etp = 1}).forward_kernels;
    return times.of(OperatorKind::memory_bound).value();
  };
  const auto with_bias = [&](const char* form) {
    model.mlp_bias = false;
    const double without = streamed(form);
    model.mlp_bias = true;
    return streamed(form) - without;
  };
  const double elements = 4096.0 * 8 * model.hidden;
  const Accelerator& device = builtin_catalog().accelerator("H100-SXM5-80GB");
  const double rate = device.memory_bandwidth.value() * device.efficiency.memory.fraction;
  EXPECT_NEAR(with_bias("streams"), 28 * elements / rate, 0.35 * 28 * elements / rate) << "and launches";
  EXPECT_GT(with_bias("streams"), 5 * with_bias("grouped"));
  EXPECT_GT(with_bias("grouped"), 0);
  EXPECT_EQ(with_bias("fused"), 0);
}

TEST(Step, InputsThatAreQuantisedBeforeTheyAreGathered) {
  const Job job = with_recipe(job_on("dgx-h100", 8, llama_8b(), 8192, 64, "torchtitan"),
                              R"({"precision": {"tensor_gather": "compute"}})");
  const Job narrow = with_recipe(job, R"({"precision": {"tensor_gather": "fp8"}})");
  const Layout l{.tp = 8, .sequence_parallel = true};
  const auto moved = [&](const Job& j) {
    const Step s = step_of(j, l);
    return s.time.tensor_parallel + s.hidden.tensor_parallel;
  };
  // Three gathers of five transfers carry half the bytes.
  EXPECT_LT(moved(narrow), 0.80 * moved(job));
  EXPECT_GT(moved(narrow), 0.65 * moved(job));
}

TEST(Step, DocumentsOfAPackedSequenceAttendToThemselves) {
  // 32,768 tokens of eight documents cost what eight sequences of 4,096 cost.
  const Transformer model = llama(16, 2048, 8192, 32, 32);
  const Job whole = job_on("dgx-h100", 8, model, 32768, 64);
  const Job packed = with(whole, [](JobSpec& spec) { spec.document_len = 4096; });
  const Job apart = job_on("dgx-h100", 8, model, 4096, 512);
  const Step expected = step_of(apart, {.dp = 8, .micro_batch = 8});
  EXPECT_NEAR(step_of(packed, {.dp = 8}).time.compute / expected.time.compute, 1, 1e-9);
  EXPECT_GT(step_of(whole, {.dp = 8}).time.compute, 1.3 * expected.time.compute);
  EXPECT_NEAR(predict(packed, {.dp = 8}).model_flops / predict(apart, {.dp = 8, .micro_batch = 8}).model_flops, 1,
              1e-9);
  EXPECT_THROW(with(whole, [](JobSpec& spec) { spec.document_len = 65536; }), Error);
}

TEST(Step, AdaptersNeedNoWeightGradients) {
  const Job full = job_on("dgx-h100", 8, llama_8b(), 8192, 64);
  const Job lora = with_recipe(full, R"({"trainable": {"kind": "lora", "rank": 16, "targets": ["attention"]}})");
  const Layout l{.dp = 8};
  const Step a = step_of(full, l), b = step_of(lora, l);
  // Two of the three products are left, and the adapters' own are small.
  EXPECT_LT(b.time.compute, 0.80 * a.time.compute);
  EXPECT_GT(b.time.compute, 0.62 * a.time.compute);
  Tables tables(lora);
  const BlockCost& block = mixture_block(tables, l);
  // qkv: 16 (4096 + 6144); attention output: 16 (4096 + 4096).
  EXPECT_DOUBLE_EQ(block.trained, 16 * (4096 + 6144) + 16 * (4096 + 4096));
  EXPECT_GT(block.parameters, 2e8);
  EXPECT_LT(b.time.optimizer, 0.01 * a.time.optimizer);
  const Job head = with_recipe(
      full, R"({"trainable": {"kind": "lora", "rank": 16, "targets": ["attention"], "whole": ["embedding", "head"]}})");
  EXPECT_GT(step_of(head, l).time.compute, b.time.compute) << "the head's weight gradient is back";
  EXPECT_LT(step_of(head, l).time.compute, a.time.compute);
  EXPECT_GT(step_of(head, l).time.optimizer, 5 * b.time.optimizer);
  const Job four_bits = with_recipe(full, R"({"trainable": {"kind": "lora", "base": "int4"}})");
  EXPECT_GT(step_of(four_bits, l).time.compute, b.time.compute) << "weights are made whole before each product";
  EXPECT_LT(memory(four_bits, l).weights, 0.4 * memory(lora, l).weights) << "embedding and head stay as they are";
  EXPECT_LT(memory(lora, l).optimizer, 0.01 * memory(full, l).optimizer);
  EXPECT_EQ(Tables(full).constants().passes, 3);
  EXPECT_EQ(Tables(lora).constants().passes, 2) << "no pass for gradients of weights, no gap after it";
}

// Frozen weights need their input forward alone (Megatron Core, LinearWithFrozenWeight): of ten exchanges of a block,
// the two gathers of saved inputs fall away.
TEST(Step, FrozenWeightsGatherTheirInputsOnce) {
  const auto bare = [](Figures& figures) {
    figures.framework.overlap.tp_backward = false, figures.framework.overlap.tp_exposed = 1;
  };
  const Job plain = job_on("dgx-h100", 8, llama_8b(), 8192, 64);
  const Job full = with_figures(plain, bare);
  const Job lora =
      with_figures(with_recipe(plain, R"({"trainable": {"kind": "lora", "targets": ["attention"]}})"), bare);
  const Layout sequence{.tp = 8, .sequence_parallel = true};
  const auto exchanged = [&](const Job& job, const Layout& l) {
    Tables tables(job);
    const BlockCost& block = mixture_block(tables, l);
    return std::pair{block.forward.tensor.value(), block.backward.tensor.value()};
  };
  const auto [forward, backward] = exchanged(full, sequence);
  EXPECT_DOUBLE_EQ(exchanged(lora, sequence).first, forward);
  EXPECT_NEAR(backward / forward, 1.5, 0.05) << "six and four";
  EXPECT_NEAR(exchanged(lora, sequence).second / forward, 1, 0.05) << "four and four";
  const Layout whole{.tp = 8, .sequence_parallel = false};
  EXPECT_DOUBLE_EQ(exchanged(lora, whole).second, exchanged(full, whole).second) << "sums are of gradients of inputs";
}

// QLoRA under FSDP (bitsandbytes, quant_storage): weights are gathered in their four bits.
TEST(Step, FrozenWeightsAreGatheredAsTheyRest) {
  const auto moved = [](const char* trainable) {
    const std::string recipe = std::string(R"({"trainable": {"kind": "lora", )") + trainable + "}}";
    const Job job = with_recipe(test_job(llama_8b(), 64, 4096, 64, "pytorch-fsdp"), recipe.c_str());
    const Step step = step_of(job, {.dp = 64, .zero_stage = 3, .recompute = Recompute::full});
    return step.time.data_parallel + step.hidden.data_parallel;
  };
  const Seconds whole = moved(R"("base": "compute")"), four = moved(R"("base": "int4")"),
                buffers = moved(R"("base": "int4", "unpacking": "elementwise")");
  EXPECT_LT(four, 0.6 * whole);
  EXPECT_GT(four, 0.2 * whole);
  EXPECT_LT(buffers, four);
}

// Qwen's README, adapters over Int4 GPTQ weights on one A100: whatever the sequence, a step of eight passes over 70e9
// weights takes 17 to 20 s more than products need. AutoGPTQ unpacks them twice (forward, and where it is done again)
// by elementwise operators that move 22.5 bytes a weight.
TEST(Step, ElementwiseUnpackingOfFrozenWeightsTakesItsTraffic) {
  const auto seconds = [](const char* base, const char* unpacking) {
    const std::string recipe =
        fmt::format(R"({{"trainable": {{"kind": "lora", "base": "{}", "unpacking": "{}"}}}})", base, unpacking);
    const Job job = with_recipe(job_on("dgx-a100", 1, llama(80, 8192, 24576, 64, 64, 152064), 1024, 8, "pytorch-fsdp"),
                                recipe.c_str());
    return predict(job, {.recompute = Recompute::full}).step_time.value();
  };
  const double products = seconds("compute", "fused");
  const double elementwise = seconds("int4", "elementwise") - products, fused = seconds("int4", "fused") - products;
  EXPECT_NEAR(elementwise, 17.5, 2.5);
  EXPECT_NEAR(elementwise / fused, 2 * 22.5 / (3 * 2.5), 0.5) << "three passes of one kernel each";
}

// nanotron's sweep on EFA, 1.3B parameters, tp 32, micro-batches of one: 181 ms a layer and micro-batch on two stages,
// 383 ms on four. Per micro-batch that is 1.4 and 1.5 s, more than its layers' sends: a wait for each neighbour.
TEST(Step, TensorGroupsOverManyNodesWaitForTheirNeighbours) {
  const Job job = job_on("aws-p5.48xlarge", 128, llama(16, 2048, 8192, 32, 32, 131072), 4096, 256, "nanotron");
  const auto slot = [&](int tp, int pp) {
    const Layout layout{.tp = tp, .pp = pp, .dp = 128 / tp / pp, .zero_stage = 0};
    return predict(job, layout).step_time.value() / (micro_batches(256, layout) + pp - 1);
  };
  EXPECT_NEAR(slot(32, 2), 1.45, 0.25);
  EXPECT_NEAR(slot(32, 4), 1.53, 0.25);
  const Job sound = with_stack(job, [](Framework& f) { f.host.pipeline_wait = Seconds{}; });
  const Layout two_nodes{.tp = 16, .pp = 2, .dp = 4};
  EXPECT_EQ(predict(sound, two_nodes).step_time, predict(job, two_nodes).step_time);
}

// Each block is gathered twice and scattered once a micro-batch. On the stream of the kernels none of it is hidden.
TEST(Step, WhatIsGatheredForEachLayerWaitsWithoutOverlap) {
  const Job job = with_stack(test_job(llama_8b(), 64, 4096, 64, "torchtitan"),
                             [](Framework& stack) { stack.overlap.fsdp_penalty = 0.2; });
  const auto step = [&](bool gathers, bool reduces) {
    return step_of(job, {.dp = 64, .zero_stage = 3, .overlap_grad_reduce = reduces, .overlap_param_gather = gathers});
  };
  const Step both = step(true, true), none = step(false, false);
  const Seconds moved = both.time.data_parallel + both.hidden.data_parallel;
  EXPECT_GT(both.hidden.data_parallel, 0.2 * moved);
  EXPECT_NEAR(none.time.data_parallel / moved, 1, 1e-9);
  EXPECT_EQ(none.hidden.data_parallel, Seconds{});
  EXPECT_EQ(none.time.compute, both.time.compute);
  for (const Step& one : {step(true, false), step(false, true)}) {
    EXPECT_GT(one.time.data_parallel, both.time.data_parallel);
    EXPECT_LT(one.time.data_parallel, none.time.data_parallel);
    EXPECT_NEAR((one.time.data_parallel + one.hidden.data_parallel) / moved, 1, 1e-9);
  }
}

// PyTorch, set_checkpoint_early_stop: of a Llama block's 218 M weights the last product has 59 M, and the attention's
// last 17 M.
TEST(Step, RecomputeStopsWhereNothingIsLeftToRematerialise) {
  const auto step = [](const Transformer& model, const char* stop, int tp) {
    const std::string recipe = fmt::format(R"({{"activations": {{"early_stop": "{}"}}}})", stop);
    const Job job = with_recipe(test_job(model, 8, 4096, 64, "torchtitan"), recipe.c_str());
    return step_of(job, {.tp = tp, .dp = 8 / tp, .zero_stage = 3, .recompute = Recompute::full}).time;
  };
  const StepTime all = step(llama_8b(), "none", 1), block = step(llama_8b(), "block", 1),
                 modules = step(llama_8b(), "modules", 1);
  EXPECT_EQ(block.compute, all.compute);
  EXPECT_NEAR(1 - block.recompute / all.recompute, 0.22, 0.03) << "59 of 218 of the products";
  EXPECT_NEAR(1 - modules.recompute / all.recompute, 0.29, 0.04) << "76 of 218";
  const StepTime whole = step(llama_8b(), "none", 4), stopped = step(llama_8b(), "block", 4);
  EXPECT_LT(stopped.tensor_parallel, whole.tensor_parallel) << "nor the sum over tensor ranks";
  EXPECT_EQ(step(mixture(8, 32, 4), "block", 1).recompute, step(mixture(8, 32, 4), "none", 1).recompute)
      << "a mixture weighs what its experts give";
}

TEST(Step, ActivationsInHostMemoryTakeTheLinkToIt) {
  const Job job = job_on("dgx-h100", 8, llama_8b(), 8192, 64);
  const Job offloaded = with_recipe(job, R"({"offload": {"activations": true}})");
  const Layout l{.dp = 8};
  EXPECT_GT(total(step_of(offloaded, l).time), 1.3 * total(step_of(job, l).time)) << "PCIe";
  const Job grace = with(job, [](JobSpec& spec) { spec.cluster = {.of = "gb200-nvl72", .accelerators = 8}; });
  const Job moved = with_recipe(grace, R"({"offload": {"activations": true}})");
  EXPECT_LT(total(step_of(moved, l).time), 1.15 * total(step_of(grace, l).time)) << "NVLink-C2C";
  // Two of 32 blocks stay: one goes out while the next is made.
  const Bytes kept = memory(job, l).activations, left = memory(offloaded, l).activations;
  EXPECT_LT(left, 0.2 * kept);
  EXPECT_GT(left, 0.04 * kept);
}

TEST(Step, ExpertExchangeByNodeIsCheaperAcrossNodes) {
  const Job plain = job_on("dgx-h100", 64, mixture(16, 64, 8), 4096, 512);
  const Layout l{.dp = 64, .ep = 64, .etp = 1};
  const Job direct = with_recipe(plain, R"({"kernels": {"dispatcher": "all-to-all"}})");
  const Seconds by_rank = step_of(direct, l).time.expert_parallel;
  const Job job = with_recipe(plain, R"({"kernels": {"dispatcher": "deepep"}})");
  const Seconds by_node = step_of(job, l).time.expert_parallel;
  EXPECT_GT(by_rank.value(), 0);
  EXPECT_LT(by_node, by_rank);
  Layout overlapped = l;
  overlapped.ep_comm_overlap = true;
  EXPECT_LT(step_of(job, overlapped).time.expert_parallel, by_node);
}

// What tensor ranks of experts exchange stays where there are no expert ranks.
TEST(Step, OverlapOfExpertsIsOfExpertRanks) {
  const Job job = job_on("dgx-h100", 16, mixture(16, 64, 8), 4096, 512);
  const Layout l{.tp = 8, .dp = 2, .etp = 8, .sequence_parallel = true};
  Layout overlapped = l;
  overlapped.ep_comm_overlap = true;
  EXPECT_GT(step_of(job, l).time.expert_parallel.value(), 0);
  EXPECT_EQ(step_of(job, overlapped).time.expert_parallel, step_of(job, l).time.expert_parallel);
}

// Megatron Core, model_chunk_schedule_plan.py: an exchange of experts runs beside the kernels that stand over it, and
// beside all of their side where gradients of weights are delayed.
TEST(Step, DelayedWeightGradientsWidenTheWindowsOfExperts) {
  const Job job = with_recipe(job_on("dgx-h100", 16, mixture(16, 64, 8), 4096, 128),
                              R"({"kernels": {"dispatcher": "all-to-all"}})");
  const Job delayed = with_recipe(job, R"({"kernels": {"dispatcher": "all-to-all", "delay_wgrad": true}})");
  const Layout alone{.dp = 16, .ep = 16, .etp = 1};
  Layout beside = alone;
  beside.ep_comm_overlap = true;
  const Step none = step_of(job, alone), at_once = step_of(job, beside), later = step_of(delayed, beside);
  EXPECT_LT(at_once.time.expert_parallel, none.time.expert_parallel);
  EXPECT_LT(later.time.expert_parallel, at_once.time.expert_parallel);
  EXPECT_EQ(later.time.compute, none.time.compute);
  EXPECT_GT(later.hidden.expert_parallel, at_once.hidden.expert_parallel);
}

// Kernels beside an exchange have the multiprocessors that it leaves: DeepEP holds 20 of an H100's 132, a fraction of
// what runs at once that is never hidden.
TEST(Step, ExchangesTakeMultiprocessorsFromTheKernelsBeside) {
  const Job job = with_recipe(job_on("dgx-h100", 16, mixture(16, 64, 8), 4096, 128),
                              R"({"kernels": {"dispatcher": "deepep", "delay_wgrad": true}})");
  const Layout beside{.dp = 16, .ep = 16, .etp = 1, .ep_comm_overlap = true};
  ASSERT_LT(job.framework.overlap.slowdown, 20.0 / 132);
  const Step step = step_of(job, beside);
  const double moved = (step.time.expert_parallel + step.hidden.expert_parallel).value();
  EXPECT_GE(step.time.expert_parallel.value(), 20.0 / 132 * step.hidden.expert_parallel.value());
  EXPECT_GT(step.hidden.expert_parallel.value(), 0);
  EXPECT_LT(step.time.expert_parallel.value(), moved);
}

// One window hides one transfer at a time: kernels beside an exchange of experts hide no gathers of ZeRO-3 meanwhile,
// neither the pass's own nor what is done again.
TEST(Step, WhatHidesExpertsHidesNoGathers) {
  const Job job = with_recipe(job_on("dgx-h100", 16, mixture(16, 64, 8), 4096, 128),
                              R"({"kernels": {"dispatcher": "deepep", "delay_wgrad": true}})");
  for (const Recompute recompute : {Recompute::none, Recompute::full}) {
    Layout layout{.dp = 16, .ep = 8, .etp = 1, .zero_stage = 3, .recompute = recompute};
    const Step apart = step_of(job, layout);
    layout.ep_comm_overlap = true;
    const Step beside = step_of(job, layout);
    EXPECT_GT(beside.hidden.expert_parallel, apart.hidden.expert_parallel);
    EXPECT_LE(beside.hidden.data_parallel, apart.hidden.data_parallel);
    EXPECT_LE(beside.hidden.expert_parallel + beside.hidden.data_parallel, beside.time.compute + beside.time.recompute);
  }
}

// ZeRO-2 keeps a shard of the gradients from one micro-batch to the next: each micro-batch reduces and scatters its
// own. A pipeline adds them up first.
TEST(Step, ShardedGradientsAreReducedEveryMicroBatch) {
  const auto data = [](int zero, int micro_batches, int pp) {
    const Layout l{
        .pp = pp, .dp = 64 / pp, .zero_stage = zero, .overlap_grad_reduce = false, .overlap_param_gather = false};
    return step_of(job_on("dgx-h100", 64, llama_8b(), 8192, micro_batches * 64 / pp), l).time.data_parallel;
  };
  EXPECT_EQ(data(1, 8, 1), data(1, 2, 1));
  EXPECT_EQ(data(2, 1, 1), data(1, 1, 1));
  const Seconds once = data(2, 2, 1) - data(2, 1, 1);
  EXPECT_GT(once, 0.4 * data(2, 1, 1));
  EXPECT_LT(once, data(2, 1, 1));
  EXPECT_NEAR((data(2, 8, 1) - data(2, 1, 1)) / once, 7, 1e-6);
  EXPECT_EQ(data(2, 8, 2), data(2, 2, 2));
}

// Megatron's --no-bias-swiglu-fusion and its like: each operation reads and writes by itself, unless blocks are
// compiled.
TEST(Step, FusionsOffTakeTheirTraffic) {
  const Job job = job_on("dgx-h100", 8, llama_8b(), 8192, 64);
  const auto compute = [&](const char* kernels) {
    return step_of(with_recipe(job, (std::string(R"({"kernels": )") + kernels + "}").c_str()), {.dp = 8}).time.compute;
  };
  const Seconds fused = compute("{}"), unfused = compute(R"({"unfused": true})");
  EXPECT_GT(unfused, 1.02 * fused);
  EXPECT_LT(unfused, 1.5 * fused);
  EXPECT_EQ(compute(R"({"unfused": true, "compiled": true})"), fused);
  EXPECT_TRUE(test_job(llama_8b(), 8, 4096, 64, "torchtitan").recipe.kernels.unfused) << "PyTorch's own operators";
  EXPECT_FALSE(job.recipe.kernels.unfused);
}

// Megatron Core's MoEAllGatherTokenDispatcher: the bytes of all tokens of the group, whatever top_k is.
TEST(Step, GatheringAllTokensPaysForSmallGroupsAlone) {
  const auto exchanged = [](const char* dispatcher, int ep, int top_k) {
    const std::string recipe = fmt::format(R"({{"kernels": {{"dispatcher": "{}"}}}})", dispatcher);
    const Job job = with_recipe(job_on("dgx-h100", 64, mixture(16, 64, top_k), 4096, 512), recipe.c_str());
    return step_of(job, {.dp = 64, .ep = ep, .etp = 1}).time.expert_parallel;
  };
  EXPECT_GT(exchanged("all-gather", 64, 2), 2 * exchanged("all-to-all", 64, 2)) << "64 copies against 2";
  EXPECT_LT(exchanged("all-gather", 4, 8), exchanged("all-to-all", 4, 8)) << "4 copies against 8";
  EXPECT_NEAR(exchanged("all-gather", 16, 2) / exchanged("all-gather", 16, 8), 1, 1e-9);
}

// Megatron Core, --moe-shared-expert-overlap: the shared experts' products hide as much of dispatch and combine.
TEST(Step, SharedExpertsRunBesideTheExchange) {
  Transformer model = mixture(16, 64, 8);
  model.shared_expert_ffn_hidden = 2048;
  const Job apart =
      with_recipe(job_on("dgx-h100", 64, model, 4096, 512), R"({"kernels": {"dispatcher": "all-to-all"}})");
  const Job beside = with_recipe(apart, R"({"kernels": {"dispatcher": "all-to-all", "shared_expert_overlap": true}})");
  const Layout l{.dp = 64, .ep = 64, .etp = 1};
  const Step before = step_of(apart, l), after = step_of(beside, l);
  EXPECT_EQ(before.hidden.expert_parallel, Seconds{});
  EXPECT_GT(after.hidden.expert_parallel, Seconds{});
  EXPECT_EQ(after.time.compute, before.time.compute);
  const Seconds moved = before.time.expert_parallel;
  EXPECT_NEAR((after.time.expert_parallel + after.hidden.expert_parallel) / moved, 1, 1e-9);
  // Of three products a pass and expert width: 2 * 3 * 2048 * 2048 FLOP a token, three times over the passes.
  const double flops = 3 * 2.0 * 3 * 2048 * 2048 * 4096 * 8 * 16, least = flops / 989e12;
  EXPECT_LT(after.hidden.expert_parallel.value(), 3 * least);
  EXPECT_GT(after.hidden.expert_parallel.value(), 0.5 * least);
  EXPECT_EQ(step_of(with_recipe(job_on("dgx-h100", 64, mixture(16, 64, 8), 4096, 512),
                                R"({"kernels": {"dispatcher": "all-to-all", "shared_expert_overlap": true}})"),
                    l)
                .hidden.expert_parallel,
            Seconds{})
      << "none to run beside it";
}

// What a GEMM exchanges follows from how it is cut, not from its widths: at ffn = tp * hidden nothing special happens.
TEST(Step, NoCliffWhereInnerWidthIsAMultipleOfHidden) {
  const auto step = [](int ffn) {
    const Job job = job_on("dgx-h100", 8, llama(32, 4096, ffn, 32, 8), 8192, 64);
    return step_of(job, {.tp = 4, .dp = 2, .tp_comm_overlap = true}).time;
  };
  const StepTime at = step(16384);
  for (const int ffn : {16380, 16388}) {
    EXPECT_NEAR(step(ffn).tensor_parallel / at.tensor_parallel, 1, 0.01) << ffn;
    EXPECT_NEAR(total(step(ffn)) / total(at), 1, 0.01) << ffn;
  }
}

TEST(Step, BytesScaleWithTheFormat) {
  const Job plain = job_on("dgx-h100", 64, llama_8b(), 8192, 128);
  const Layout l{.tp = 8, .cp = 2, .pp = 2, .dp = 2, .micro_batch = 16, .overlap_grad_reduce = false};
  const auto entries = [&](const char* format) {
    Tables tables(
        with_stack(with_precision(plain, format), [](Framework& stack) { stack.overlap.tp_backward = false; }));
    const Entries e = tables.entries(l);
    const Pass pass = e.shard->sections[1].forward + e.shard->sections[1].backward;
    return std::array{e.shard->boundary.value(), pass.tensor.value(),
                      tables.constants().reduce_bytes * tables.constants().parameter_bytes};
  };
  const auto half = entries("bf16"), whole = entries("fp32");
  EXPECT_DOUBLE_EQ(whole[0], 2 * half[0]);
  EXPECT_NEAR(whole[1] / half[1], 2, 0.1);  // the latency does not double
  EXPECT_DOUBLE_EQ(whole[2], 2 * half[2]);  // gradients are reduced in fp32 either way
}

// Experts cut by etp gather their group's tokens and scatter their partial sums, also where ep is 1.
TEST(Step, ExpertTensorRanksExchange) {
  const Job job = job_on("dgx-h100", 64, mixture(16, 64, 8), 4096, 512);
  const auto expert = [&](int ep, int etp) {
    return step_of(job, {.tp = 4, .dp = 16, .ep = ep, .etp = etp}).time.expert_parallel.value();
  };
  EXPECT_EQ(expert(1, 1), 0);
  EXPECT_GT(expert(1, 4), 0);
  EXPECT_GT(expert(8, 4), expert(8, 1));
  EXPECT_GT(expert(8, 4), expert(8, 2));
}

// DeepSeek-V3 report, section 3.3.3: dispatch in fp8, combination in bf16: three quarters of the bytes.
TEST(Step, DispatchInTheFormatOfTheExperts) {
  const Job job = with_recipe(with_precision(job_on("dgx-h100", 64, mixture(16, 64, 8), 4096, 512), "fp8-block"),
                              R"({"kernels": {"dispatcher": "all-to-all"}})");
  const Layout l{.dp = 64, .ep = 64, .etp = 1};
  const Seconds whole = step_of(job, l).time.expert_parallel;
  const Job low = with_stack(job, [](Framework& stack) { stack.overlap.dispatch_low_precision = true; });
  EXPECT_NEAR(step_of(low, l).time.expert_parallel / whole, 0.75, 0.03);
}

TEST(Step, RackOf72IsTakenInEqualParts) {
  // 64 experts' ranks of a job of 256 sit inside one rack each: their exchange never leaves NVLink.
  const Job job = job_on("gb200-nvl72", 256, mixture(16, 64, 8), 4096, 1024);
  const Layout l{.dp = 256, .ep = 64, .etp = 1};
  const Step s = step_of(job, l);
  EXPECT_LT(s.time.expert_parallel.value(), 0.6 * s.time.compute.value());
}

}  // namespace
}  // namespace meshwright::parallel
