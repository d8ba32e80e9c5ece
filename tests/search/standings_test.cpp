#include "meshwright/search/standings.hpp"

#include <gmock/gmock.h>

#include "meshwright/search/plan.hpp"
#include "search/jobs.hpp"

namespace meshwright::search {
namespace {

TEST(Standings, FollowTheOrderOfTheBest) {
  int alike = 0;
  for (const Job& job : small_jobs()) {
    const Plan found = plan(job, {.search = {.top = 6, .threads = 1}});
    const Standings& s = found.standings;
    if (found.result.best.empty()) continue;
    ASSERT_EQ(s.layouts.size(), found.result.best.size());
    EXPECT_EQ(s.layouts[0].beats_best, 0);
    for (std::size_t i = 1; i < s.layouts.size(); ++i) {
      EXPECT_GE(s.layouts[i].beats_best, 0);
      EXPECT_LE(s.layouts[i].beats_best, 0.5 + 1e-9) << "it is predicted to be slower";
      EXPECT_GE(s.layouts[i].expected_regret, 0);
    }
    EXPECT_NE(s.alike.size(), 1U);
    alike += s.alike.empty() ? 0 : 1;
    if (s.alike.empty()) continue;
    EXPECT_EQ(s.alike.front(), 0U);
    EXPECT_TRUE(std::ranges::find(s.alike, s.measure) != s.alike.end());
    EXPECT_THAT(s.words, testing::HasSubstr("can't be told apart"));
  }
  EXPECT_GT(alike, 0);
}

TEST(Search, ByP90TakesTheLayoutWhoseUpperBandIsLowest) {
  for (const Job& job : small_jobs()) {
    const SearchResult by_time = search(job, {.top = 24, .threads = 1});
    const SearchResult by_p90 = search(job, {.top = 3, .threads = 1, .objective = objective("p90", "test")});
    if (by_time.best.empty()) continue;
    ASSERT_LE(by_p90.best.size(), 3U);
    double least = by_time.best.front().prediction.p90.value();
    for (const Ranked& r : by_time.best) least = std::min(least, r.prediction.p90.value());
    EXPECT_EQ(by_p90.best.front().value, least);
    EXPECT_EQ(by_p90.best.front().value, by_p90.best.front().prediction.p90.value());
    for (std::size_t i = 1; i < by_p90.best.size(); ++i) EXPECT_LE(by_p90.best[i - 1].value, by_p90.best[i].value);
  }
}

}  // namespace
}  // namespace meshwright::search
