#include "meshwright/parallel/layout.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/refusal.hpp"

namespace meshwright::parallel {
namespace {

using testing::HasSubstr;

Layout read(const std::string& json) { return read_layout(Reader::text(json, "layout.json")); }
std::string refusal(const std::string& json) {
  return meshwright::refusal([&] { read(json); });
}

TEST(Layout, ReadsEveryFieldByItsName) {
  const Layout l = read(
      R"({"tp": 8, "cp": 2, "pp": 16, "vp": 4, "dp": 64, "ep": 8, "etp": 2, "micro_batch": 2, "zero_stage": 3,
          "hsdp_shard": 32, "sequence_parallel": false, "recompute": "selective", "schedule": "zb-h1",
          "stage_split": "embedding", "overlap_grad_reduce": false, "overlap_param_gather": false,
          "tp_comm_overlap": true, "ep_comm_overlap": true, "overlap_p2p": false, "cp_kind": "ulysses", "stages": [3, 4, 5],
          "order": "tp-cp-ep-pp-dp"})");
  EXPECT_EQ(l, (Layout{.tp = 8,
                       .cp = 2,
                       .pp = 16,
                       .vp = 4,
                       .dp = 64,
                       .ep = 8,
                       .etp = 2,
                       .micro_batch = 2,
                       .zero_stage = 3,
                       .hsdp_shard = 32,
                       .sequence_parallel = false,
                       .recompute = Recompute::selective,
                       .schedule = PipelineSchedule::zero_bubble_h1,
                       .stage_split = StageSplit::embedding,
                       .overlap_grad_reduce = false,
                       .overlap_param_gather = false,
                       .tp_comm_overlap = true,
                       .ep_comm_overlap = true,
                       .overlap_p2p = false,
                       .cp_kind = ContextKind::ulysses,
                       .stages = {3, 4, 5},
                       .order = RankOrder{{Axis::tp, Axis::cp, Axis::ep, Axis::pp, Axis::dp}}}));
  EXPECT_EQ(l.accelerators(), 8 * 2 * 16 * 64);
  EXPECT_EQ(read("{}"), Layout{});
}

TEST(Layout, RefusesWhatItDoesNotKnow) {
  EXPECT_THAT(refusal(R"({"tp": 0})"), HasSubstr("layout.json:/tp"));
  EXPECT_THAT(refusal(R"({"tp": -4})"), HasSubstr("layout.json:/tp"));
  EXPECT_THAT(refusal(R"({"tpp": 4})"), HasSubstr("tp"));
  EXPECT_THAT(refusal(R"({"etp": 0})"), HasSubstr("/etp"));
  EXPECT_THAT(refusal(R"({"cp_kind": "ulises"})"), HasSubstr("ulysses"));
  EXPECT_THAT(refusal(R"({"stages": []})"), HasSubstr("layers of each stage"));
  EXPECT_THAT(refusal(R"({"stages": [4, -1]})"), HasSubstr("/stages/1"));
  for (const char* order : {"", "tp", "tp-cp-ep-dp", "tp-tp-ep-dp-pp", "tp-cp-ep-dp-pp-", "tp-cp-ep-dp-xx", "pp-tp"}) {
    EXPECT_THAT(refusal(R"({"order": ")" + std::string(order) + R"("})"), HasSubstr("as in 'tp-cp-ep-dp-pp'")) << order;
  }
  EXPECT_THAT(refusal(R"({"zero_stage": 4})"), HasSubstr("/zero_stage"));
  EXPECT_THAT(refusal(R"({"recompute": "fulll"})"), HasSubstr("full"));
  EXPECT_THAT(refusal(R"({"schedule": "1f1bb"})"), HasSubstr("1f1b"));
}

TEST(Layout, DescriptionLeavesOnesOut) {
  EXPECT_EQ(describe_layout({.tp = 8, .pp = 16, .vp = 8, .dp = 128}), "tp8 pp16 vp8 dp128 mb1 z1");
  EXPECT_EQ(describe_layout({.dp = 16, .zero_stage = 3, .hsdp_shard = 8}), "dp16 mb1 z3 hsdp8");
  EXPECT_EQ(describe_layout({.dp = 8, .micro_batch = 2, .zero_stage = 3, .recompute = Recompute::full}),
            "dp8 mb2 z3 recompute-full");
}

TEST(Layout, DerivedDegrees) {
  EXPECT_EQ(effective_schedule({.pp = 4, .vp = 2}), PipelineSchedule::interleaved);
  EXPECT_EQ(effective_schedule({.pp = 4, .schedule = PipelineSchedule::interleaved}), PipelineSchedule::one_f_one_b);
  EXPECT_EQ(micro_batches(256, {.dp = 8, .micro_batch = 2}), 16);
}

TEST(Layout, RefusesDegreesBeyondReason) {
  EXPECT_THAT(refusal(R"({"tp": 65536, "cp": 65536})"), HasSubstr("layout.json:/tp: found 65536"));
  EXPECT_THAT(refusal(R"({"tp": 4096, "cp": 65536, "pp": 65536})"), HasSubstr("more than 16777216 accelerators"));
  EXPECT_THAT(refusal(R"({"dp": 16777216, "pp": 2})"), HasSubstr("more than 16777216 accelerators"));
  EXPECT_THAT(refusal(R"({"vp": 4097})"), HasSubstr("layout.json:/vp"));
  EXPECT_THAT(refusal(R"({"stages": [10001]})"), HasSubstr("layout.json:/stages/0"));
  EXPECT_EQ(refusal(R"({"dp": 16777216})"), "accepted");
}

TEST(Layout, ChecksWhatAProgramSets) {
  const auto said = [](Layout layout) -> std::string {
    try {
      check(layout, "layout");
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_EQ(said({}), "");
  EXPECT_EQ(said({.vp = 0}), "layout/vp: found 0, expected a whole number from 1 to 4096");
  EXPECT_EQ(said({.etp = -1}), "layout/etp: found -1, expected a whole number from 1 to 4096");
  EXPECT_EQ(said({.zero_stage = 4}), "layout/zero_stage: found 4, expected a whole number from 0 to 3");
}

// Products that no int holds are the largest int, and counts of micro-batches don't divide by what overflowed.
TEST(Layout, CountsWithoutOverflow) {
  const Layout l{.tp = 65536, .cp = 65536, .dp = 65536, .micro_batch = 65536};
  EXPECT_EQ(l.accelerators(), 2147483647);
  EXPECT_EQ(micro_batches(64, l), 1);
}

}  // namespace
}  // namespace meshwright::parallel
