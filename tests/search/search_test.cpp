#include "meshwright/search/search.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "meshwright/parallel/constraints.hpp"
#include "meshwright/parallel/json.hpp"
#include "meshwright/parallel/stages.hpp"
#include "meshwright/search/json.hpp"
#include "meshwright/search/space.hpp"
#include "search/jobs.hpp"

namespace meshwright::search {
namespace {

/// The slow, obviously right engine: predict() of every layout of the space that nothing refuses.
std::vector<Prediction> all_predictions(const Job& job, int max_micro_batch) {
  std::vector<Prediction> out;
  for (const ShardChoice& s : shard_choices(job, max_micro_batch)) {
    for (const int pp : pipeline_degrees(job, s)) {
      for (int vp = 1; vp <= most_virtual_stages(job, pp); ++vp) {
        for (const PipelineSchedule schedule : schedules(job.framework, pp, vp)) {
          for (const Sharding& sharding : shardings(job)) {
            for (const Recompute recompute : {Recompute::none, Recompute::selective, Recompute::full}) {
              Layout l{.tp = s.tp, .cp = s.cp, .pp = pp, .vp = vp, .dp = job.accelerators / (s.tp * s.cp * pp)};
              l.ep = s.ep, l.etp = s.etp, l.micro_batch = s.micro_batch;
              l.zero_stage = sharding.zero_stage, l.hsdp_shard = sharding.hsdp_shard;
              l.sequence_parallel = s.tp > 1, l.recompute = recompute, l.schedule = schedule;
              l.overlap_grad_reduce = job.framework.defaults.overlap_grad_reduce;
              l.overlap_param_gather = job.framework.defaults.overlap_param_gather;
              l.tp_comm_overlap = s.tp_comm_overlap, l.ep_comm_overlap = s.ep_comm_overlap;
              l.stage_split = usual_stage_split(job.model.layers, job.framework, l.pp, split_ways(l) / l.pp);
              if (l.ep_comm_overlap && !can_overlap_experts(l)) continue;
              if (!violation(job, l)) out.push_back(predict(job, l));
            }
          }
        }
      }
    }
  }
  return out;
}

TEST(Search, AgreesWithEnumeration) {
  for (const char* stack : {"megatron-core", "torchtitan", "nanotron"}) {
    const Job job = test_job("llama-3.2-1b", "dgx-h100", 1, 4096, 32, stack);
    const auto all = all_predictions(job, 2);
    ASSERT_FALSE(all.empty());
    const SearchResult result = search(job, {.top = 1000000, .variants = true, .max_micro_batch = 2});
    ASSERT_EQ(result.best.size(), all.size()) << stack;
    EXPECT_EQ(result.evaluated, all.size());
    Seconds fastest = all.front().step_time;
    for (const Prediction& p : all) fastest = std::min(fastest, p.step_time);
    EXPECT_EQ(result.best.front().prediction.step_time, fastest);
  }
}

TEST(Search, EveryAnswerEqualsItsPredictionBitForBit) {
  const Job job = test_job("mixtral-8x7b", "dgx-h100", 4, 4096, 256);
  const SearchResult result = search(job, {.top = 50});
  ASSERT_GT(result.best.size(), 5u);
  for (const Ranked& ranked : result.best) {
    const Prediction again = predict(job, ranked.prediction.layout);
    EXPECT_EQ(again.step_time, ranked.prediction.step_time);
    EXPECT_EQ(to_json(again), to_json(ranked.prediction));
    EXPECT_FALSE(violation(job, ranked.prediction.layout));
  }
}

TEST(Search, OrderOfTheAnswersIsThatOfTheTables) {
  const SearchResult result = search(test_job("mixtral-8x7b", "dgx-h100", 4, 4096, 256), {.top = 50, .variants = true});
  for (std::size_t i = 1; i < result.best.size(); ++i) {
    EXPECT_LE(result.best[i - 1].prediction.step_time, result.best[i].prediction.step_time)
        << "phase 1 and predict() disagree about a layout";
  }
}

TEST(Search, DoesNotDependOnTheNumberOfThreads) {
  const Job job = test_job("llama-3.1-70b", "dgx-h100", 8, 8192, 128);
  const auto settled = [](SearchResult result) {
    result.search_time = {};
    return to_json(result);
  };
  const std::string one = settled(search(job, {.top = 20, .threads = 1}));
  for (const int threads : {2, 3, 7}) EXPECT_EQ(settled(search(job, {.top = 20, .threads = threads})), one);
}

TEST(Search, CountsEveryLayoutOnce) {
  const SearchResult result = search(test_job("llama-3.1-8b", "dgx-h100", 2, 8192, 64));
  std::uint64_t refused = 0;
  for (const auto& [rule, count] : result.refused) refused += count;
  EXPECT_EQ(result.considered, result.evaluated + refused);
  EXPECT_GT(result.evaluated, 0u);
}

TEST(Search, NothingFitsIsAnAnswer) {
  const SearchResult result = search(test_job("llama-3.1-405b", "dgx-h100", 1, 8192, 16));
  EXPECT_TRUE(result.best.empty());
  EXPECT_FALSE(result.refused.empty());
  EXPECT_EQ(nlohmann::json::parse(to_json(result))["best"], nullptr);
}

TEST(Search, RunnersUpSayWhatTheyLose) {
  const SearchResult result = search(test_job("llama-3.1-70b", "dgx-h100", 8, 8192, 128), {.top = 3});
  ASSERT_EQ(result.best.size(), 3u);
  EXPECT_EQ(result.best[0].why, "");
  EXPECT_EQ(result.best[1].why.front(), '+');
  EXPECT_NE(result.best[1].why.find(" %"), std::string::npos);
}

}  // namespace
}  // namespace meshwright::search
