#include "meshwright/collectives/message_program.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "meshwright/collectives/algorithm.hpp"

namespace meshwright::collectives {
namespace {

std::uint64_t makespan(std::string_view pattern, int ranks, std::uint64_t bytes, const LogGP& p = {}) {
  const auto program = schedgen_pattern(pattern, ranks, bytes, 0, "pattern");
  const ClockSweep sweep = simulate(program.value(), p);
  EXPECT_EQ(sweep.unmatched, 0U) << pattern;
  return sweep.makespan;
}

// Runs of LogGOPSim with its default parameters, 4 ranks, 1 KiB.
TEST(Schedgen, GoldensOfLoggopsim) {
  EXPECT_EQ(makespan("allreduce_ring", 4, 1024), 42180U);
  EXPECT_EQ(makespan("allreduce_recdoub", 4, 1024), 31192U);
  EXPECT_EQ(makespan("linear_alltoall", 4, 1024), 34914U);
}

// README of https://github.com/spcl/LogGOPSim: binomialtreereduce of 8 ranks.
TEST(Schedgen, ReadmeExampleOfLoggopsim) {
  const auto program = schedgen_pattern("binomialtreereduce", 8, 1024, 0, "pattern").value();
  EXPECT_THAT(simulate(program, {}).finish, testing::ElementsAre(34914, 24776, 13138, 13138, 1500, 1500, 1500, 1500));
}

TEST(Schedgen, UnknownPatternsAreNothingAndBadRanksAnError) {
  EXPECT_FALSE(schedgen_pattern("nonsense", 4, 8, 0, "").has_value());
  EXPECT_THROW(schedgen_pattern("allreduce_ring", 1, 8, 0, "pattern"), Error);
}

TEST(Schedgen, OwnPatternsAndTheirGoalTextPlayAlike) {
  for (const std::string& name : schedgen_patterns()) {
    const MessageProgram program = schedgen_pattern(name, 8, 4096, 512, "pattern").value();
    const MessageProgram read = parse_goal(goal_text(program), name);
    EXPECT_EQ(simulate(program, {}).finish, simulate(read, {}).finish) << name;
  }
}

TEST(Schedgen, EveryRecordedRunIsEqualToTheNanosecond) {
  const char* records = std::getenv("MESHWRIGHT_RECORDS");
  if (records == nullptr) GTEST_SKIP() << "MESHWRIGHT_RECORDS is unset: recorded LogGOPSim runs are left out";
  int from_text = 0, from_rows = 0;
  for (const Reader& record : Reader::lines(std::filesystem::path(records) / "oracles" / "oracle-loggopsim.jsonl.gz")) {
    const LoggopsimCheck check = check_loggopsim_record(record);
    EXPECT_TRUE(check.equal) << record.where() << " " << check.pattern << ": " << check.predicted_makespan
                             << " against " << check.recorded_makespan;
    ++(check.from_text ? from_text : from_rows);
  }
  EXPECT_GE(from_text, 100);
  EXPECT_GE(from_rows, 300);
}

// The GOAL text of a record and our own pattern of the same name are two descriptions of one program.
TEST(Schedgen, OwnPatternsEqualTheRecordedTexts) {
  const char* records = std::getenv("MESHWRIGHT_RECORDS");
  if (records == nullptr) GTEST_SKIP() << "MESHWRIGHT_RECORDS is unset: recorded GOAL texts are left out";
  for (const Reader& record : Reader::lines(std::filesystem::path(records) / "oracles" / "oracle-loggopsim.jsonl.gz")) {
    if (!record.has("goal")) continue;
    const std::string extra = record.string_or("extra", "");
    const std::uint64_t segment = extra.empty() ? 0 : std::stoull(extra.substr(extra.find(' ')));
    const auto own = schedgen_pattern(record.at("pattern").string(), record.at("P").integer(),
                                      static_cast<std::uint64_t>(record.at("bytes").integer64()), segment, "");
    const auto recorded = parse_goal(record.at("goal").string(), record.where());
    EXPECT_EQ(simulate(*own, {}).finish, simulate(recorded, {}).finish) << record.where();
  }
}

TEST(Schedgen, WhatIsPlayedHasALargestSize) {
  EXPECT_THROW(schedgen_pattern("linear_alltoall", 4000, 8, 0, "pattern"), Error);
  EXPECT_THROW(schedgen_pattern("dissemination", 65536, 8, 0, "pattern"), Error);
  EXPECT_THROW(schedgen_pattern("pipelinedring", 4, 1ULL << 40, 1, "pattern"), Error);
  EXPECT_TRUE(schedgen_pattern("pipelinedring", 4, 0, 0, "pattern").has_value());
}

}  // namespace
}  // namespace meshwright::collectives
