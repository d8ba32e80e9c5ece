// Laws on predictions, over seeded random jobs and layouts that the stack's rules accept: no cliffs, bytes that scale
// with the format, memory that is what the placement says, and one answer for plan and predict.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <limits>
#include <optional>
#include <random>

#include "meshwright/hardware/catalog.hpp"
#include "meshwright/parallel/constraints.hpp"
#include "meshwright/parallel/job_recipe.hpp"
#include "meshwright/parallel/json.hpp"
#include "meshwright/parallel/memory.hpp"
#include "meshwright/parallel/prediction.hpp"
#include "meshwright/search/search.hpp"
#include "parallel/jobs.hpp"

namespace meshwright::parallel {
namespace {

class Draw {
 public:
  explicit Draw(unsigned seed) : generator_(seed) {}
  template <class T>
  T of(std::initializer_list<T> values) {
    return *(values.begin() + static_cast<std::ptrdiff_t>(generator_() % values.size()));
  }

 private:
  std::mt19937 generator_;
};

struct Case {
  Job job;
  Layout layout;
};

Job random_job(Draw& draw) {
  const int hidden = draw.of({2048, 4096, 8192});
  Transformer model = draw.of({false, true}) ? mixture(draw.of({16, 32, 48}), 64, 8)
                                             : llama(draw.of({24, 32, 80}), hidden, draw.of({3, 4}) * hidden, 32, 8);
  const int accelerators = draw.of({8, 32, 64, 256});
  const Job job = test_job(std::move(model), accelerators, draw.of({4096, 8192}), draw.of({256, 512}),
                           draw.of<const char*>({"megatron-core", "torchtitan", "nanotron", "generic", "deepspeed"}));
  return on_cluster(job, draw.of<const char*>({"dgx-h100", "dgx-a100", "dgx-b200"}), accelerators);
}

Layout random_layout(Draw& draw, const Job& job) {
  Layout l{.tp = draw.of({1, 2, 4, 8}),
           .cp = draw.of({1, 1, 1, 2, 4}),
           .pp = draw.of({1, 1, 2, 4, 8}),
           .vp = draw.of({1, 1, 2, 4})};
  l.dp = std::max(1, job.accelerators / (l.tp * l.cp * l.pp));
  l.ep = job.model.is_moe() ? draw.of({1, 2, 4, 8}) : 1;
  l.etp = draw.of({0, 1});
  l.micro_batch = draw.of({1, 2, 4});
  l.zero_stage = draw.of({0, 1, 2, 3});
  l.sequence_parallel = draw.of({true, true, false});
  l.recompute = draw.of({Recompute::none, Recompute::selective, Recompute::full});
  l.schedule = pipeline_schedules()[draw.of<std::size_t>({0, 1, 1, 1, 3, 5, 6})];
  l.tp_comm_overlap = draw.of({false, true});
  l.stage_split = usual_stage_split(job.model.layers, job.framework, l.pp, split_ways(l) / l.pp);
  return l;
}

/// Cases that every rule but memory accepts.
std::vector<Case> cases(unsigned seed, std::size_t count) {
  Draw draw(seed);
  std::vector<Case> out;
  while (out.size() < count) {
    const Job job = random_job(draw);
    const Layout layout = random_layout(draw, job);
    if (refused_by(job, layout) == nullptr) out.push_back({job, layout});
  }
  return out;
}

std::string told(const Case& c) {
  return c.job.framework.name + " " + c.job.cluster.name + " " + std::to_string(c.job.accelerators) + ": " +
         describe_layout(c.layout);
}

Job reshaped(const Job& job, const std::function<void(Transformer&)>& edit) {
  return with(job, [&](JobSpec& spec) { edit(*spec.shape); });
}

struct Nudge {
  const char* name;
  std::function<Job(const Case&)> apply;
};

// A width, a length or a rate that changes by 0.1 % or less moves the step by less than 3 %.
TEST(StepLaws, NoCliffs) {
  const Nudge nudges[] = {
      {"inner width",
       [](const Case& c) {
         return reshaped(
             c.job, [&](Transformer& m) { m.ffn_hidden += 8 * c.layout.tp * (m.ffn_hidden / 8000 / c.layout.tp); });
       }},
      {"network rate", [](const Case& c) { return scaled(c.job, Resource::nic_bandwidth, 1.001); }},
      {"scale-up rate", [](const Case& c) { return scaled(c.job, Resource::scale_up_bandwidth, 1.001); }},
      {"memory rate", [](const Case& c) { return scaled(c.job, Resource::memory_bandwidth, 1.001); }},
      {"vocabulary", [](const Case& c) { return reshaped(c.job, [](Transformer& m) { m.vocab += 128; }); }},
  };
  for (const Case& c : cases(11, 300)) {
    const double base = predict(c.job, c.layout).step_time.value();
    for (const Nudge& nudge : nudges) {
      const Case moved{nudge.apply(c), c.layout};
      if (refused_by(moved.job, moved.layout) != nullptr) continue;
      EXPECT_NEAR(predict(moved.job, moved.layout).step_time.value() / base, 1, 0.03) << nudge.name << " " << told(c);
    }
  }
}

// In fp32 a boundary carries twice the bytes of bf16, and no exposed exchange of activations is shorter.
TEST(StepLaws, BytesScaleWithTheFormat) {
  for (const Case& c : cases(12, 200)) {
    const Case wide{with_precision(c.job, "fp32"), c.layout};
    EXPECT_DOUBLE_EQ(boundary_bytes(wide.job, c.layout).value(), 2 * boundary_bytes(c.job, c.layout).value())
        << told(c);
    const auto exchanges = [](const Case& x) {
      const Prediction p = predict(x.job, x.layout);
      return std::array{p.time.tensor_parallel + p.hidden.tensor_parallel,
                        p.time.expert_parallel + p.hidden.expert_parallel, p.time.pipeline};
    };
    const auto narrow = exchanges(c), twice = exchanges(wide);
    for (std::size_t i = 0; i < narrow.size(); ++i) {
      EXPECT_GE(twice[i].value(), narrow[i].value()) << i << " " << told(c);
      EXPECT_LE(twice[i].value(), 2.01 * narrow[i].value()) << i << " " << told(c);
    }
  }
}

// States of the worst stage are the placement's parameters over the placement's ranks, at the recipe's bytes.
TEST(StepLaws, MemoryIsWhatThePlacementSays) {
  for (const Case& c : cases(13, 300)) {
    const Memory m = memory(c.job, c.layout);
    const Placement p = placement(c.job, c.layout);
    const RankParameters& held = p.stages[static_cast<std::size_t>(m.stage)].parameters;
    const MemoryConstants constants = memory_constants(c.job);
    const auto state = [&](double bytes, int least) {
      const bool sharded = c.layout.zero_stage >= least;
      return bytes * (sharded ? held.dense / p.state_ranks.dense + held.experts / p.state_ranks.experts
                              : held.dense + held.experts);
    };
    EXPECT_NEAR(m.gradients.value(), state(constants.gradient_bytes, 2), 1e-6 * m.gradients.value() + 1) << told(c);
    EXPECT_NEAR(m.optimizer.value(), state(constants.optimizer_bytes, 1), 1e-6 * m.optimizer.value() + 1) << told(c);
  }
}

// Ranks that differ hold the model once, but for padding, replicated norms and copies of a schedule.
TEST(StepLaws, StagesHoldTheModelOnce) {
  for (Case c : cases(14, 200)) {
    c.job = with_stack(c.job, [](Framework& f) { f.rules.vocab_multiple = 1; });
    if (refused_by(c.job, c.layout) != nullptr) continue;
    const Placement p = placement(c.job, c.layout);
    RankParameters sum;
    for (const StagePlace& stage : p.stages) {
      sum.dense += stage.parameters.dense, sum.experts += stage.parameters.experts;
    }
    const double copies = effective_schedule(p.layout)->weight_copies;
    const double ranks = static_cast<double>(p.shard.ep) * p.shard.etp;
    const double whole = parameter_counts(c.job.model).total;
    EXPECT_NEAR((sum.dense * p.shard.tp + sum.experts * ranks) / copies / whole, 1, 0.01) << told(c);
  }
}

// A plan's best is what predict says of it, bit for bit, however many threads looked for it.
TEST(StepLaws, PlanIsPredict) {
  Draw draw(15);
  for (int i = 0; i < 6; ++i) {
    const Job job = random_job(draw);
    std::optional<Prediction> first;
    for (const int threads : {1, 2, 5}) {
      const search::SearchResult result = search::search(job, {.top = 3, .threads = threads});
      for (const search::Ranked& ranked : result.best) {
        EXPECT_EQ(predict(job, ranked.prediction.layout).step_time, ranked.prediction.step_time);
        EXPECT_EQ(predict(job, ranked.prediction.layout).memory.reserved, ranked.prediction.memory.reserved);
        EXPECT_EQ(refusal(job, ranked.prediction.layout), nullptr);
      }
      if (result.best.empty()) continue;
      if (!first) first = result.best.front().prediction;
      EXPECT_EQ(result.best.front().prediction.layout, first->layout);
      EXPECT_EQ(result.best.front().prediction.step_time, first->step_time);
    }
  }
}

/// The laws that follow are cheap: over so many cases in every run, and more where MESHWRIGHT_LAWS says how many.
std::size_t many(std::size_t usual) {
  const char* said = std::getenv("MESHWRIGHT_LAWS");
  return said == nullptr ? usual : std::strtoull(said, nullptr, 10);
}

bool sound(double value) { return std::isfinite(value) && value >= 0; }

// Every number that leaves is finite, terms are disjoint and sum up, shares are shares, bands are ordered, and memory
// holds at least the weights.
TEST(StepLaws, EveryNumberIsOne) {
  for (const Case& c : cases(16, many(400))) {
    const Prediction p = predict(c.job, c.layout);
    double sum = 0;
    describe(p.time, [&](const char* field, Seconds part) {
      EXPECT_TRUE(sound(part.value())) << field << " " << told(c);
      sum += part.value();
    });
    EXPECT_NEAR(sum, p.step_time.value(), 1e-9 * sum) << told(c);
    describe(p.memory,
             [&](const char* field, Bytes part) { EXPECT_TRUE(sound(part.value())) << field << " " << told(c); });
    EXPECT_GE(p.memory.reserved, p.memory.weights + p.memory.gradients + p.memory.optimizer) << told(c);
    EXPECT_LE(p.p10, p.step_time) << told(c);
    EXPECT_GE(p.p90, p.step_time) << told(c);
    for (const double share : {p.mfu, p.hfu, p.comm_share}) EXPECT_TRUE(share >= 0 && share <= 1) << told(c);
    EXPECT_NEAR(p.tokens_per_s_per_gpu * c.job.accelerators * p.step_time.value(),
                1.0 * c.job.global_batch * c.job.seq_len, 1e-6 * c.job.global_batch * c.job.seq_len)
        << told(c);
    EXPECT_EQ(to_json(p).find("null"), std::string::npos) << told(c);
  }
}

// What is written of a job and a layout reads back as the same question, with the same answer.
TEST(StepLaws, WhatIsWrittenReadsBack) {
  for (const Case& c : cases(17, many(300))) {
    const Job again = read_job(Reader::text(to_json(c.job.spec), "job.json"), builtin_catalog());
    const Layout layout = read_layout(Reader::text(to_json(c.layout), "layout.json"));
    EXPECT_EQ(layout, c.layout) << told(c);
    EXPECT_EQ(predict(again, layout).step_time, predict(c.job, c.layout).step_time) << told(c);
    EXPECT_EQ(predict(again, layout).memory.reserved, predict(c.job, c.layout).memory.reserved) << told(c);
  }
}

// More of anything never makes a step longer: twice of it, and a tenth more. What stays within the slack are choices by
// size (which protocol or algorithm a collective takes) that a table makes at its own points.
constexpr double slack = 0.005;

TEST(StepLaws, MoreOfAResourceIsNeverSlower) {
  constexpr std::pair<Resource, double> more[] = {
      {Resource::compute, 2},         {Resource::memory_bandwidth, 2},    {Resource::scale_up_bandwidth, 2},
      {Resource::nic_bandwidth, 2},   {Resource::latency, 0.5},           {Resource::compute, 1.1},
      {Resource::nic_bandwidth, 1.1}, {Resource::scale_up_bandwidth, 1.1}};
  for (const Case& c : cases(18, many(150))) {
    const double base = predict(c.job, c.layout).step_time.value();
    for (const auto& [resource, factor] : more) {
      const double step = predict(scaled(c.job, resource, factor), c.layout).step_time.value();
      EXPECT_LE(step, base * (1 + slack)) << name(resource) << " x " << factor << " " << told(c);
    }
  }
}

// Nor does it make the best plan worse.
TEST(StepLaws, MoreOfAResourceIsNoWorsePlan) {
  Draw draw(19);
  for (std::size_t i = 0; i < many(150) / 25; ++i) {
    const Job job = random_job(draw);
    const auto best = [](const Job& of) {
      const search::SearchResult result = search::search(of, {.top = 1});
      return result.best.empty() ? std::numeric_limits<double>::infinity()
                                 : result.best.front().prediction.step_time.value();
    };
    const double base = best(job);
    for (const Resource resource : {Resource::compute, Resource::memory_bandwidth, Resource::memory_capacity,
                                    Resource::scale_up_bandwidth, Resource::nic_bandwidth}) {
      EXPECT_LE(best(scaled(job, resource, 1.5)), base * (1 + slack)) << name(resource) << " " << job.model.layers;
    }
  }
}

}  // namespace
}  // namespace meshwright::parallel
