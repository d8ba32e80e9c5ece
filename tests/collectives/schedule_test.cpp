#include "meshwright/collectives/schedule.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "meshwright/collectives/algorithm.hpp"
#include "meshwright/collectives/verify.hpp"

namespace meshwright::collectives {
namespace {

std::size_t transfers(const Schedule& s) {
  std::size_t count = 0;
  for (const Phase& phase : s.phases) count += phase.transfers.size();
  return count;
}

TEST(Schedule, ARingOfFourThousandIsEightThousandTransfers) {
  const Schedule ring = schedule(algorithm(Collective::all_reduce, "ring", ""), flat_shape(4096));
  EXPECT_EQ(transfers(ring), 8192U);
  EXPECT_EQ(round_count(ring), 2 * 4095);
}

TEST(Schedule, APairwiseExchangeOfFourThousandIsFourThousandTransfers) {
  const Schedule pairwise = schedule(algorithm(Collective::all_to_all, "pairwise", ""), flat_shape(4096));
  EXPECT_EQ(transfers(pairwise), 4096U);
  EXPECT_EQ(round_count(pairwise), 4095);
}

TEST(Schedule, APipelineHoldsItsSteadyStateOnce) {
  const Schedule chain = schedule(algorithm(Collective::broadcast, "chain", ""), flat_shape(4, 1000));
  EXPECT_EQ(chain.phases.size(), 5U);  // two rounds to fill, one that repeats, two to drain
  EXPECT_EQ(round_count(chain), 4 - 2 + 1000);
}

TEST(Schedule, ShiftsMoveChunksAndPeers) {
  const Schedule s{.collective = Collective::all_to_all, .shape = flat_shape(4), .chunks = 16};
  const Phase phase{.transfers = {{3, 0, 4 + 3}}, .repeats = 3, .chunk_shift = 4, .peer_shift = 1};
  const Transfer last = round_of(s, phase, 2).front();
  EXPECT_EQ(last.source, 3);
  EXPECT_EQ(last.target, 2);
  EXPECT_EQ(last.chunk, 15);
}

TEST(Schedule, LevelsAreThoseThatRanksDifferIn) {
  Schedule s{.shape = {.extent = {4, 3, 2}}, .switch_levels = {1}};
  EXPECT_EQ(transfer_level(s, {0, 3, 0}), 0);
  EXPECT_EQ(transfer_level(s, {0, 4, 0}), 1);
  EXPECT_EQ(transfer_level(s, {3, 4, 0}), 1);
  EXPECT_EQ(transfer_level(s, {0, 12, 0}), 2);
  EXPECT_EQ(transfer_level(s, {24, 5, 0}), 1);  // a switch
}

TEST(Schedule, BackwardsTwiceIsTheSameTraffic) {
  for (const Algorithm& row : algorithms()) {
    if (row.collective != Collective::all_gather || !row.supports(flat_shape(8))) continue;
    const Schedule forward = schedule(row, flat_shape(8)), twice = reversed(reversed(forward));
    EXPECT_EQ(read_coefficients(forward)[0].wire, read_coefficients(twice)[0].wire) << row.name;
    EXPECT_EQ(round_count(forward), round_count(twice)) << row.name;
  }
}

// The same rings, written by hand for two nodes of two: inside, between, inside.
TEST(Schedule, StagesRunOnTheLinesOfALevel) {
  Schedule whole{.collective = Collective::all_gather, .shape = {.extent = {2, 2, 1}}, .chunks = 4};
  const Schedule ring = schedule(algorithm(Collective::all_gather, "ring", ""), flat_shape(2));
  append_stage(whole, ring, 1);
  append_stage(whole, ring, 0);
  EXPECT_FALSE(find_fault(whole).has_value());
  const auto pair = [](const Transfer& t) { return std::pair{t.source, t.target}; };
  std::vector<std::pair<int, int>> first;
  for (const Transfer& t : round_of(whole, whole.phases[0], 0)) first.push_back(pair(t));
  EXPECT_THAT(first, testing::UnorderedElementsAre(std::pair{0, 2}, std::pair{2, 0}, std::pair{1, 3}, std::pair{3, 1}));
}

}  // namespace
}  // namespace meshwright::collectives
