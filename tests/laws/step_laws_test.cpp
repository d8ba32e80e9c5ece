// Laws on predictions, over seeded random jobs and layouts that the stack's rules accept: no cliffs, bytes that scale
// with the format, memory that is what the placement says, and one answer for plan and predict.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>

#include "meshwright/hardware/catalog.hpp"
#include "meshwright/parallel/constraints.hpp"
#include "meshwright/parallel/job_recipe.hpp"
#include "meshwright/parallel/memory.hpp"
#include "meshwright/parallel/prediction.hpp"
#include "meshwright/parallel/step.hpp"
#include "meshwright/parallel/tables.hpp"
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

// One draw a line: arguments of a call are drawn in an order that each compiler chooses.
Job random_job(Draw& draw) {
  const int hidden = draw.of({2048, 4096, 8192});
  const bool experts = draw.of({false, true});
  const int layers = experts ? draw.of({16, 32, 48}) : draw.of({24, 32, 80});
  const int wider = draw.of({3, 4});
  Transformer model = experts ? mixture(layers, 64, 8) : llama(layers, hidden, wider * hidden, 32, 8);
  const int accelerators = draw.of({8, 32, 64, 256});
  const int seq_len = draw.of({4096, 8192});
  const int global_batch = draw.of({256, 512});
  const char* stack = draw.of<const char*>({"megatron-core", "torchtitan", "nanotron", "generic", "deepspeed"});
  const Job job = test_job(std::move(model), accelerators, seq_len, global_batch, stack);
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

Step step_of(const Case& c) {
  Tables tables(c.job);
  const Layout layout = complete(c.job, c.layout);
  return step_time(tables.constants(), tables.entries(layout), layout);
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

// In fp32 a boundary carries twice the bytes of bf16, and no exchange of activations is shorter on the same stage: its
// products take longer too, so that another stage may be the slowest.
TEST(StepLaws, BytesScaleWithTheFormat) {
  int compared = 0;
  for (const Case& c : cases(12, 400)) {
    const Case wide{with_precision(c.job, "fp32"), c.layout};
    EXPECT_DOUBLE_EQ(boundary_bytes(wide.job, c.layout).value(), 2 * boundary_bytes(c.job, c.layout).value())
        << told(c);
    const Step of_narrow = step_of(c), of_wide = step_of(wide);
    if (of_narrow.worst_stage != of_wide.worst_stage) continue;
    ++compared;
    const auto exchanges = [](const Step& s) {
      return std::array{s.time.tensor_parallel + s.hidden.tensor_parallel,
                        s.time.expert_parallel + s.hidden.expert_parallel, s.time.pipeline};
    };
    const auto narrow = exchanges(of_narrow), twice = exchanges(of_wide);
    for (std::size_t i = 0; i < narrow.size(); ++i) {
      EXPECT_GE(twice[i].value(), narrow[i].value()) << i << " " << told(c);
      EXPECT_LE(twice[i].value(), 2.01 * narrow[i].value()) << i << " " << told(c);
    }
  }
  EXPECT_GT(compared, 300);
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

}  // namespace
}  // namespace meshwright::parallel
