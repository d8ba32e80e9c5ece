#include "meshwright/collectives/verify.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace meshwright::collectives {
namespace {

using testing::HasSubstr;

Schedule of(Collective collective, std::string_view row, int ranks) {
  return schedule(algorithm(collective, row, "test"), flat_shape(ranks));
}

// A checker that accepts everything proves nothing: broken schedules must be found.
TEST(Verify, FindsAMissingContribution) {
  Schedule s = of(Collective::all_reduce, "ring", 4);
  s.phases.back().repeats -= 1;
  EXPECT_THAT(find_fault(s).value_or("none"), HasSubstr("without exactly the promised"));
}

TEST(Verify, FindsAContributionCountedTwice) {
  Schedule s = of(Collective::all_reduce, "recursive_doubling", 4);
  s.phases.push_back(s.phases.back());
  EXPECT_THAT(find_fault(s).value_or("none"), HasSubstr("twice"));
}

TEST(Verify, FindsASendOfWhatIsNotThere) {
  Schedule s = of(Collective::broadcast, "binomial", 4);
  std::swap(s.phases.front(), s.phases.back());
  EXPECT_THAT(find_fault(s).value_or("none"), HasSubstr("before it holds"));
}

/// A small shape that the row takes.
Shape small_shape(const Algorithm& row) {
  for (const Shape& shape : {flat_shape(8), Shape{.extent = {4, 4, 1}}, Shape{.extent = {2, 2, 2}}}) {
    if (row.supports(shape)) return shape;
  }
  return {};
}

TEST(Verify, FindsAWrongChunkInEveryRow) {
  for (const Algorithm& row : algorithms()) {
    Schedule s = schedule(row, small_shape(row));
    ASSERT_FALSE(find_fault(s).has_value()) << row.name;
    Transfer& first = s.phases.front().transfers.front();
    if (first.count * first.stride == s.chunks || s.chunks == 1)
      continue;  // the run is the whole vector, from anywhere
    first.chunk += 1;
    EXPECT_TRUE(find_fault(s).has_value()) << name(row.collective) << " " << row.name;
  }
}

TEST(Verify, FindsAMissingTransferInEveryRow) {
  for (const Algorithm& row : algorithms()) {
    Schedule s = schedule(row, small_shape(row));
    std::vector<Transfer>& last = s.phases.back().transfers;
    last.erase(last.begin());
    EXPECT_TRUE(find_fault(s).has_value()) << name(row.collective) << " " << row.name;
  }
}

// Chan, Heimlich, Purkayastha, van de Geijn 2007, table 1.
TEST(LowerBound, IsThatOfTheLiterature) {
  const Coefficients all_reduce = lower_bound(Collective::all_reduce, flat_shape(8), Means::ranks);
  EXPECT_EQ(all_reduce.messages, 3);
  EXPECT_EQ(all_reduce.wire, Ratio(14, 8));
  EXPECT_EQ(all_reduce.reduced, Ratio(7, 8));
  EXPECT_EQ(lower_bound(Collective::broadcast, flat_shape(9), Means::ranks).messages, 4);
  EXPECT_EQ(lower_bound(Collective::broadcast, flat_shape(9), Means::ranks).wire, Ratio(1));
  EXPECT_EQ(lower_bound(Collective::all_reduce, flat_shape(8), Means::switch_reduction).wire, Ratio(1));
  EXPECT_EQ(lower_bound(Collective::all_reduce, {.extent = {4, 4, 4}}, Means::torus_links).wire, Ratio(126, 64 * 6));
}

}  // namespace
}  // namespace meshwright::collectives
