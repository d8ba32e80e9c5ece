// Laws that hold for whatever can be described: seeded random jobs over all machines, models, stacks and formats.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <functional>

#include "laws/any_case.hpp"
#include "meshwright/hardware/catalog.hpp"
#include "meshwright/parallel/constraints.hpp"
#include "meshwright/parallel/json.hpp"
#include "meshwright/parallel/prediction.hpp"
#include "meshwright/parallel/stages.hpp"
#include "meshwright/search/search.hpp"

namespace meshwright::tests {
namespace {

bool sound(double value) { return std::isfinite(value) && value >= 0; }
double step(const Job& job, const Layout& layout) { return predict(job, layout).step_time.value(); }

template <class Law>
void over(unsigned seed, std::size_t count, Law law) {
  Chance chance(seed);
  for (std::size_t i = 0; i < count; ++i) {
    const AnyCase c = any_case(chance);
    SCOPED_TRACE(told(c));
    law(c);
  }
}

// Every number that leaves is finite, terms are disjoint and sum up, shares are shares, bands are ordered, memory holds
// at least the weights, and asking again gives the same.
TEST(AnyJobLaws, EveryNumberIsOne) {
  over(16, many(400), [](const AnyCase& c) {
    const Prediction p = predict(c.job, c.layout);
    double sum = 0;
    describe(p.time, [&](const char* field, Seconds part) {
      EXPECT_TRUE(sound(part.value())) << field;
      sum += part.value();
    });
    EXPECT_NEAR(sum, p.step_time.value(), 1e-9 * sum);
    describe(p.memory, [&](const char* field, Bytes part) { EXPECT_TRUE(sound(part.value())) << field; });
    EXPECT_GE(p.memory.reserved, p.memory.weights + p.memory.gradients + p.memory.optimizer);
    EXPECT_LE(p.p10, p.step_time);
    EXPECT_GE(p.p90, p.step_time);
    for (const double share : {p.mfu, p.hfu, p.comm_share}) EXPECT_TRUE(share >= 0 && share <= 1) << share;
    const double tokens = 1.0 * c.job.global_batch * c.job.seq_len;
    EXPECT_NEAR(p.tokens_per_s_per_gpu * c.job.accelerators * p.step_time.value(), tokens, 1e-6 * tokens);
    EXPECT_EQ(to_json(p).find("null"), std::string::npos);
    EXPECT_EQ(step(c.job, c.layout), p.step_time.value());
  });
}

// What is written of a job and a layout reads back as the same question, with the same answer.
TEST(AnyJobLaws, WhatIsWrittenReadsBack) {
  over(17, many(300), [](const AnyCase& c) {
    const Job again = read_job(Reader::text(to_json(c.job.spec), "job.json"), builtin_catalog());
    const Layout layout = read_layout(Reader::text(to_json(c.layout), "layout.json"));
    EXPECT_EQ(layout, c.layout);
    const Prediction a = predict(again, layout), b = predict(c.job, c.layout);
    EXPECT_EQ(a.step_time, b.step_time);
    EXPECT_EQ(a.memory.reserved, b.memory.reserved);
  });
}

constexpr double rounding = 1e-9;
/// Tiles, waves and protocols that a faster part makes another choice of.
constexpr double slack = 0.005;

struct More {
  Resource resource;
  double factor;
};
constexpr More more[] = {{Resource::compute, 2},
                         {Resource::memory_bandwidth, 2},
                         {Resource::scale_up_bandwidth, 2},
                         {Resource::nic_bandwidth, 2},
                         {Resource::latency, 0.5},
                         {Resource::compute, 1.1},
                         {Resource::memory_bandwidth, 1.1},
                         {Resource::nic_bandwidth, 1.1},
                         {Resource::scale_up_bandwidth, 1.1}};

// More of anything never makes a step longer: twice of it, and a tenth more.
TEST(AnyJobLaws, MoreOfAResourceIsNeverSlower) {
  over(18, many(200), [](const AnyCase& c) {
    const double most = step(c.job, c.layout) * (1 + slack);
    for (const auto& [resource, factor] : more) {
      EXPECT_LE(step(scaled(c.job, resource, factor), c.layout), most) << name(resource) << " x " << factor;
    }
  });
}

// Nor does doing less again: a plan that recomputes has a reason, which is memory.
TEST(AnyJobLaws, LessRecomputeIsNoSlower) {
  over(19, many(200), [](const AnyCase& c) {
    std::array<double, 3> times{};
    for (std::size_t mode = 0; mode < times.size(); ++mode) {
      Layout layout = c.layout;
      layout.recompute = static_cast<Recompute>(mode);
      times[mode] = step(c.job, layout);
    }
    EXPECT_LE(times[0], times[1] * (1 + rounding));
    EXPECT_LE(times[0], times[2] * (1 + rounding));
  });
}

/// A change of at most 0.2 %, by as little as rules and alignment to 8 elements allow, and how much it was.
struct Nudge {
  const char* name;
  std::function<double(JobSpec&, const AnyCase&)> apply;
};

int next_multiple(int number, int of) { return (number / of + 1) * of; }
double nudged(int& field, int of) {
  const int before = field;
  field = next_multiple(field, of);
  return static_cast<double>(field) / before - 1;
}

const Nudge nudges[] = {
    {"sequence", [](JobSpec& spec, const AnyCase& c) { return nudged(spec.seq_len, 8 * c.layout.tp * c.layout.cp); }},
    // Between vocabularies that every rank loads in vectors: rows that are not aligned are a cliff of their own.
    {"vocabulary",
     [](JobSpec& spec, const AnyCase& c) {
       const int vector = 8 * c.layout.tp;
       return spec.shape->vocab % vector == 0 ? nudged(spec.shape->vocab, vector) : 1;
     }},
    {"inner width", [](JobSpec& spec, const AnyCase& c) { return nudged(spec.shape->ffn_hidden, 8 * c.layout.tp); }},
    // Less, not more: a NIC of more than a port of its switch carries takes two ports, and the network a tier.
    {"rate of a NIC",
     [](JobSpec& spec, const AnyCase& c) {
       const Node& node = c.job.cluster.node;
       if (node.nics == 0 || node.nic_bandwidth.value() <= 0) return 1.0;
       spec.cluster.node.nic_bandwidth = node.nic_bandwidth * 0.999;
       return 0.001;
     }},
};

/// Layers dealt by cost move whole from stage to stage, as they do in the stack that deals them so: a cliff of its own.
bool dealt_alike(const AnyCase& c, const Job& moved) {
  return pipeline_chunks(c.job.model, c.job.framework, c.layout) ==
         pipeline_chunks(moved.model, moved.framework, c.layout);
}

// A length or a width that changes by 0.2 % or less moves the step by at most 1.5 %.
TEST(AnyJobLaws, NoCliffs) {
  over(20, many(200), [](const AnyCase& c) {
    const double base = step(c.job, c.layout);
    for (const Nudge& nudge : nudges) {
      double change = 0;
      const Job moved = with(c.job, [&](JobSpec& spec) { change = nudge.apply(spec, c); });
      if (change > 0.002 || refused_by(moved, c.layout) != nullptr || !dealt_alike(c, moved)) continue;
      EXPECT_NEAR(step(moved, c.layout) / base, 1, 0.015) << nudge.name << " + " << change;
    }
    for (const Resource resource :
         {Resource::compute, Resource::memory_bandwidth, Resource::scale_up_bandwidth, Resource::nic_bandwidth}) {
      EXPECT_NEAR(step(scaled(c.job, resource, 1.002), c.layout) / base, 1, 0.003) << name(resource);
    }
  });
}

// A plan's best is what predict says of it, however many threads looked for it and however often; and more of a
// resource makes it no worse.
TEST(AnyJobLaws, PlansArePredictionsAndResourcesHelp) {
  Chance chance(21);
  for (std::size_t i = 0; i < many(200) / 25; ++i) {
    const AnyCase c = any_case(chance);
    SCOPED_TRACE(told(c));
    const Job& job = c.job;
    const auto best = [](const Job& of, int threads) { return search::search(of, {.top = 3, .threads = threads}); };
    const search::SearchResult one = best(job, 1), more_threads = best(job, 3);
    ASSERT_EQ(one.best.size(), more_threads.best.size());
    if (one.best.empty()) continue;
    for (std::size_t at = 0; at < one.best.size(); ++at) {
      const Prediction &a = one.best[at].prediction, &b = more_threads.best[at].prediction;
      EXPECT_EQ(a.layout, b.layout);
      EXPECT_EQ(a.step_time, b.step_time);
      EXPECT_EQ(predict(job, a.layout).step_time, a.step_time);
      EXPECT_EQ(refusal(job, a.layout), nullptr);
    }
    const double base = one.best.front().prediction.step_time.value();
    for (const Resource resource : {Resource::compute, Resource::memory_bandwidth, Resource::memory_capacity,
                                    Resource::scale_up_bandwidth, Resource::nic_bandwidth}) {
      const search::SearchResult richer = best(scaled(job, resource, 1.5), 2);
      ASSERT_FALSE(richer.best.empty());
      EXPECT_LE(richer.best.front().prediction.step_time.value(), base * (1 + slack)) << name(resource);
    }
  }
}

}  // namespace
}  // namespace meshwright::tests
