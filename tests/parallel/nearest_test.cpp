#include <gtest/gtest.h>

#include <cmath>

#include "meshwright/hardware/catalog.hpp"
#include "meshwright/parallel/constraints.hpp"
#include "parallel/jobs.hpp"

namespace meshwright::parallel {
namespace {

Job job_on(const char* node, int accelerators, Transformer model, int seq_len, int global_batch) {
  return on_cluster(test_job(std::move(model), accelerators, seq_len, global_batch), node, accelerators);
}

double apart(const Layout& a, const Layout& b) {
  double sum = 0;
  for (const auto degree : {&Layout::tp, &Layout::cp, &Layout::pp, &Layout::dp}) {
    sum += std::abs(std::log2(static_cast<double>(a.*degree) / b.*degree));
  }
  return sum;
}

TEST(Nearest, RunAndAreNear) {
  const Job job = job_on("dgx-h100", 64, llama(80, 8192, 28672, 64, 8), 8192, 256);
  const Layout refused{.tp = 8, .pp = 3, .dp = 4, .recompute = Recompute::full};
  ASSERT_EQ(refusal(job, refused)->name, "tp * cp * pp * dp = accelerators");
  const std::vector<Layout> near = nearest_layouts(job, refused, 3);
  ASSERT_EQ(near.size(), 3U);
  for (const Layout& layout : near) {
    EXPECT_EQ(refusal(job, layout), nullptr) << describe_layout(layout);
    EXPECT_EQ(layout.accelerators(), 64);
    EXPECT_LE(apart(layout, refused), 4) << describe_layout(layout);
  }
  EXPECT_EQ(near.front().tp, 8);
  EXPECT_EQ(near.front().pp, 2);
  EXPECT_EQ(near.front().dp, 4);
}

TEST(Nearest, ChangesOtherChoicesBeforeDegrees) {
  const Job job = job_on("dgx-h100", 64, llama(80, 8192, 28672, 64, 8), 8192, 256);
  const Layout stages{.tp = 8, .pp = 4, .vp = 3, .dp = 2, .recompute = Recompute::full, .stages = {14, 26, 26, 14}};
  ASSERT_EQ(refusal(job, stages)->name, "layers of a stage % vp");
  const std::vector<Layout> near = nearest_layouts(job, stages, 1);
  ASSERT_EQ(near.size(), 1U);
  EXPECT_EQ(near.front().pp, 4);
  EXPECT_EQ(near.front().stages, stages.stages);
  EXPECT_EQ(near.front().vp, 2);

  const Layout too_big{.tp = 8, .pp = 4, .dp = 2, .micro_batch = 8};
  ASSERT_TRUE(of_memory(refusal(job, too_big)));
  const std::vector<Layout> smaller = nearest_layouts(job, too_big, 1);
  ASSERT_EQ(smaller.size(), 1U);
  EXPECT_EQ(refusal(job, smaller.front()), nullptr);
  EXPECT_LT(apart(smaller.front(), too_big), 2);
}

TEST(Nearest, NothingIsNearWhereNothingRuns) {
  const Job job = job_on("dgx-h100", 8, llama(126, 16384, 53248, 128, 8), 8192, 64);
  EXPECT_TRUE(nearest_layouts(job, {.tp = 8}, 3).empty());
}

}  // namespace
}  // namespace meshwright::parallel
