#include "meshwright/collectives/algorithm.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "meshwright/collectives/verify.hpp"
#include "meshwright/core/error.hpp"

namespace meshwright {
namespace {

TEST(Algorithm, NamesAreUniqueWithinACollective) {
  std::set<std::pair<Collective, std::string_view>> seen;
  for (const Algorithm& row : algorithms()) {
    EXPECT_TRUE(seen.insert({row.collective, row.name}).second) << name(row.collective) << " " << row.name;
    EXPECT_FALSE(row.citation.empty()) << row.name;
    EXPECT_FALSE(row.closed_form.empty()) << row.name;
  }
}

TEST(Algorithm, EveryCollectiveHasARow) {
  std::set<Collective> seen;
  for (const Algorithm& row : algorithms()) seen.insert(row.collective);
  EXPECT_EQ(seen.size(), collective_count);
}

TEST(Algorithm, LookupForgivesSpellingAndRefusesWithTheNearest) {
  EXPECT_EQ(algorithm(Collective::all_reduce, "RING", "--algo").name, "ring");
  EXPECT_EQ(algorithm(Collective::all_to_all, "Pair-Wise", "--algo").name, "pairwise");
  try {
    algorithm(Collective::all_reduce, "rign", "--algo");
    FAIL() << "was taken";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("ring"));
  }
}

TEST(Algorithm, MarkdownHasALinePerRow) {
  const std::string text = algorithms_markdown();
  EXPECT_EQ(static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')), algorithms().size() + 2);
}

// A checker that accepts everything proves nothing: broken schedules must be found.
TEST(Verify, FindsWhatIsBroken) {
  const Shape shape = flat_shape(4);
  Schedule missing = schedule(algorithm(Collective::all_reduce, "ring", ""), shape);
  missing.phases.back().repeats -= 1;
  EXPECT_TRUE(find_fault(missing).has_value());

  Schedule twice = schedule(algorithm(Collective::all_reduce, "recursive_doubling", ""), shape);
  twice.phases.push_back(twice.phases.back());
  EXPECT_THAT(find_fault(twice).value_or(""), testing::HasSubstr("twice"));

  Schedule early = schedule(algorithm(Collective::broadcast, "binomial", ""), shape);
  std::swap(early.phases.front(), early.phases.back());
  EXPECT_THAT(find_fault(early).value_or(""), testing::HasSubstr("before"));
}

TEST(Schedule, ARingOfFourThousandIsEightThousandTransfers) {
  const Schedule ring = schedule(algorithm(Collective::all_reduce, "ring", ""), flat_shape(4096));
  std::size_t transfers = 0;
  for (const Phase& phase : ring.phases) transfers += phase.transfers.size();
  EXPECT_EQ(transfers, 8192U);
  EXPECT_EQ(round_count(ring), 2 * 4095);
}

}  // namespace
}  // namespace meshwright
