#include "meshwright/cost/loggp.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/refusal.hpp"
#include "meshwright/core/error.hpp"

namespace meshwright::cost {
namespace {

std::vector<std::uint64_t> finish(std::string_view goal, const LogGP& p = {}) {
  const ClockSweep sweep = simulate(parse_goal(goal, "test.goal"), p);
  EXPECT_EQ(sweep.unmatched, 0U);
  return sweep.finish;
}

TEST(LogGP, OneMessage) {
  const auto times = finish("num_ranks 2 rank 0 { a: send 1024b to 1 tag 7 } rank 1 { a: recv 1024b from 0 tag 7 }");
  EXPECT_EQ(times[0], 1500U);
  EXPECT_EQ(times[1], 11638U);  // 2o + L + 1023 * 6
  EXPECT_EQ(message_time({}, 1024), 11638U);
}

TEST(LogGP, SendsOfOneRankAreAGapApart) {
  constexpr std::string_view goal =
      "num_ranks 2 rank 0 { a: send 8b to 1 b: send 8b to 1 c: send 8b to 1 }"
      "rank 1 { a: recv 8b from 0 b: recv 8b from 0 c: recv 8b from 0 }";
  const LogGP gap_bound{.L = 100, .o = 10, .g = 1000, .G = 1};
  EXPECT_EQ(finish(goal, gap_bound)[0], 2 * (1000U + 7) + 10);
  const LogGP overhead_bound{.L = 100, .o = 1000, .g = 10, .G = 1};
  EXPECT_EQ(finish(goal, overhead_bound)[0], 3 * 1000U);
}

// The receiver pays on arrival, posted or not: a late receive finds the message and costs nothing more.
TEST(LogGP, AnUnexpectedMessageIsPaidOnArrival) {
  const auto times =
      finish("num_ranks 2 rank 0 { a: send 1b to 1 } rank 1 { a: calc 100000 b: recv 1b from 0 b requires a }");
  EXPECT_EQ(times[1], 101500U);  // taken after the calculation
}

TEST(LogGP, LargeMessagesHoldTheirSenderOnly) {
  constexpr std::string_view goal =
      "num_ranks 2 rank 0 { a: send 100b to 1 b: calc 5 b requires a }"
      "rank 1 { a: calc 20000 b: recv 100b from 0 b requires a }";
  const auto eager = finish(goal, {.S = 1000});
  const auto rendezvous = finish(goal, {.S = 10});
  EXPECT_EQ(eager[0], 1505U);
  EXPECT_GT(rendezvous[0], 20000U);
  EXPECT_EQ(eager[1], rendezvous[1]);
}

TEST(LogGP, StartDependenciesDoNotWaitForTheEnd) {
  const auto sender = [](std::string_view relation) {
    const std::string goal = "num_ranks 2 rank 0 { a: send 100b to 1 b: calc 5 b " + std::string(relation) +
                             " a } rank 1 { a: calc 20000 b: recv 100b from 0 b requires a }";
    return finish(goal, {.S = 10})[0];
  };
  EXPECT_EQ(sender("irequires"), 20000U);  // the calculation ran at 1500; the match raises the sender's clock
  EXPECT_EQ(sender("requires"), 20005U);   // the calculation runs after the match
}

TEST(LogGP, AProgramThatCannotEndIsNoticed) {
  const auto program = parse_goal("num_ranks 2 rank 0 { a: recv 8b from 1 }", "test.goal");
  EXPECT_EQ(simulate(program, {}).unmatched, 1U);
}

TEST(Goal, TextIsReadBack) {
  const std::string text =
      "num_ranks 2\n\nrank 0 {\nl1: calc 100\nl2: send 1024b to 1 tag 7 cpu 1 nic 2\nl2 requires l1\n}\n\n"
      "rank 1 {\nl1: recv 1024b from 0 tag 7\n}\n";
  EXPECT_EQ(goal_text(parse_goal(text, "test.goal")), text);
}

TEST(Goal, BadTextIsRefusedWithItsLine) {
  const auto refusal = [](std::string_view text) -> std::string {
    return meshwright::refusal([&] { parse_goal(text, "bad.goal"); });
  };
  using testing::HasSubstr;
  EXPECT_THAT(refusal(""), HasSubstr("num_ranks"));
  EXPECT_THAT(refusal("num_ranks x"), HasSubstr("whole number"));
  EXPECT_THAT(refusal("num_ranks 0"), HasSubstr("at least one"));
  EXPECT_THAT(refusal("num_ranks 99999999999999999999999"), HasSubstr("whole number"));
  EXPECT_THAT(refusal("num_ranks 2\nrank 2 { }"), HasSubstr("bad.goal:2"));
  EXPECT_THAT(refusal("num_ranks 1 rank 0 { l1: send 8b to 5 }"), HasSubstr("at most 0"));
  EXPECT_THAT(refusal("num_ranks 1 rank 0 { l1: sned 8b to 0 }"), HasSubstr("send, recv or calc"));
  EXPECT_THAT(refusal("num_ranks 1 rank 0 {\nl1: calc 5\nl1 requires l9 }"), HasSubstr("bad.goal:3"));
  EXPECT_THAT(refusal("num_ranks 1 rank 0 { l1: calc 5"), HasSubstr("'}'"));
  EXPECT_THAT(refusal("num_ranks 1 rank 0 { } rank 0 { }"), HasSubstr("once"));
  EXPECT_THAT(refusal("num_ranks 1 rank 0 { send 8b to 0 }"), HasSubstr("label"));
  EXPECT_THAT(refusal("num_ranks 1 rank 0 { l1: calc -5 }"), HasSubstr("whole number"));
}

TEST(Goal, WhatWouldTakeTooLongOrTooMuchIsRefused) {
  std::string wide = "num_ranks 4096\n", long_queue = "num_ranks 1 rank 0 {";
  for (int rank = 0; rank < 4096; ++rank) wide += "rank " + std::to_string(rank) + " { l: calc 1 cpu 1023 }\n";
  for (int i = 0; i < 20000; ++i) long_queue += "l" + std::to_string(i) + ": calc 1\n";
  EXPECT_THROW(parse_goal(wide, "wide.goal"), Error);
  EXPECT_THROW(simulate(parse_goal(long_queue + "}", "long.goal"), {}), Error);
}

}  // namespace
}  // namespace meshwright::cost
