// Tokens to steps to days.
#include "meshwright/capacity/run_time.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "meshwright/core/error.hpp"

namespace meshwright::tests {
namespace {
using namespace capacity;
using namespace literals;

const StepTimeOf proportional = [](int seq_len, int batch) { return Seconds::base(1e-6 * seq_len * batch); };

TEST(RunTime, StepsAreRoundedUp) {
  const RunSchedule schedule{.phases = {{"main", 14.8e12, 4096, 15360}}};
  const RunTime run = run_time(
      schedule, [](int, int) { return 20_s; }, "run");
  EXPECT_EQ(run.steps, 235240);  // 14.8e12 / 62,914,560 = 235,239.7
  EXPECT_EQ(run.training, Seconds::base(235240 * 20.0));
  EXPECT_GE(run.tokens, 14.8e12);
}

TEST(RunTime, AWholeNumberOfStepsStaysWhole) {
  const RunSchedule schedule{.phases = {{"main", 0.1 * 30, 1, 3}, {"long", 3e12, 30, 100}}};
  EXPECT_EQ(run_time(schedule, proportional, "run").steps, 1 + 1000000000);
}

TEST(RunTime, HasAStepHoweverFewItsTokens) {
  const RunTime run = run_time({.phases = {{"main", 1, 8192, 2048}}}, proportional, "run");
  EXPECT_EQ(run.steps, 1);
  EXPECT_GT(run.training, 0_s);
  for (const char* text : {"1e-320", "0.5", "0", "nan"}) EXPECT_THROW(parse_tokens(text, "tokens"), Error) << text;
  EXPECT_EQ(parse_tokens("1", "tokens"), 1);
}

// BLOOM: batch 192 rising by 16 to 2,048 over 9,765,625 sequences of 2,048 (tr11-176B-ml chronicles).
TEST(RunTime, BatchRampTrainsTheSameTokensInMoreSteps) {
  RunSchedule schedule{.phases = {{"main", 366e9, 2048, 2048}}};
  const RunTime flat = run_time(schedule, proportional, "run");
  schedule.ramp = {192, 16, 9765625};
  const RunTime ramped = run_time(schedule, proportional, "run");
  EXPECT_EQ(ramped.segments.size(), 117U);
  EXPECT_EQ(ramped.segments.front().steps, 439);  // 9,765,625 / 116 / 192
  EXPECT_NEAR(ramped.tokens / flat.tokens, 1, 1e-3);
  EXPECT_NEAR(ramped.training / flat.training, 1, 1e-3);
  EXPECT_GT(ramped.steps, flat.steps + 5000);
}

TEST(RunTime, ARampMayBeLongerThanTheRun) {
  const RunSchedule schedule{.phases = {{"main", 1e6, 100, 1000}}, .ramp = {100, 100, 1e6}};
  const RunTime run = run_time(schedule, proportional, "run");
  EXPECT_EQ(run.segments.size(), 1U);
  EXPECT_EQ(run.steps, 100);
}

TEST(RunTime, PhasesEvaluationAndWarmUp) {
  const RunSchedule schedule{.phases = {{"4k", 1e9, 4096, 256}, {"32k", 1e8, 32768, 32}},
                             .evaluate_every = 100,
                             .evaluation = 30_s,
                             .warm_up = 600_s};
  const RunTime run = run_time(schedule, proportional, "run");
  EXPECT_EQ(run.segments.size(), 2U);
  EXPECT_EQ(run.steps, 954 + 96);
  EXPECT_EQ(run.evaluation, 300_s);
  EXPECT_EQ(run.total(), run.training + 900_s);
}

TEST(RunTime, RefusesWhatMakesNoRun) {
  const auto refused = [](const RunSchedule& schedule) { run_time(schedule, proportional, "run"); };
  EXPECT_THROW(refused({}), Error);
  EXPECT_THROW(refused({.phases = {{"main", 0, 4096, 8}}}), Error);
  EXPECT_THROW(refused({.phases = {{"main", 1e9, 0, 8}}}), Error);
  EXPECT_THROW(refused({.phases = {{"main", 1e18, 1, 1}}}), Error);
  EXPECT_THROW(refused({.phases = {{"main", 1e9, 10, 100}}, .ramp = {10, 7, 1000}}), Error);
  EXPECT_THROW(refused({.phases = {{"main", 1e9, 10, 100}}, .ramp = {100, 10, 1000}}), Error);
}

TEST(Tokens, AreReadWithTheirPrefix) {
  EXPECT_DOUBLE_EQ(parse_tokens("15T", "--tokens"), 15e12);
  EXPECT_DOUBLE_EQ(parse_tokens("14.8 T", "--tokens"), 14.8e12);
  EXPECT_DOUBLE_EQ(parse_tokens("400B", "--tokens"), 4e11);
  EXPECT_DOUBLE_EQ(parse_tokens("2e12", "--tokens"), 2e12);
  for (const char* text : {"", "T", "15Q", "-1T", "0", "nan", "inf", "1e19", "15TT", "15 tokens"})
    EXPECT_THROW(parse_tokens(text, "--tokens"), Error) << text;
}

}  // namespace
}  // namespace meshwright::tests
