#include "meshwright/collectives/algorithm.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "meshwright/core/error.hpp"

namespace meshwright::collectives {
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

TEST(Algorithm, StagesNameFlatRowsOfTheTable) {
  for (const Algorithm& row : algorithms()) {
    for (const Stage& stage : row.stages) {
      const Algorithm* flat = find_algorithm(stage.collective, stage.algorithm);
      ASSERT_NE(flat, nullptr) << row.name << " names " << stage.algorithm;
      EXPECT_TRUE(flat->stages.empty()) << row.name;
      EXPECT_LT(stage.level, level_limit) << row.name;
    }
  }
}

}  // namespace
}  // namespace meshwright::collectives
