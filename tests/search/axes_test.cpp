#include "meshwright/search/axes.hpp"

#include <gtest/gtest.h>

#include "core/refusal.hpp"
#include "meshwright/core/error.hpp"

namespace meshwright::search {
namespace {

std::string refusal(void (*read)(Filter&, std::string_view, const std::string&), std::vector<std::string> texts) {
  Filter filter;
  return meshwright::refusal([&] {
    for (const std::string& text : texts) read(filter, text, "--fix");
  });
}

TEST(Axes, RowsGiveBackWhatTheySet) {
  for (std::size_t i = 0; i < axis_count; ++i) {
    const AxisRow& row = axis_rows()[i];
    EXPECT_EQ(static_cast<std::size_t>(row.axis), i) << row.name;
    Layout layout;
    row.set(layout, row.words.empty() ? 3 : row.most);
    EXPECT_EQ(row.get(layout), row.words.empty() ? 3 : row.most) << row.name;
    // Every row is a key of a layout file.
    EXPECT_NO_THROW(read_layout(Reader::text("{\"" + std::string(row.name) + "\": " +
                                                 (row.words.empty()              ? "3"
                                                  : row.words.front() == "false" ? "true"
                                                                                 : "\"" + spelled(row.axis, 0) + "\"") +
                                                 "}",
                                             "test")));
  }
}

TEST(Axes, AreTheFieldsOfALayout) {
  ASSERT_EQ(axis_rows().size(), axis_count);
  ASSERT_EQ(axis_rows().size(), layout_fields().size());
  for (std::size_t i = 0; i < axis_count; ++i) EXPECT_EQ(axis_rows()[i].name, layout_fields()[i].key);
  const auto is = [](Axis axis, std::string_view name) { return row_of(axis).name == name; };
  EXPECT_TRUE(is(Axis::tp, "tp") && is(Axis::cp, "cp") && is(Axis::pp, "pp") && is(Axis::vp, "vp"));
  EXPECT_TRUE(is(Axis::dp, "dp") && is(Axis::ep, "ep") && is(Axis::etp, "etp") && is(Axis::cp_kind, "cp_kind"));
  EXPECT_TRUE(is(Axis::micro_batch, "micro_batch") && is(Axis::zero_stage, "zero_stage"));
  EXPECT_TRUE(is(Axis::hsdp_shard, "hsdp_shard") && is(Axis::sequence_parallel, "sequence_parallel"));
  EXPECT_TRUE(is(Axis::recompute, "recompute") && is(Axis::recompute_layers, "recompute_layers"));
  EXPECT_TRUE(is(Axis::schedule, "schedule") && is(Axis::stage_split, "stage_split"));
  EXPECT_TRUE(is(Axis::overlap_grad_reduce, "overlap_grad_reduce"));
  EXPECT_TRUE(is(Axis::overlap_param_gather, "overlap_param_gather"));
  EXPECT_TRUE(is(Axis::tp_comm_overlap, "tp_comm_overlap") && is(Axis::ep_comm_overlap, "ep_comm_overlap"));
  EXPECT_TRUE(is(Axis::overlap_p2p, "overlap_p2p"));
}

TEST(Axes, WhatIsStatedIsReadAndSaid) {
  Filter filter;
  fix(filter, "tp=8, pp=4", "--fix");
  fix(filter, "recompute=full", "--fix");
  exclude(filter, "cp", "--exclude");
  exclude(filter, "zero_stage=3,zero_stage=2", "--exclude");
  EXPECT_EQ(filter.stated(), (std::vector<std::string>{"tp = 8", "cp = 1", "pp = 4", "not zero_stage = 3",
                                                       "not zero_stage = 2", "recompute = full"}));
  EXPECT_TRUE(filter.admits(Layout{.tp = 8, .pp = 4, .recompute = Recompute::full}));
  EXPECT_FALSE(filter.admits(Layout{.tp = 8, .pp = 4, .zero_stage = 2, .recompute = Recompute::full}));
  EXPECT_FALSE(filter.admits(Layout{.tp = 8, .cp = 2, .pp = 4, .recompute = Recompute::full}));
  EXPECT_EQ(filter.tried(Axis::zero_stage, {0, 1, 2, 3}), (std::vector{0, 1}));
  EXPECT_EQ(filter.tried(Axis::tp, {1, 2}), std::vector{8});
}

// As describe_layout(), stacks and people call them.
TEST(Axes, GoByOtherNames) {
  Filter filter;
  fix(filter, "mb=2, z=1, Tensor-Model-Parallel-Size=8, vpp=4, sp=true", "--fix");
  EXPECT_EQ(filter.stated(), (std::vector<std::string>{"tp = 8", "vp = 4", "micro_batch = 2", "zero_stage = 1",
                                                       "sequence_parallel = true"}));
  for (const char* same : {"mbs=2", "micro-batch=2", "micro_batch_size=2"}) {
    Filter other;
    fix(other, same, "--fix");
    EXPECT_EQ(other.stated(), std::vector<std::string>{"micro_batch = 2"}) << same;
  }
  EXPECT_EQ(refusal(fix, {"gbs=512"}), "--fix: 'gbs' is the job's and no axis of its layouts; expected --global-batch");
}

TEST(Axes, BadTextsNameWhatIsExpected) {
  EXPECT_EQ(refusal(fix, {"tpp=8"}), "--fix: unknown axis 'tpp' (did you mean 'tp'?)");
  EXPECT_EQ(refusal(fix, {"tp=eight"}), "--fix: tp: found 'eight', expected a whole number from 1 to 4096");
  EXPECT_EQ(refusal(fix, {"tp=0"}), "--fix: tp: found '0', expected a whole number from 1 to 4096");
  EXPECT_EQ(refusal(fix, {"tp"}), "--fix: found 'tp', expected tp=VALUE");
  EXPECT_EQ(refusal(fix, {"tp="}), "--fix: found 'tp=', expected tp=VALUE");
  EXPECT_EQ(refusal(exclude, {"cp="}), "--fix: found 'cp=', expected one value to leave out, as in cp=1");
  EXPECT_EQ(refusal(fix, {""}), "--fix: found '', expected AXIS=VALUE, as in tp=8");
  EXPECT_EQ(refusal(fix, {"recompute=ful"}), "--fix: recompute: unknown value 'ful' (did you mean 'full'?)");
  EXPECT_EQ(refusal(fix, {"tp=8", "tp=4"}), "--fix: tp cannot be both 8 and 4");
  EXPECT_EQ(refusal(exclude, {"schedule"}),
            "--fix: found 'schedule', expected one value to leave out, as in schedule=dualpipe");
  Filter filter;
  fix(filter, "tp=8", "--fix");
  EXPECT_THROW(exclude(filter, "tp", "--exclude"), Error);
  EXPECT_THROW(exclude(filter, "tp=8", "--exclude"), Error);
  exclude(filter, "pp=4", "--exclude");
  EXPECT_THROW(fix(filter, "pp=4", "--fix"), Error);
}

}  // namespace
}  // namespace meshwright::search
