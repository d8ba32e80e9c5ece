#include "meshwright/parallel/pipeline.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>

#include "meshwright/hardware/catalog.hpp"
#include "meshwright/parallel/constraints.hpp"
#include "meshwright/parallel/json.hpp"
#include "parallel/jobs.hpp"

namespace meshwright::parallel {
namespace {

TEST(Schedule, IsReadInItsOwnWordsAndThoseOfStacks) {
  for (const PipelineSchedule schedule : pipeline_schedules()) {
    EXPECT_EQ(schedule_in(schedule->name), schedule);
    if (!schedule->torchtitan.empty()) {
      EXPECT_EQ(schedule_in(schedule->torchtitan), schedule);
    }
    if (!schedule->nanotron.empty()) {
      EXPECT_EQ(schedule_in(schedule->nanotron), schedule);
    }
  }
  EXPECT_EQ(schedule_in("zero-bubble"), PipelineSchedule::zero_bubble_h1);
  EXPECT_EQ(schedule_in("Zero Bubble H2"), PipelineSchedule::zero_bubble_h2);
  EXPECT_EQ(schedule_in("interleaved 1F1B"), PipelineSchedule::interleaved);
  EXPECT_EQ(schedule_in(""), PipelineSchedule::one_f_one_b);
}

struct Case {
  PipelineSchedule schedule;
  int pp, vp, micro_batches;
};

int parts_a_stage(const Case& c) {
  return c.schedule == PipelineSchedule::zero_bubble_v ? 2 : c.vp;  // DualPipe's two parts are whole stages
}

/// Every schedule over pipelines of 2 to 16 stages and micro-batches from a few to many.
std::vector<Case> cases() {
  std::vector<Case> all;
  for (const PipelineSchedule schedule : pipeline_schedules()) {
    const bool interleaves = schedule == PipelineSchedule::interleaved;
    for (const int pp : {2, 4, 6, 8, 16}) {
      for (const int m : {1, 2, 3, 7, 8, 16, 24, 48, 64}) {
        if (schedule == PipelineSchedule::dual_pipe && (m < 2 * pp || m % 2 != 0)) continue;
        if (schedule == PipelineSchedule::zero_bubble_v && m < 2 * pp - 1) continue;
        if (interleaves && m % pp != 0) continue;
        for (const int vp : interleaves ? std::vector<int>{2, 3, 4} : std::vector<int>{1}) {
          all.push_back({schedule, pp, vp, m});
        }
      }
    }
  }
  return all;
}

std::string label(const Case& c) {
  return std::string(name(c.schedule)) + " pp" + std::to_string(c.pp) + " vp" + std::to_string(c.vp) + " m" +
         std::to_string(c.micro_batches);
}

ChunkTime times(double forward, double input, double weight) {
  return {Seconds::base(forward), Seconds::base(input), Seconds::base(weight)};
}

/// Idle of an order on equal stages whose passes take the given times.
Timeline played(const Case& c, const ChunkTime& stage, double send = 0) {
  const PipelineOrder order = pipeline_order(c.schedule, c.pp, c.vp, c.micro_batches);
  const int parts = parts_a_stage(c);
  const std::vector<ChunkTime> chunk(
      static_cast<std::size_t>(order.chunks),
      {stage.forward / parts, stage.backward_input / parts, stage.backward_weight / parts});
  return simulate(order, chunk, Seconds::base(send));
}

double closed_form(const Case& c, const ChunkTime& stage) {
  const double others = c.pp - 1;
  const ChunkTime sum{others * stage.forward, others * stage.backward_input, others * stage.backward_weight};
  return pipeline_bubble(c.schedule, c.pp, c.vp, c.micro_batches, stage, sum).value();
}

TEST(PipelineOrder, EveryScheduleIsSound) {
  for (const Case& c : cases()) {
    const auto fault = order_fault(pipeline_order(c.schedule, c.pp, c.vp, c.micro_batches));
    EXPECT_FALSE(fault) << label(c) << ": " << *fault;
  }
}

TEST(PipelineOrder, FaultsAreFound) {
  PipelineOrder order = pipeline_order(PipelineSchedule::one_f_one_b, 2, 1, 2);
  std::swap(order.ops[1][0], order.ops[1][1]);  // a backward before its forward
  EXPECT_NE(order_fault(order).value_or("").find("waits for ever"), std::string::npos);
  order = pipeline_order(PipelineSchedule::one_f_one_b, 2, 1, 2);
  order.ops[0].push_back(order.ops[0].front());
  EXPECT_NE(order_fault(order).value_or("").find("comes twice"), std::string::npos);
  order = pipeline_order(PipelineSchedule::one_f_one_b, 2, 1, 2);
  order.ops[0].pop_back();
  EXPECT_NE(order_fault(order).value_or("").find("is not finished"), std::string::npos);
  order = pipeline_order(PipelineSchedule::one_f_one_b, 2, 1, 2);
  order.ops[0].back().chunk = 1;
  EXPECT_NE(order_fault(order).value_or("").find("another stage"), std::string::npos);
}

TEST(Pipeline, ClosedFormEqualsSimulationOnEqualStages) {
  const std::array<ChunkTime, 4> kinds = {times(1, 1, 1), times(1, 1.3, 0.8), times(1, 1, 0.5), times(1.2, 1, 1)};
  for (const Case& c : cases()) {
    for (const ChunkTime& stage : kinds) {
      const double simulated = played(c, stage).bubble().value(), form = closed_form(c, stage);
      const bool folded = c.schedule == PipelineSchedule::zero_bubble_v || c.schedule == PipelineSchedule::dual_pipe;
      const double hop = std::max(stage.forward, stage.backward_input).value();
      const double within = folded ? 0.3 * hop * (c.pp - 1) : 1e-9;
      const bool partly_filled =
          (c.schedule == PipelineSchedule::zero_bubble_h1 || c.schedule == PipelineSchedule::zero_bubble_h2) &&
          c.micro_batches < 2 * c.pp;
      EXPECT_NEAR(simulated, form, partly_filled ? 0.35 * hop * (c.pp - 1) : within) << label(c);
    }
  }
}

TEST(Pipeline, ClosedFormOfActivationsEqualsSimulation) {
  for (const Case& c : cases()) {
    const Timeline line = played(c, times(1, 1, 1));
    double most = 0, most_form = 0;
    for (int stage = 0; stage < c.pp; ++stage) {
      const double kept = line.in_flight(stage, parts_a_stage(c));
      const double form = in_flight(c.schedule, c.pp, c.vp, c.micro_batches, stage);
      EXPECT_LE(kept, form + 1e-9) << label(c) << " stage " << stage;
      most = std::max(most, kept), most_form = std::max(most_form, form);
    }
    EXPECT_NEAR(most, most_form, 1e-9) << label(c);
  }
}

TEST(Pipeline, SendsAreWaitedForOnceAHopInTheRamps) {
  const Case c{PipelineSchedule::one_f_one_b, 4, 1, 32};
  const double without = played(c, times(1, 1, 1)).makespan.value();
  const double with = played(c, times(1, 1, 1), 0.25).makespan.value();
  EXPECT_GE(with, without + 2 * 3 * 0.25 - 1e-9);
}

TEST(Pipeline, UnequalStagesAreBoundByTheSlowest) {
  const PipelineOrder order = pipeline_order(PipelineSchedule::one_f_one_b, 4, 1, 32);
  const std::vector<ChunkTime> stages = {times(1, 1, 1), times(1, 1, 1), times(1, 1, 1), times(1.5, 1.5, 1.5)};
  const ChunkTime others = times(3, 3, 3);
  const double form = pipeline_bubble(PipelineSchedule::one_f_one_b, 4, 1, 32, stages[3], others).value();
  EXPECT_NEAR(simulate(order, stages, {}).bubble().value(), form, 1e-9);
}

// Narayanan et al. 2021, section 2.2 (arxiv.org/abs/2104.04473): bubble share of the ideal time is (p-1)/m, (p-1)/(v
// m).
TEST(Published, BubbleShare) {
  const ChunkTime stage = times(1, 1, 1);
  const Case plain{PipelineSchedule::one_f_one_b, 8, 1, 64}, twice{PipelineSchedule::interleaved, 8, 2, 64};
  EXPECT_NEAR(played(plain, stage).bubble().value() / (64 * 3), 7.0 / 64, 1e-12);
  EXPECT_NEAR(played(twice, stage).bubble().value() / (64 * 3), 7.0 / (2 * 64), 1e-12);
}

// Qi et al. 2023, table 1 (arxiv.org/abs/2401.10241): (p-1)(F+B-W) with p activations, (p-1)(F+B-2W) with 2p-1.
TEST(Published, ZeroBubble) {
  const ChunkTime stage = times(1, 1.1, 0.9);
  const Case h1{PipelineSchedule::zero_bubble_h1, 8, 1, 64}, h2{PipelineSchedule::zero_bubble_h2, 8, 1, 64};
  EXPECT_NEAR(played(h1, stage).bubble().value(), 7 * (1 + 1.1 - 0.9), 1e-9);
  EXPECT_NEAR(played(h2, stage).bubble().value(), 7 * (1 + 1.1 - 1.8), 1e-9);
  EXPECT_DOUBLE_EQ(played(h1, stage).in_flight(0, 1), 8);
  EXPECT_DOUBLE_EQ(played(h2, stage).in_flight(0, 1), 15);
}

// DeepSeek-V3 report, table 2 (arxiv.org/abs/2412.19437): (PP/2 - 1)(F&B + B - 3W), PP + 1 activations.
TEST(Published, DualPipe) {
  const Case c{PipelineSchedule::dual_pipe, 16, 1, 64};
  const Timeline line = played(c, times(1, 1, 1));
  EXPECT_NEAR(line.bubble().value(), 7 * (3 + 2 - 3), 1e-9);
  EXPECT_DOUBLE_EQ(line.in_flight(0, 1), 17);
}

/// GPipe with the backward passes in the order of the forward ones reversed, as a row beside the table.
std::vector<PipelineOp> last_in_first_out(int stage, int, int, int micro_batches) {
  std::vector<PipelineOp> ops;
  for (int m = 0; m < micro_batches; ++m) ops.push_back({Work::forward, stage, m});
  for (int m = micro_batches - 1; m >= 0; --m) ops.push_back({Work::backward, stage, m});
  return ops;
}
constexpr ScheduleRow toy{.name = "toy",
                          .citation = "this test",
                          .order = last_in_first_out,
                          .bubble = [](const Ramp& ramp) noexcept { return ramp.others.total(); },
                          .in_flight = [](int, int, int) noexcept { return std::numeric_limits<double>::infinity(); }};

// One row is all that a schedule takes: order, simulation, closed form, memory, rule, search and prediction follow.
TEST(Schedule, IsOneRow) {
  const Case c{toy, 4, 1, 8};
  EXPECT_FALSE(order_fault(pipeline_order(toy, 4, 1, 8)));
  const ChunkTime stage = times(1, 1, 1);
  EXPECT_NEAR(played(c, stage).bubble().value(), closed_form(c, stage), 1e-9);
  EXPECT_DOUBLE_EQ(played(c, stage).in_flight(0, 1), in_flight(toy, 4, 1, 8, 0));

  const Job plain = test_job(llama_8b(), 32, 4096, 128);
  const Layout layout{.tp = 2, .pp = 4, .dp = 4, .schedule = toy},
      gpipe{.tp = 2, .pp = 4, .dp = 4, .schedule = PipelineSchedule::gpipe};
  EXPECT_EQ(refused_by(plain, layout)->name, "pipeline schedule");
  const Job job = with_stack(plain, [](Framework& stack) {
    stack.rules.schedules.rows = {toy, PipelineSchedule::gpipe};
  });
  EXPECT_EQ(refused_by(job, layout), nullptr);
  EXPECT_EQ(predict(job, layout).step_time, predict(job, gpipe).step_time);
  EXPECT_EQ(predict(job, layout).memory.reserved, predict(job, gpipe).memory.reserved);
  EXPECT_NE(to_json(layout).find("\"toy\""), std::string::npos);
}

}  // namespace
}  // namespace meshwright::parallel
