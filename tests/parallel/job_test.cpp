#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/refusal.hpp"
#include "meshwright/parallel/job.hpp"
#include "meshwright/parallel/prediction.hpp"

namespace meshwright::parallel {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

Reader text(const std::string& json) { return Reader::text(json, "job.json"); }
Job read(const std::string& json) { return read_job(text(json), builtin_catalog()); }
std::string refusal(const std::string& json) {
  return meshwright::refusal([&] { read(json); });
}

TEST(Job, NamesAreLookedUpAndDefaultsListed) {
  const Job job = read(R"({"model": "llama-3.1-405b", "cluster": "dgx-h100", "nodes": 16, "seq_len": 8192,
                           "global_batch": 256})");
  EXPECT_EQ(job.model.layers, 126);
  EXPECT_EQ(job.accelerators, 128);
  EXPECT_EQ(job.framework.name, "megatron-core");
  EXPECT_EQ(job.precision.name, "bf16");
  EXPECT_THAT(job.assumptions, Contains("framework: megatron-core (default)"));
  EXPECT_THAT(job.assumptions, Contains("precision: bf16 (default)"));
}

TEST(Job, AcceleratorsFollowTheLayout) {
  const Job job = read(R"({"model": "llama-3.1-8b", "cluster": "dgx-h100", "seq_len": 8192, "global_batch": 64,
                           "layout": {"tp": 2, "dp": 16}})");
  EXPECT_EQ(job.accelerators, 32);
  EXPECT_EQ(job.cluster.nodes, 4);
  EXPECT_THAT(job.assumptions, Contains(HasSubstr("gpus: 32")));
}

TEST(Job, LayoutTakesWhatIsLeftAndTheStacksOverlaps) {
  const Reader file = text(R"({"model": "llama-3.1-8b", "cluster": "dgx-h100", "gpus": 64, "seq_len": 8192,
                               "global_batch": 64, "framework": "nanotron", "layout": {"tp": 2, "pp": 2}})");
  const Job job = read_job(file, builtin_catalog());
  ASSERT_TRUE(job.layout);
  const Layout layout = *job.layout;
  EXPECT_EQ(layout.dp, 16);
  EXPECT_EQ(layout.overlap_param_gather, job.framework.defaults.overlap_param_gather);
  EXPECT_THAT(job.assumptions, Contains(HasSubstr("layout dp: 16")));
}

TEST(Job, MemoryThatOwnRunsMoveIsSaidWithASpreadAndWithout) {
  CatalogData data = *builtin_catalog().data();
  data.frameworks.push_back(Reader::text(R"({"name": "megatron-core", "works": [
      {"model": "llama-3.2-1b", "seq_len": 4096, "precision": "bf16", "trainable": "all", "time": 1, "memory": 2}]})",
                                         "mine.json"));
  const Catalog catalog(std::move(data));
  const Reader file = text(R"({"model": "llama-3.2-1b", "cluster": "dgx-h100", "nodes": 1, "seq_len": 4096,
                               "global_batch": 64})");
  const Job job = read_job(file, catalog);
  EXPECT_EQ(job.framework.work_memory, 2);
  EXPECT_THAT(job.assumptions, Contains(HasSubstr("take 2 times what operators keep")));
  EXPECT_THAT(read_job(file, builtin_catalog()).assumptions, Not(Contains(HasSubstr("what operators keep"))));
}

TEST(Job, AFormatThatTheStackLacksIsSaid) {
  const auto warnings = [](const std::string& precision) {
    const Job job = read(R"({"model": "llama-3.2-1b", "cluster": "dgx-h100", "nodes": 1, "seq_len": 4096,
                             "global_batch": 64, "layout": {"tp": 1}, "precision": ")" +
                         precision + "\"}");
    return predict(job, *job.layout).warnings;
  };
  EXPECT_THAT(warnings("int8"), Contains(HasSubstr("precision: megatron-core is not known to train in int8")));
  EXPECT_THAT(warnings("fp8"), Not(Contains(HasSubstr("precision:"))));
}

// deepspeed/runtime/zero/config.py, overlap_comm_valid: true where the stage is 3, false below; its one switch holds
// for gathers too (runtime/zero/parameter_offload.py).
TEST(Job, WhatGathersEachLayerDoesItBesideTheOthers) {
  const auto layout = [](const std::string& stack, const std::string& members) {
    return *read(R"({"model": "llama-3.1-8b", "cluster": "dgx-h100", "gpus": 8, "seq_len": 4096, "global_batch": 64,
                     "framework": ")" +
                 stack + R"(", "layout": {)" + members + "}}")
                .layout;
  };
  for (const char* stack : {"deepspeed", "hf-trainer"}) {
    const Layout third = layout(stack, R"("zero_stage": 3)"), second = layout(stack, R"("zero_stage": 2)");
    EXPECT_TRUE(third.overlap_grad_reduce && third.overlap_param_gather) << stack;
    EXPECT_FALSE(second.overlap_grad_reduce || second.overlap_param_gather) << stack;
  }
  EXPECT_FALSE(layout("deepspeed", R"("zero_stage": 3, "overlap_grad_reduce": false)").overlap_param_gather);
}

TEST(Job, OneClearLineForEachBadInput) {
  const std::string rest = R"("cluster": "dgx-h100", "seq_len": 4096, "global_batch": 64})";
  EXPECT_THAT(refusal(R"({"model": "llama-3.1-4050b", )" + rest), HasSubstr("llama-3.1-405b"));
  EXPECT_THAT(refusal(R"({"model": "llama-3.1-8b", "framwork": "nemo", )" + rest), HasSubstr("'framework'"));
  EXPECT_THAT(refusal(R"({"model": "llama-3.1-8b", "framework": "megatrom", )" + rest), HasSubstr("/framework"));
  EXPECT_THAT(refusal(R"({"model": "llama-3.1-8b", "precision": "bf61", )" + rest), HasSubstr("bf16"));
  EXPECT_THAT(refusal(R"({"model": "llama-3.1-8b", "moe_imbalance": 0.5, )" + rest), HasSubstr("/moe_imbalance"));
  EXPECT_THAT(refusal(R"({"model": "llama-3.1-8b", "precision": "mxfp8", )" + rest),
              AllOf(HasSubstr("/precision"), HasSubstr("fp8-block")));  // Hopper scales no blocks in its units
  EXPECT_THAT(refusal(R"({"model": "llama-3.1-8b", "gpus": 0, )" + rest), HasSubstr("/gpus"));
  EXPECT_THAT(refusal(R"({"model": "llama-3.1-8b", "cluster": "dgx-h10", "seq_len": 4096, "global_batch": 64})"),
              HasSubstr("/cluster"));
  EXPECT_THAT(refusal(R"({"model": "llama-3.1-8b", "cluster": "dgx-h100", "global_batch": 64})"), HasSubstr("seq_len"));
}

}  // namespace
}  // namespace meshwright::parallel
