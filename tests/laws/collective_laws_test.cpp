// Laws of the whole algorithm table, for every group of up to 128 ranks that a row supports.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "meshwright/collectives/evaluate.hpp"
#include "meshwright/collectives/message_program.hpp"
#include "meshwright/collectives/verify.hpp"

namespace meshwright::tests {
namespace {

constexpr int most_ranks = 128;

/// Flat groups of every size; of several levels, every factorisation of up to 64 ranks and of these larger numbers.
bool in_sample(const Shape& shape) {
  static const std::set<int> larger = {96, 100, 120, 125, 128};
  return shape.flat() || shape.ranks() <= 64 || larger.contains(shape.ranks());
}

/// The variants of a shape that the row takes: one and several segments; a token to one, two and all nodes and ranks.
void add_variants(std::vector<Shape>& shapes, const Algorithm& row, const Shape& shape) {
  if (!row.supports(shape) || !in_sample(shape)) return;
  if (row.routed) {
    if (shape.ranks() > most_ranks / 4) return;  // p^3 transfers
    for (const int nodes : std::set<int>{1, 2, shape.extent[1]}) {
      for (const int ranks : std::set<int>{1, 2, shape.extent[0]}) {
        Shape variant = shape;
        variant.token_nodes = nodes;
        variant.token_ranks = ranks;
        shapes.push_back(variant);
      }
    }
    return;
  }
  for (const int segments : {1, 2, 3, 8}) {
    if (!shape.flat() && segments == 2) continue;
    Shape variant = shape;
    variant.segments = segments;
    if (segments == 1 || row.pipelined) shapes.push_back(variant);
  }
}

/// Every shape of up to `most_ranks` ranks that the row supports.
std::vector<Shape> shapes_of(const Algorithm& row) {
  std::vector<Shape> shapes;
  for (int x = 1; x <= most_ranks; ++x) {
    for (int y = 1; x * y <= most_ranks; ++y) {
      for (int z = 1; x * y * z <= most_ranks; ++z) add_variants(shapes, row, {.extent = {x, y, z}});
    }
  }
  return shapes;
}

std::string label(const Algorithm& row, const Shape& s) {
  return std::string(name(row.collective)) + " " + std::string(row.name) + " " + std::to_string(s.extent[0]) + "x" +
         std::to_string(s.extent[1]) + "x" + std::to_string(s.extent[2]) + ", " + std::to_string(s.segments) +
         " segments, tokens to " + std::to_string(s.token_nodes) + "x" + std::to_string(s.token_ranks);
}

TEST(CollectiveLaws, EveryRowSupportsSomething) {
  for (const Algorithm& row : algorithms()) EXPECT_FALSE(shapes_of(row).empty()) << row.name;
}

TEST(CollectiveLaws, TheScheduleImplementsTheCollective) {
  for (const Algorithm& row : algorithms()) {
    for (const Shape& shape : shapes_of(row)) {
      const auto fault = find_fault(schedule(row, shape));
      ASSERT_FALSE(fault.has_value()) << label(row, shape) << ": " << *fault;
    }
  }
}

TEST(CollectiveLaws, TheScheduleCostsWhatTheClosedFormSays) {
  for (const Algorithm& row : algorithms()) {
    for (const Shape& shape : shapes_of(row)) {
      const LevelCoefficients read = read_coefficients(schedule(row, shape)), form = coefficients(row, shape);
      for (std::size_t level = 0; level < read.size(); ++level) {
        ASSERT_EQ(read[level].rounds, form[level].rounds) << label(row, shape) << " level " << level;
        ASSERT_EQ(read[level].messages, form[level].messages) << label(row, shape) << " level " << level;
        ASSERT_EQ(read[level].wire, form[level].wire)
            << label(row, shape) << " level " << level << ": " << read[level].wire.value() << " against "
            << form[level].wire.value();
        ASSERT_EQ(read[level].reduced, form[level].reduced)
            << label(row, shape) << " level " << level << ": " << read[level].reduced.value() << " against "
            << form[level].reduced.value();
      }
    }
  }
}

TEST(CollectiveLaws, NothingBeatsTheLowerBounds) {
  for (const Algorithm& row : algorithms()) {
    for (const Shape& shape : shapes_of(row)) {
      const Coefficients bound = lower_bound(row.collective, shape, row.means);
      Coefficients sum;
      for (const Coefficients& level : coefficients(row, shape)) {
        const Ratio widest = sum.wire < level.wire ? level.wire : sum.wire;
        sum = sum + level;
        if (row.concurrent_levels) sum.wire = widest;  // levels at once: the busiest link counts
      }
      ASSERT_GE(sum.rounds, bound.rounds) << label(row, shape);
      ASSERT_GE(sum.messages, bound.messages) << label(row, shape);
      ASSERT_LE(bound.wire, sum.wire) << label(row, shape);
      ASSERT_LE(bound.reduced, sum.reduced) << label(row, shape);
    }
  }
}

/// Every rank sends one message and receives one in every round, all of a size.
bool in_lock_step(const Schedule& s) {
  for (const Phase& phase : s.phases) {
    std::map<std::pair<int, int>, int> messages;
    for (const Transfer& t : phase.transfers) messages[{t.source, t.target}] += t.count;
    if (messages.size() != static_cast<std::size_t>(s.ranks())) return false;
    std::set<int> sources, targets, sizes;
    for (const auto& [pair, count] : messages) {
      sources.insert(pair.first);
      targets.insert(pair.second);
      sizes.insert(count);
    }
    if (sources.size() != messages.size() || targets.size() != messages.size() || sizes.size() != 1) return false;
  }
  return s.switch_levels.empty();
}

TEST(CollectiveLaws, TheLogGPSweepEqualsItsClosedForm) {
  const LogGP sets[] = {{}, {.L = 3700, .o = 200, .g = 5, .G = 1}, {.L = 1, .o = 500, .g = 900, .G = 3}};
  std::set<std::string_view> rows;
  for (const Algorithm& row : algorithms()) {
    for (int ranks : {2, 3, 4, 5, 8, 13, 16, 32, 64, 127, 128}) {
      const Shape shape = flat_shape(ranks);
      if (!row.supports(shape)) continue;
      const Schedule s = schedule(row, shape);
      if (!in_lock_step(s)) continue;
      rows.insert(row.name);
      const auto bytes = static_cast<std::uint64_t>(s.chunks) * 48;
      const Coefficients form = coefficients(row, shape)[0];
      const auto wire = static_cast<std::uint64_t>(std::llround(form.wire.value() * static_cast<double>(bytes)));
      for (const LogGP& p : sets) {
        const ClockSweep sweep = simulate(message_program(s, bytes, SendOrder::by_round), p);
        ASSERT_EQ(sweep.unmatched, 0U) << label(row, shape);
        ASSERT_EQ(sweep.makespan, lock_step_time(p, static_cast<std::uint64_t>(form.rounds), wire))
            << label(row, shape);
      }
    }
  }
  for (const std::string_view name : {"ring", "recursive_doubling", "rabenseifner", "bruck", "pat", "pairwise"})
    EXPECT_TRUE(rows.contains(name)) << name;
}

/// One switched domain of `ranks` accelerators with 100 GB/s each way: full bisection.
Cluster one_domain(int ranks) {
  Cluster c;
  c.node.accelerators = c.node.scale_up_domain = ranks;
  c.node.scale_up_bandwidth = BytesPerSecond::base(100e9);
  c.node.nics = 0;
  return c;
}

TEST(CollectiveLaws, FlowsOnFullBisectionTakeTheWireTime) {
  std::set<std::string_view> rows;
  for (const int ranks : {2, 3, 4, 5, 8, 12, 16, 31, 32}) {
    const Fabric fabric = build_fabric(one_domain(ranks));
    std::vector<std::vector<int>> group(1);
    for (int r = 0; r < ranks; ++r) group[0].push_back(r);
    for (const Algorithm& row : algorithms()) {
      for (const int segments : {1, 4}) {
        const Shape shape = flat_shape(ranks, segments);
        if (!row.supports(shape) || (segments > 1 && !row.pipelined) || row.means == Means::torus_links) continue;
        const auto flow = flow_evaluation(schedule(row, shape), Bytes::base(1e9), fabric, group);
        if (!flow) continue;  // a switch takes part
        rows.insert(row.name);
        const double wire = coefficients(row, shape)[0].wire.value() * 1e9 / 100e9;
        ASSERT_NEAR(flow->time.value(), wire, 1e-9 * wire) << label(row, shape);
      }
    }
  }
  EXPECT_GE(rows.size(), 15U);
}

// Laid over its own shape, a schedule takes what its closed form says, level by level.
TEST(CollectiveLaws, AlphaBetaOfTheScheduleIsAlphaBetaOfTheClosedForm) {
  LevelLinks links;
  for (std::size_t level = 0; level < links.size(); ++level) {
    links[level].cost = {.alpha = Seconds::base(1e-6 * static_cast<double>(level + 1)),
                         .beta = SecondsPerByte::base(1e-11 * std::pow(9, level))};
  }
  for (const Algorithm& row : algorithms()) {
    if (row.means == Means::torus_links || row.routed) continue;
    for (const Shape& shape : shapes_of(row)) {
      if (shape.ranks() > 32) continue;
      const Bytes n = Bytes::base(1e8);
      const double form = alpha_beta_time(row, shape, n, links).value();
      ASSERT_NEAR(alpha_beta_time(schedule(row, shape), n, links).value(), form, 1e-9 * form) << label(row, shape);
    }
  }
}

}  // namespace
}  // namespace meshwright::tests
