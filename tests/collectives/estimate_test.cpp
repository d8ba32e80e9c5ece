#include "meshwright/collectives/estimate.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "meshwright/core/error.hpp"
#include "meshwright/hardware/catalog.hpp"

namespace meshwright::collectives {
namespace {

using namespace literals;

struct Site {
  std::string title;
  GroupPlace place;
  Platform platform;
};

/// Each node of the database alone, and four of it: every medium is on one of them.
std::vector<Site> sites() {
  std::vector<Site> all;
  for (const Node& node : builtin_catalog().nodes) {
    for (const int nodes : {1, 4}) {
      const Cluster cluster = make_cluster(builtin_catalog(), node.name, nodes);
      if (cluster.accelerators() < 2) continue;
      all.push_back({node.name + " x " + std::to_string(nodes), place_group(cluster, cluster.accelerators(), 1),
                     platform_of(cluster)});
    }
  }
  return all;
}

constexpr std::array collectives = {Collective::all_reduce, Collective::all_gather, Collective::reduce_scatter,
                                    Collective::broadcast,  Collective::reduce,     Collective::all_to_all,
                                    Collective::send_recv};

TEST(Estimate, AutoIsAsFastAsEverySingleForcedAlgorithmAndProtocol) {
  for (const Site& site : sites()) {
    for (const Collective c : collectives) {
      for (double bytes = 8; bytes < 2e10; bytes *= 32) {
        const CollectiveEstimate best = estimate(c, Bytes::base(bytes), site.place, site.platform);
        for (const CollectiveEstimate& other : candidates(c, Bytes::base(bytes), site.place, site.platform)) {
          const CollectiveOptions forced{std::string(other.algorithm), std::string(other.protocol)};
          const CollectiveEstimate alone = estimate(c, Bytes::base(bytes), site.place, site.platform, forced);
          EXPECT_EQ(alone.time.value(), other.time.value()) << site.title << " " << name(c);
          EXPECT_LE(best.time, alone.time) << site.title << " " << name(c) << " " << forced.algorithm;
        }
      }
    }
  }
}

TEST(Estimate, TimeGrowsWithBytesUnderAnyChoice) {
  for (const Site& site : sites()) {
    for (const Collective c : collectives) {
      if (c == Collective::all_to_all)
        continue;  // below 256 bytes a peer some fabrics are slower, and stay so in the table
      Seconds last{};
      for (double bytes = 1; bytes < 1e11; bytes *= 2) {
        const Seconds time = estimate(c, Bytes::base(bytes), site.place, site.platform).time;
        EXPECT_GE(time, last) << site.title << " " << name(c) << " " << bytes;
        last = time;
      }
    }
  }
}

TEST(Estimate, MoreBandwidthIsNeverSlower) {
  for (const Site& site : sites()) {
    for (std::size_t level = 0; level < site.place.levels.size(); ++level) {
      GroupPlace wider = site.place;
      wider.levels[level].bandwidth *= 2;
      for (const Collective c : collectives) {
        for (double bytes = 64; bytes < 1e11; bytes *= 64) {
          EXPECT_LE(estimate(c, Bytes::base(bytes), wider, site.platform).time,
                    estimate(c, Bytes::base(bytes), site.place, site.platform).time)
              << site.title << " " << name(c) << " level " << level;
        }
      }
    }
  }
}

TEST(Estimate, LatencyAndWireAreParts) {
  for (const Site& site : sites()) {
    for (const Collective c : collectives) {
      const CollectiveEstimate e = estimate(c, 1_GiB, site.place, site.platform);
      EXPECT_GT(e.latency.value(), 0) << site.title;
      EXPECT_GT(e.wire.value(), 0) << site.title;
      EXPECT_GE(e.time.value() * (1 + 1e-12), std::max(e.latency, e.wire).value()) << site.title;
      EXPECT_FALSE(e.limiting_link.empty()) << site.title;
    }
  }
}

// Bytes stream through the hops of a ring: hops h and wire w count as hypot(h, w) beside the launch and the fill.
TEST(Estimate, HopsOfARingHideBehindItsWire) {
  const Cluster node = make_cluster(builtin_catalog(), "dgx-h100", 1);
  const GroupPlace place = place_group(node, 8, 1);
  const Platform platform = platform_of(node);
  const CollectiveOptions ring{.algorithm = "ring", .protocol = "Simple"};
  const Rate& rate = platform.scale_up.rate(Protocol::simple);
  const double n = 64 << 20, hops = 14 * rate.step.value();
  const double wire = 14.0 / 8 * n / (rate.efficiency * place.levels[0].bandwidth.value());
  const double copy = n / 8 / platform.scale_up.local_copy.value();
  const CollectiveEstimate e = estimate(Collective::all_reduce, Bytes::base(n), place, platform, ring);
  EXPECT_NEAR(e.time.value(),
              platform.scale_up.base.value() + copy + std::hypot(hops, wire) + 2 * std::sqrt(rate.ramp.value() * wire),
              1e-9);
  EXPECT_NEAR(e.latency.value(), platform.scale_up.base.value() + hops, 1e-12);
}

// What peers get across sockets is stated as reached: no share of a slot's efficiency is taken off it.
TEST(Estimate, LongMessagesReachTheLinkBetweenSockets) {
  const Cluster pairs =
      complete({.of = "pcie-a100",
                .node = {.accelerators = 4, .scale_up_domain = 2, .scale_up = ScaleUpKind::nvlink_bridge},
                .nodes = 1},
               builtin_catalog());
  const GroupPlace place = place_group(pairs, 4, 1);
  ASSERT_EQ(place.levels.size(), 2u);
  ASSERT_GT(place.levels[1].flow.value(), 0);
  const CollectiveOptions ring{.algorithm = "ring", .protocol = "Simple"};
  const Bytes n = 4_GiB;
  const double bus = 1.5 * (n / estimate(Collective::all_reduce, n, place, platform_of(pairs), ring).time).value();
  EXPECT_NEAR(bus / place.levels[1].flow.value(), 1, 0.05);
}

TEST(Estimate, AGroupOfOneTakesNoTime) { EXPECT_EQ(estimate(Collective::all_reduce, 1_GiB, {}, {}).time.value(), 0); }

double busbw(std::string_view node, int nodes, int ranks, Collective c, Bytes bytes, CollectiveOptions options = {}) {
  const Cluster cluster = make_cluster(builtin_catalog(), node, nodes);
  const Seconds time = estimate(c, bytes, place_group(cluster, ranks, 1), platform_of(cluster), options).time;
  return (bytes / time).value() * 1e-9 * busbw_factor(c, ranks).value();
}

// Groups that divide no socket or node: a rank more or less changes what is reached by the ways out that it brings.
TEST(Estimate, RanksBesideOneAnotherReachAlike) {
  for (const std::string_view node : {"pcie-l40s", "pcie-a100", "dgx-h100", "dgx-a100"}) {
    const int size = make_cluster(builtin_catalog(), node, 1).accelerators(), nodes = 2;
    const auto reached = [&](int ranks) {
      return busbw(node, (ranks + size - 1) / size, ranks, Collective::all_reduce, 1_GiB);
    };
    for (int ranks = 3; ranks < nodes * size; ++ranks) {
      const double least = std::min(reached(ranks - 1), reached(ranks + 1));
      const double most = std::max(reached(ranks - 1), reached(ranks + 1));
      EXPECT_GT(reached(ranks), 0.75 * least) << node << " " << ranks;
      EXPECT_LT(reached(ranks), 1.35 * most) << node << " " << ranks;
    }
  }
}

// Tokens that visit M nodes and E ranks in each: rows of their own, which take both counts.
TEST(Estimate, NodeLimitedExchangesApplyToTheirTokens) {
  const Cluster cluster = make_cluster(builtin_catalog(), "dgx-h100", 8);
  const GroupPlace place = place_group(cluster, 64, 1);
  const auto time = [&](CollectiveOptions options) {
    return estimate(Collective::all_to_all, 64_MiB, place, platform_of(cluster), options).time;
  };
  const auto limited = [&](int nodes, int ranks) {
    return time({.algorithm = "node_limited_dispatch", .protocol = "", .token_nodes = nodes, .token_ranks = ranks});
  };
  EXPECT_LT(limited(1, 2), limited(4, 2));
  EXPECT_LT(limited(4, 2), limited(8, 2));
  // Four of eight nodes take half of the network's bytes of eight.
  EXPECT_NEAR(limited(8, 1) / limited(4, 1), 2, 0.3);
  try {
    time({.algorithm = "node_limited_dispatch", .protocol = ""});
    ADD_FAILURE() << "without its counts";
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("token_nodes"), std::string::npos) << e.what();
  }
}

// https://github.com/NVIDIA/nccl/issues/1455: one H100 node, rings 365-370 GB/s at any number of GPUs, NVLS 480 at 8.
TEST(Estimate, NvlsOnOneH100NodeAsPublished) {
  EXPECT_NEAR(busbw("dgx-h100", 1, 8, Collective::all_reduce, 4_GiB), 480, 0.08 * 480);
  for (const int ranks : {4, 8}) {
    EXPECT_NEAR(busbw("dgx-h100", 1, ranks, Collective::all_reduce, 4_GiB, {.algorithm = "ring", .protocol = ""}), 367,
                0.12 * 367);
  }
}

// NCCL cuts messages into chunks of at most 128 KiB for the switch, and takes these only from 64 rounds on: one H100
// node reaches 445 GB/s at 512 MiB (aiconfigurator, NCCL 2.29.2), 466 at 1 GiB and 480 from 8 GiB (NVIDIA DGX Cloud).
// Eight B300 get there later, at 1.6 GB: 701 GB/s at 512 MiB, and 845 with NVLS against 695 by rings at 8 GiB.
TEST(Estimate, ReductionInTheSwitchGrowsWithTheMessage) {
  const CollectiveOptions off{.algorithm = "", .protocol = "", .nvls = false};
  const auto nvls = [](std::string_view node, Bytes bytes) {
    return busbw(node, 1, 8, Collective::all_reduce, bytes, {.algorithm = "nvls", .protocol = ""});
  };
  EXPECT_NEAR(nvls("dgx-h100", 512_MiB), 445, 0.05 * 445);
  EXPECT_NEAR(nvls("dgx-h100", 8_GiB), 480, 0.04 * 480);
  EXPECT_NEAR(nvls("dgx-b300", 512_MiB), 701, 0.07 * 701);
  EXPECT_NEAR(busbw("dgx-b300", 1, 8, Collective::all_reduce, 8_GiB), 845, 0.07 * 845);
  EXPECT_NEAR(busbw("dgx-b300", 1, 8, Collective::all_reduce, 8_GiB, off), 695, 0.12 * 695);
}

Cluster roce(int nodes, std::string_view routing, std::string_view topology = "rail-optimised") {
  return complete({.node = {.name = "dgx-h100", .fabric = "roce"},
                   .nodes = nodes,
                   .network = {.topology = std::string(topology), .routing = std::string(routing)}},
                  builtin_catalog());
}

// Hashing against adaptive routing above the leaf: 1.24 and 1.27 (DeepSeek-V3, ISCA 2025, figure 8, TP 4 and 8), up to
// 1.4 (Meta, SIGCOMM 2024, section 5), 1.6 (NVIDIA, Spectrum-X: 60 against 95 % of line rate).
TEST(Estimate, HashCollisionsReachEveryHopOfACollective) {
  for (const std::string_view topology : {"rail-optimised", "fat-tree"})
    for (const Collective c : {Collective::all_reduce, Collective::all_gather, Collective::all_to_all}) {
      const auto seconds = [&](std::string_view routing) {
        const Cluster cluster = roce(128, routing, topology);
        return estimate(c, 4_GiB, place_group(cluster, 1024, 1), platform_of(cluster)).time.value();
      };
      EXPECT_GT(seconds("ecmp") / seconds("adaptive"), c == Collective::all_to_all ? 1.1 : 1.2)
          << topology << " " << name(c);
      EXPECT_LT(seconds("ecmp") / seconds("adaptive"), 1.7) << topology << " " << name(c);
    }
  for (const std::string_view routing : {"ecmp", "adaptive"}) {
    const Cluster one_leaf = roce(16, routing);
    EXPECT_EQ(estimate(Collective::all_reduce, 1_GiB, place_group(one_leaf, 16, 8), platform_of(one_leaf)).time,
              estimate(Collective::all_reduce, 1_GiB, place_group(roce(16, "ecmp"), 16, 8), platform_of(one_leaf)).time)
        << "no uplinks, no collisions";
  }
}

// NCCL issues 1127, 1309 and 1530: GeForce cards have no peer access; eight RTX 4090 reach at most 10 GB/s.
TEST(Estimate, DevicesWithoutPeerAccessStageThroughTheHost) {
  double last = 1e300;
  for (const int ranks : {2, 4, 8}) {
    const double reached = busbw("pcie-rtx-4090", 1, ranks, Collective::all_reduce, 1_GiB);
    EXPECT_LE(reached, last * (1 + 1e-9)) << ranks << ": more ranks never gain bandwidth";
    EXPECT_GT(reached, 4) << ranks;
    last = reached;
  }
  EXPECT_LE(last, 10);
  const Cluster box = make_cluster(builtin_catalog(), "pcie-rtx-4090", 1);
  EXPECT_EQ(place_group(box, 4, 1).levels[0].link, "pcie-gen4 through the host");
  EXPECT_NEAR(place_group(box, 4, 1).levels[0].bandwidth /
                  place_group(make_cluster(builtin_catalog(), "pcie-l40s", 1), 4, 1).levels[0].bandwidth,
              0.5, 1e-9);
}

// Whole rings of a torus are used in all dimensions at once: 3 x 2 links of 100 GB/s on a cube, less than that where
// one edge is longer, and one ring where ranks lie along one.
TEST(Estimate, ATorusUsesAllItsDimensions) {
  const auto gather = [](int ranks) {
    const Cluster pod = complete({.of = "tpu-v7x-pod", .accelerators = ranks}, builtin_catalog());
    return estimate(Collective::all_gather, 1_GiB, place_group(pod, ranks, 1), platform_of(pod));
  };
  EXPECT_EQ(gather(64).algorithm, "torus_rotated");
  EXPECT_LT(gather(64).time, 0.4 * gather(4).time);
  EXPECT_LT(gather(256).time, 1.5 * gather(64).time);
  EXPECT_EQ(gather(4).algorithm, "ring");
}

// Same cables, same NICs: sockets cost a copy and a core.
TEST(Estimate, KernelTcpIsSlowerThanRdma) {
  const auto seconds = [](const char* fabric, Bytes bytes) {
    const Cluster c = complete({.node = {.name = "dgx-h100", .fabric = fabric}, .nodes = 8}, builtin_catalog());
    return estimate(Collective::all_reduce, bytes, place_group(c, 64, 1), platform_of(c)).time.value();
  };
  for (const Bytes bytes : {64_KiB, 16_MiB, 1_GiB}) EXPECT_GT(seconds("tcp", bytes), 1.3 * seconds("roce", bytes));
  EXPECT_GT(seconds("tcp", 1_GiB), 5 * seconds("roce", 1_GiB)) << "42 Gb/s a rank of 400";
}

TEST(Estimate, ASlotIsNamedWhereItLimits) {
  const Cluster c = complete({.node = {.name = "dgx-h100", .nic_bandwidth = 100_GBps}, .nodes = 16}, builtin_catalog());
  const CollectiveEstimate e = estimate(Collective::all_to_all, 1_GiB, place_group(c, 128, 1), platform_of(c));
  EXPECT_THAT(e.limiting_link, testing::StartsWith("pcie-gen5 x16 (infiniband"));
}

// https://github.com/NVIDIA/nccl/issues/1221: two H100 nodes 330 GB/s without NVLS and 430 with it; four: 320 either
// way.
TEST(Estimate, NvlsTreeHelpsTwoNodesAsPublished) {
  const CollectiveOptions off{.algorithm = "", .protocol = "", .nvls = false};
  const double with = busbw("dgx-h100", 2, 16, Collective::all_reduce, 8_GiB);
  const double without = busbw("dgx-h100", 2, 16, Collective::all_reduce, 8_GiB, off);
  EXPECT_NEAR(with, 430, 0.2 * 430);
  EXPECT_GT(with, 1.1 * without);
}

// nccl-tests #130 (S. Jeaugey): all-to-all bus bandwidth is N/(N-1) of the NIC's: 97 GB/s on two NDR nodes, 49 on many.
TEST(Estimate, AllToAllFollowsTheNodesLaw) {
  const double two = busbw("dgx-h100", 2, 16, Collective::all_to_all, 8_GiB);
  const double many = busbw("dgx-h100", 16, 128, Collective::all_to_all, 8_GiB);
  EXPECT_NEAR(two, 97, 0.2 * 97);
  EXPECT_NEAR(two / many, 2 * 15.0 / 16, 0.5);
}

TEST(Estimate, RefusesNamesAndPlacesWithANearSpelling) {
  const Cluster cluster = make_cluster(builtin_catalog(), "dgx-h100", 1);
  const GroupPlace place = place_group(cluster, 8, 1);
  const Platform platform = platform_of(cluster);
  const auto forced = [&](std::string algorithm, std::string protocol, Collective c) {
    return estimate(c, 1_MiB, place, platform, {.algorithm = std::move(algorithm), .protocol = std::move(protocol)});
  };
  EXPECT_EQ(forced("NVLS", "", Collective::all_reduce).algorithm, "nvls");
  EXPECT_EQ(forced("auto", "ll128", Collective::all_reduce).protocol, "LL128");
  EXPECT_THROW(forced("rnig", "", Collective::all_reduce), Error);
  EXPECT_THROW(forced("", "LL129", Collective::all_reduce), Error);
  EXPECT_THROW(forced("nvls_tree", "", Collective::all_reduce), Error);
  EXPECT_THROW(forced("tree", "", Collective::all_gather), Error);
  EXPECT_FALSE(applies(Collective::all_gather, place, platform, {.algorithm = "tree", .protocol = ""}));
}

TEST(Platform, EveryNodeHasMediaAndKinAreMarked) {
  for (const Node& node : builtin_catalog().nodes) {
    const Platform p = platform_of(make_cluster(builtin_catalog(), node.name, 2));
    EXPECT_GT(p.scale_up.rate(Protocol::simple).efficiency, 0) << node.name;
    EXPECT_GT(p.scale_out.rate(Protocol::simple).efficiency, 0) << node.name;
  }
  const Cluster other =
      with(make_cluster(builtin_catalog(), "dgx-h100", 2), [](ClusterSpec& spec) { spec.node.fabric = "omni-path"; });
  EXPECT_EQ(platform_of(other).scale_out.evidence, Evidence::extrapolated);
  // Without a table of its own, a network's rate in a step is told by runs.
  EXPECT_EQ(platform_of(other).scale_out.name, "omni-path");
  EXPECT_TRUE(other.fabric.told_by_runs);
  EXPECT_EQ(platform_of(make_cluster(builtin_catalog(), "dgx-h100", 2)).scale_out.evidence, Evidence::calibrated);
}

}  // namespace
}  // namespace meshwright::collectives
