// Laws of the whole algorithm table, for every group of up to 128 ranks that a row supports.
#include <gtest/gtest.h>

#include <set>

#include "meshwright/collectives/verify.hpp"

namespace meshwright {
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

}  // namespace
}  // namespace meshwright
