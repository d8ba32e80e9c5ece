#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "meshwright/parallel/pipeline.hpp"
#include "parallel/jobs.hpp"

namespace meshwright::parallel {
namespace {

/// A prediction of ten seconds of work a stage, and what the closed form adds for the pipeline.
Prediction made_up(const Job& job, const Layout& layout) {
  Prediction p;
  p.layout = layout;
  p.time.compute = Seconds::base(9), p.time.recompute = Seconds::base(1);
  p.time.data_parallel = Seconds::base(0.25), p.time.optimizer = Seconds::base(0.5);
  const double m = micro_batches(job.global_batch, layout), others = layout.pp - 1;
  const ChunkTime stage{p.time.compute / 3 / m, (p.time.compute / 3 + p.time.recompute) / m, p.time.compute / 3 / m};
  const ChunkTime rest{others * stage.forward, others * stage.backward_input, others * stage.backward_weight};
  p.time.bubble = pipeline_bubble(effective_schedule(layout), layout.pp, layout.vp, static_cast<int>(m), stage, rest);
  p.step_time = total(p.time);
  return p;
}

struct Track {
  double busy = 0, end = 0;
  int slices = 0;
};

std::map<int, Track> tracks(const std::string& trace) {
  std::map<int, Track> result;
  const auto document = nlohmann::json::parse(trace);
  for (const auto& event : document.at("traceEvents")) {
    if (event.at("ph") != "X") continue;
    Track& track = result[event.at("tid").get<int>()];
    ++track.slices;
    track.busy += event.at("dur").get<double>() * 1e-6;
    track.end = std::max(track.end, (event.at("ts").get<double>() + event.at("dur").get<double>()) * 1e-6);
  }
  return result;
}

TEST(Trace, EndsWithTheStepAndHoldsAllWork) {
  const Job job = test_job(llama(32, 4096, 14336, 32, 8), 16, 4096, 64, "generic");
  for (const Layout& layout : {Layout{.pp = 4, .dp = 4}, Layout{.pp = 4, .vp = 2, .dp = 4},
                               Layout{.pp = 4, .dp = 4, .schedule = PipelineSchedule::gpipe}, Layout{.dp = 16}}) {
    const Prediction p = made_up(job, layout);
    const auto stages = tracks(pipeline_trace(job, p));
    ASSERT_EQ(stages.size(), static_cast<std::size_t>(layout.pp));
    double end = 0;
    for (const auto& [stage, track] : stages) {
      EXPECT_NEAR(track.busy, 10.75, 1e-6) << describe_layout(layout) << " stage " << stage;
      end = std::max(end, track.end);
    }
    EXPECT_NEAR(end, p.step_time.value(), 1e-6) << describe_layout(layout);
  }
}

TEST(Trace, DualPipeDoesAsMuchWork) {
  const Job job = test_job(llama(32, 4096, 14336, 32, 8), 16, 4096, 64, "generic");
  const Prediction p = made_up(job, {.pp = 4, .dp = 4, .schedule = PipelineSchedule::dual_pipe});
  for (const auto& [stage, track] : tracks(pipeline_trace(job, p))) EXPECT_NEAR(track.busy, 10.75, 1e-6) << stage;
}

TEST(Trace, LongStepsAreCutShort) {
  const Job job = test_job(llama(32, 4096, 14336, 32, 8), 8, 4096, 65536, "generic");
  const auto stages = tracks(pipeline_trace(job, made_up(job, {.pp = 8})));
  EXPECT_LT(stages.at(0).slices, 40'000);
}

}  // namespace
}  // namespace meshwright::parallel
