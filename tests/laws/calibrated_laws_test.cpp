// Laws of the calibrated evaluator: what it prices is the table's rows, on every place that they take.
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "meshwright/collectives/evaluate.hpp"
#include "meshwright/collectives/message_times.hpp"
#include "meshwright/collectives/verify.hpp"
#include "meshwright/hardware/catalog.hpp"

namespace meshwright::tests {
namespace {

std::string label(const Algorithm& row, const Shape& s) {
  return std::string(name(row.collective)) + " " + std::string(row.name) + " " + std::to_string(s.extent[0]) + "x" +
         std::to_string(s.extent[1]) + "x" + std::to_string(s.extent[2]);
}

// ------------------------------------------------------------------------------ ideal media give the closed form
constexpr double step_inside = 1e-6, step_between = 3e-6, detour = 2e-6;

Medium ideal(double step) {
  Medium m;
  const Rate rate{.step = Seconds::base(step), .efficiency = 1, .ramp = {}};
  m.ring = {rate, rate, rate};
  m.in_switch = m.point_to_point = m.all_to_all.ll = m.all_to_all.simple = rate;
  m.in_switch_least_ranks = 2;
  return m;
}

/// Reached without loss: one protocol's step a hop, line rate, nothing else.
Platform ideal_platform() {
  return {
      .name = "ideal", .scale_up = ideal(step_inside), .host = ideal(step_inside), .scale_out = ideal(step_between)};
}

struct Ideal {
  GroupPlace place;
  LevelLinks links;  // the same for the closed form
};
/// Levels of a shape: a domain, then two tiers of network; on a torus three dimensions with a port for each way round.
Ideal ideal_place(const Shape& shape, bool torus) {
  Ideal ideal;
  for (std::size_t level = 0; level < level_limit; ++level) {
    const double beta = 1e-11 * std::pow(3, level);
    const bool network = level > 0 && !torus;
    const double alpha = (network ? step_between : step_inside) + (level == 2 && network ? detour : 0);
    ideal.links[level].cost = {.alpha = Seconds::base(alpha), .beta = SecondsPerByte::base(beta)};
    if (shape.extent[level] == 1) continue;
    ideal.place.levels.push_back({.kind = network ? LevelKind::scale_out : LevelKind::scale_up,
                                  .ranks = shape.extent[level],
                                  .latency = Seconds::base(level == 2 && network ? detour : 0),
                                  .bandwidth = BytesPerSecond::base((torus ? 2 : 1) / beta),
                                  .reduces = true,
                                  .rings = torus ? 2 : 1,
                                  .link = "ideal"});
  }
  // The first tier of a network that has no second one in use has no detour either.
  if (!torus && shape.extent[1] == 1 && shape.extent[2] > 1) ideal.links[2].cost.alpha = Seconds::base(step_between);
  return ideal;
}

CollectiveOptions only(const Algorithm& row, const Shape& shape) {
  return {.algorithm = std::string(row.name),
          .protocol = "Simple",
          .token_nodes = row.routed ? shape.token_nodes : 0,
          .token_ranks = row.routed ? shape.token_ranks : 0};
}

/// Shapes of up to 64 ranks that a row takes for its own levels.
std::vector<Shape> shapes_of(const Algorithm& row) {
  std::vector<Shape> shapes;
  for (int x = 1; x <= 64; ++x) {
    for (int y = 1; x * y <= 64; ++y) {
      for (int z = 1; x * y * z <= 64; ++z) {
        if (!row.supports({.extent = {x, y, z}})) continue;
        shapes.push_back({.extent = {x, y, z}});
        if (!row.routed) continue;
        shapes.back().token_nodes = std::max(1, y / 2);
        shapes.back().token_ranks = std::max(1, x / 2);
      }
    }
  }
  return shapes;
}

/// Rows whose pieces stream through their stages or levels: faster than the closed form of any number of segments, and
/// as fast as its latency of one segment and its bytes of many allow.
bool streams(const Algorithm& row) { return row.pipelined || row.streams; }

TEST(CalibratedLaws, IdealMediaGiveTheClosedForm) {
  const Platform platform = ideal_platform();
  std::set<std::string_view> seen;
  for (const Algorithm& row : algorithms()) {
    const bool torus = row.means == Means::torus_links;
    for (const Shape& shape : shapes_of(row)) {
      if (row.stages.empty() && !torus && !row.routed && shape.flat() && shape.extent[0] == 1) continue;
      const Ideal ideal = ideal_place(shape, torus);
      if (row.traffic == Traffic::in_network) continue;  // needs a network's switch: see the next law
      seen.insert(row.name);
      const CollectivePrices prices(row.collective, ideal.place, platform, only(row, shape));
      const auto closed = [&](double n, int segments) {
        Shape cut = shape;
        cut.segments = segments;
        return alpha_beta_time(row, cut, Bytes::base(n), ideal.links).value();
      };
      const auto ours = [&](double n) { return prices.time(Bytes::base(n)).value(); };
      ASSERT_NEAR(ours(0), closed(0, 1), 1e-9 * closed(0, 1)) << label(row, shape);
      // Where edges differ, the level of the most rounds and that of the most bytes need not be one.
      const auto& [x, y, z] = shape.extent;
      if (torus && row.concurrent_levels && (x != y || (z > 1 && y != z))) {
        ASSERT_GE(ours(1e8), (1 - 1e-9) * (closed(1e8, 1) - closed(0, 1))) << label(row, shape);
        ASSERT_LE(ours(1e8), closed(0, 1) + closed(1e8, 1)) << label(row, shape);
        continue;
      }
      if (row.concurrent_levels && !streams(row)) {  // hops beside the wire: no less than either, no more than both
        ASSERT_GE(ours(1e8), (1 - 1e-9) * std::max(closed(0, 1), closed(1e8, 1) - closed(0, 1))) << label(row, shape);
        ASSERT_LE(ours(1e8), (1 + 1e-9) * closed(1e8, 1)) << label(row, shape);
        continue;
      }
      if (!streams(row)) {
        ASSERT_NEAR(ours(1e8), closed(1e8, 1), 1e-9 * closed(1e8, 1)) << label(row, shape);
        continue;
      }
      for (const int segments : {1, 2, 8, 64})
        ASSERT_LE(ours(1e8), (1 + 1e-9) * closed(1e8, row.pipelined ? segments : 1)) << label(row, shape);
      const double bound = lower_bound(row.collective, shape, row.means).wire.value();
      if (!shape.flat()) continue;
      ASSERT_GE(ours(1e8), (1 - 1e-9) * bound * 1e8 * ideal.links[0].cost.beta.value()) << label(row, shape);
    }
  }
  for (const Algorithm& row : algorithms())
    EXPECT_TRUE(seen.contains(row.name) || row.traffic == Traffic::in_network) << row.name;
}

TEST(CalibratedLaws, SwitchesOfTheNetworkCombineInOnePass) {
  const GroupPlace place{.levels = {{.kind = LevelKind::scale_out,
                                     .ranks = 16,
                                     .bandwidth = BytesPerSecond::base(1e11),
                                     .reduces = true,
                                     .link = "ideal"}}};
  const CollectivePrices prices(Collective::all_reduce, place, ideal_platform(),
                                {.algorithm = "sharp", .protocol = ""});
  EXPECT_NEAR(prices.time(Bytes::base(1e8)).value(), step_between + 1e-3, 1e-9);
}

// --------------------------------------------------------------- flat rows over levels: closed form = what is counted
std::vector<std::vector<int>> level_sets() {
  return {{2, 2}, {4, 2}, {8, 4}, {2, 8}, {3, 5}, {8, 2, 4}, {4, 4, 4}, {2, 3, 2, 2}, {16, 8}, {5, 2, 3}};
}

TEST(CalibratedLaws, LoadsOverLevelsAreThoseOfTheSchedule) {
  std::set<std::string_view> seen;
  for (const Algorithm& row : algorithms()) {
    if (row.across == nullptr || row.means == Means::switch_reduction || row.traffic == Traffic::neighbour) continue;
    seen.insert(row.name);
    for (const std::vector<int>& extents : level_sets()) {
      int ranks = 1;
      for (const int e : extents) ranks *= e;
      for (const int domain : {1, extents[0]}) {
        const LevelLoads form = laid_over(row, extents, domain);
        // A ring's rounds are alike; of an exchange and a pipeline, only all rounds together show what a block carries.
        const bool overlap = row.pipelined || row.traffic == Traffic::exchange;
        const Schedule spelled_out = row.schedule_of(flat_shape(ranks, row.pipelined ? 8 : 1));
        const LevelLoads counted = counted_loads(spelled_out, extents, domain, overlap);
        for (std::size_t level = 0; level < extents.size(); ++level) {
          const std::string where = label(row, flat_shape(ranks)) + " level " + std::to_string(level);
          if (row.traffic == Traffic::tree) {  // a bound: which edges cross depends on the rank
            EXPECT_GE(form[level].out, (1 - 1e-9) * counted[level].out) << where;
            EXPECT_GE(form[level].in, (1 - 1e-9) * counted[level].in) << where;
            EXPECT_GE(form[level].port, (1 - 1e-9) * counted[level].port) << where;
            continue;
          }
          EXPECT_NEAR(form[level].out, counted[level].out, 1e-9) << where;
          EXPECT_NEAR(form[level].in, counted[level].in, 1e-9) << where;
          EXPECT_NEAR(form[level].port, counted[level].port, 1e-9) << where;
        }
      }
    }
  }
  EXPECT_GE(seen.size(), 5U);
}

TEST(CalibratedLaws, HopsOverLevelsAddUpToTheRounds) {
  for (const Algorithm& row : algorithms()) {
    if (!row.stages.empty() || row.means != Means::ranks || row.routed) continue;
    for (const std::vector<int>& extents : level_sets()) {
      int ranks = 1;
      for (const int e : extents) ranks *= e;
      if (!row.supports(flat_shape(ranks))) continue;
      double hops = 0;
      for (const LevelLoad& load : laid_over(row, extents, extents[0])) hops += load.hops;
      EXPECT_EQ(hops, row.coefficients_of(flat_shape(ranks))[0].rounds) << label(row, flat_shape(ranks));
    }
  }
}

// -------------------------------------------------------------------------------------------- the whole catalogue
struct Site {
  std::string title;
  GroupPlace place;
  Platform platform;
};

/// Each node alone, two and thirty-two of it, whole and by one rank a node.
std::vector<Site> sites() {
  std::vector<Site> all;
  for (const Node& node : builtin_catalog().nodes) {
    for (const int nodes : {1, 2, 32}) {
      const Cluster cluster = make_cluster(builtin_catalog(), node.name, nodes);
      const std::string title = node.name + " x " + std::to_string(nodes);
      if (cluster.accelerators() > 1)
        all.push_back({title, place_group(cluster, cluster.accelerators(), 1), platform_of(cluster)});
      if (nodes > 1 && node.accelerators > 1)
        all.push_back({title + ", a rail", place_group(cluster, nodes, node.accelerators), platform_of(cluster)});
    }
  }
  return all;
}

/// Calls `check(row, prices)` for every row that a site takes.
template <class Check>
void for_rows(const Site& site, Check check) {
  for (const Algorithm& row : algorithms()) {
    CollectiveOptions options{.algorithm = std::string(row.name), .protocol = ""};
    if (row.routed) options.token_nodes = options.token_ranks = 2;
    // Counting a schedule takes its time; small groups show the same.
    if (row.across == nullptr && row.stages.empty() && site.place.size() > 64) continue;
    if (applies(row.collective, site.place, site.platform, options))
      check(row, CollectivePrices(row.collective, site.place, site.platform, options));
  }
}

TEST(CalibratedLaws, EveryRowCanBePricedSomewhere) {
  std::set<std::pair<Collective, std::string_view>> priced;
  for (const Site& site : sites())
    for_rows(site, [&](const Algorithm& row, const CollectivePrices&) { priced.insert({row.collective, row.name}); });
  EXPECT_EQ(priced.size(), algorithms().size());
}

TEST(CalibratedLaws, TimeNeverFallsWithBytesNorJumps) {
  for (const Site& site : sites()) {
    for_rows(site, [&](const Algorithm& row, const CollectivePrices& prices) {
      const MessageTimes table(prices);
      Seconds last{}, last_read{};
      for (double bytes = 1; bytes < 2e11; bytes *= 1.7) {
        const Seconds time = prices.time(Bytes::base(bytes)), more = prices.time(Bytes::base(bytes * 1.001));
        const Seconds read = table(Bytes::base(bytes)), read_more = table(Bytes::base(bytes * 1.001));
        EXPECT_GE(time, last) << site.title << " " << row.name << " " << bytes;
        EXPECT_GE(read, last_read) << site.title << " " << row.name << " " << bytes;
        EXPECT_LE(more / time, 1.0011) << site.title << " " << row.name << " " << bytes;
        EXPECT_LE(read_more / read, 1.0021) << site.title << " " << row.name << " " << bytes;
        last = time;
        last_read = read;
      }
    });
  }
}

TEST(CalibratedLaws, MoreBandwidthIsNeverSlower) {
  for (const Site& site : sites()) {
    for (std::size_t level = 0; level < site.place.levels.size(); ++level) {
      Site wider = site;
      wider.place.levels[level].bandwidth *= 1.3;
      for_rows(site, [&](const Algorithm& row, const CollectivePrices& prices) {
        CollectiveOptions options{.algorithm = std::string(row.name), .protocol = ""};
        if (row.routed) options.token_nodes = options.token_ranks = 2;
        const CollectivePrices faster(row.collective, wider.place, wider.platform, options);
        const MessageTimes table(prices), faster_table(faster);
        for (double bytes = 64; bytes < 1e11; bytes *= 7) {
          EXPECT_LE(faster.time(Bytes::base(bytes)), prices.time(Bytes::base(bytes))) << site.title << " " << row.name;
          EXPECT_LE(faster_table(Bytes::base(bytes)), table(Bytes::base(bytes))) << site.title << " " << row.name;
        }
      });
    }
  }
}

TEST(CalibratedLaws, MessageTimesAreThePrices) {
  for (const Site& site : sites()) {
    for (std::size_t c = 0; c < collective_count; ++c) {
      const CollectivePrices prices(static_cast<Collective>(c), site.place, site.platform);
      const MessageTimes table(prices);
      for (double bytes = 1024; bytes < 6e10; bytes *= 1.37) {
        const double exact = prices.time(Bytes::base(bytes)).value(), read = table(Bytes::base(bytes)).value();
        EXPECT_LE(read, exact * 1.02) << site.title << " " << bytes;
        EXPECT_GE(read, exact * 0.92) << site.title << " " << bytes;  // a change of protocol is a jump
      }
    }
  }
}

}  // namespace
}  // namespace meshwright::tests
