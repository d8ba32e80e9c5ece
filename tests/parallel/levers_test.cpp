#include "meshwright/parallel/levers.hpp"

#include <gtest/gtest.h>

#include "meshwright/parallel/constraints.hpp"
#include "parallel/jobs.hpp"

namespace meshwright::parallel {
namespace {

// Llama-3.1 70B on 64 H100: eight sequences at once without recompute need more than a device has.
TEST(Levers, FitAndComeFastestFirst) {
  const Job job = test_job(llama(80, 8192, 28672, 64, 8), 64, 8192, 256);
  const Layout too_big{.tp = 8, .pp = 4, .dp = 2, .micro_batch = 8};
  ASSERT_TRUE(of_memory(refusal(job, too_big)));
  const std::vector<Lever> levers = memory_levers(job, too_big, 5);
  ASSERT_FALSE(levers.empty());
  for (std::size_t i = 0; i < levers.size(); ++i) {
    const Prediction& p = levers[i].prediction;
    EXPECT_EQ(refusal(job, p.layout), nullptr) << levers[i].change;
    EXPECT_GE(p.fits_probability, 0.5) << levers[i].change;
    EXPECT_NE(levers[i].change.find(" instead of "), std::string::npos);
    if (i == 0) continue;
    // What takes longer is only worth saying where it needs less memory.
    EXPECT_GE(p.step_time, levers[i - 1].prediction.step_time);
    EXPECT_LT(p.memory.reserved, levers[i - 1].prediction.memory.reserved);
  }
  EXPECT_EQ(memory_levers(job, too_big, 1).size(), 1U);
}

TEST(Levers, NoneWhereNothingNearFits) {
  const Job job = test_job(llama_405b(), 8, 8192, 64);
  EXPECT_TRUE(memory_levers(job, {.tp = 8}, 3).empty());
}

}  // namespace
}  // namespace meshwright::parallel
