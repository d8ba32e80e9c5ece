#include "meshwright/collectives/evaluate.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "meshwright/collectives/estimate.hpp"
#include "meshwright/core/error.hpp"
#include "meshwright/hardware/catalog.hpp"
#include "topology/clusters.hpp"

namespace meshwright::collectives {
namespace {

using namespace testing_clusters;

const CollectiveEvaluation* find(const std::vector<CollectiveEvaluation>& all, std::string_view name) {
  for (const CollectiveEvaluation& e : all) {
    if (e.algorithm == name) return &e;
  }
  return nullptr;
}

TEST(CostModel, NamesAreReadBack) {
  for (const CostModel m : {CostModel::calibrated, CostModel::alpha_beta, CostModel::loggp, CostModel::flow})
    EXPECT_EQ(parse_cost_model(name(m), ""), m);
  EXPECT_EQ(parse_cost_model("alpha_beta", ""), CostModel::alpha_beta);
  EXPECT_THROW(parse_cost_model("alpa-beta", "--cost-model"), Error);
}

TEST(Evaluate, LargeRingsAgreeUnderTheThreeModels) {
  const Cluster cluster = dgx_h100(1);
  const Bytes n = 1_GiB;
  const double beta = evaluate(CostModel::alpha_beta, Collective::all_reduce, n, cluster, 8, 1, "ring")[0].time.value();
  const double loggp = evaluate(CostModel::loggp, Collective::all_reduce, n, cluster, 8, 1, "ring")[0].time.value();
  const double flow = evaluate(CostModel::flow, Collective::all_reduce, n, cluster, 8, 1, "ring")[0].time.value();
  EXPECT_NEAR(loggp, beta, 0.01 * beta);
  EXPECT_NEAR(flow, beta, 0.01 * beta);
}

// One channel a rank: rings and trees over nodes use all NICs, in the model of levels and on the graph.
TEST(Evaluate, RingsAndTreesOverNodesUseAllNics) {
  const Bytes n = 1_GiB;
  const Cluster cluster = dgx_h100(4);
  for (const std::string_view row : {"ring", "tree"}) {
    const double beta = evaluate(CostModel::alpha_beta, Collective::all_reduce, n, cluster, 32, 1, row)[0].time.value();
    const double flow = evaluate(CostModel::flow, Collective::all_reduce, n, cluster, 32, 1, row)[0].time.value();
    EXPECT_NEAR(flow, beta, 0.2 * beta) << row;
  }
}

TEST(Evaluate, SwitchesCombineWhereTheyAre) {
  const auto inside = evaluate(CostModel::alpha_beta, Collective::all_reduce, 1_MiB, dgx_h100(1), 8);
  EXPECT_EQ(find(inside, "sharp"), nullptr);  // of the network, not of NVLink
}

// 256 ranks are 130,560 messages of a ring; 4,096 would be 33 million, which nobody waits for.
TEST(Evaluate, LogGPSweepsWhatItCanAndLeavesOutTheRest) {
  const auto ring = [](int nodes) {
    return evaluate(CostModel::loggp, Collective::all_reduce, 1_GiB, dgx_h100(nodes), 8 * nodes, 1, "ring");
  };
  const double beta =
      evaluate(CostModel::alpha_beta, Collective::all_reduce, 1_GiB, dgx_h100(32), 256, 1, "ring")[0].time.value();
  ASSERT_EQ(ring(32).size(), 1u);
  EXPECT_GT(ring(32)[0].time.value(), beta);  // one NIC a node: a flat ring has no second channel
  EXPECT_TRUE(ring(512).empty());
}

TEST(Evaluate, CalibratedIsWhatEstimateSays) {
  const Cluster cluster = make_cluster(builtin_catalog(), "dgx-h100", 2);
  const auto all = evaluate(CostModel::calibrated, Collective::all_reduce, 1_GiB, cluster, 16);
  ASSERT_GT(all.size(), 2u);
  const CollectiveEstimate best =
      estimate(Collective::all_reduce, 1_GiB, place_group(cluster, 16, 1), platform_of(cluster));
  EXPECT_EQ(all.front().time, best.time);
  EXPECT_EQ(all.front().algorithm, best.algorithm);
  EXPECT_EQ(all.front().protocol, best.protocol);
}

TEST(Evaluate, FastestFirstAndOnlyWhatApplies) {
  for (const CostModel model : {CostModel::alpha_beta, CostModel::loggp, CostModel::flow}) {
    const auto all = evaluate(model, Collective::all_reduce, 1_MiB, dgx_h100(2), 16);
    ASSERT_FALSE(all.empty());
    for (std::size_t i = 1; i < all.size(); ++i) EXPECT_LE(all[i - 1].time, all[i].time);
    EXPECT_EQ(find(all, "torus_bucket"), nullptr);
    EXPECT_NE(find(all, "two_level"), nullptr);
  }
  EXPECT_EQ(find(evaluate(CostModel::alpha_beta, Collective::all_reduce, 1_MiB, dgx_a100(1), 8), "nvls"), nullptr);
  EXPECT_NE(find(evaluate(CostModel::alpha_beta, Collective::all_reduce, 1_MiB, dgx_h100(1), 8), "nvls"), nullptr);
}

// In-switch reduction sends n once each way, a ring 2(p-1)/p of it: NVLS wins when bandwidth counts.
TEST(Evaluate, NvlsBeatsTheRingOnLargeMessages) {
  const auto all = evaluate(CostModel::alpha_beta, Collective::all_reduce, 1_GiB, dgx_h100(1), 8);
  EXPECT_LT(find(all, "nvls")->time, find(all, "ring")->time);
}

// Trees need 2 ceil(lg p) latencies, rings 2 (p - 1).
TEST(Evaluate, TreesBeatRingsOnSmallMessages) {
  const auto all = evaluate(CostModel::alpha_beta, Collective::all_reduce, Bytes::base(1024), dgx_h100(16), 128);
  EXPECT_LT(find(all, "tree")->time, find(all, "ring")->time);
}

// A two-level all-reduce sends n/m over each NIC; a flat recursive doubling the whole vector in every round.
TEST(Evaluate, HierarchyBeatsFlatDoublingAcrossNodes) {
  for (const CostModel model : {CostModel::alpha_beta, CostModel::flow}) {
    const auto all = evaluate(model, Collective::all_reduce, 1_GiB, dgx_h100(4), 32);
    EXPECT_LT(find(all, "two_level")->time, find(all, "recursive_doubling")->time);
  }
}

// Hashed flows collide on uplinks, whichever model prices them: sixteen a NIC on as many uplinks as NICs.
TEST(Evaluate, FlowsAreRoutedAsTheNetworkRoutes) {
  const auto exchange = [](const char* routing) {
    Cluster cluster = dgx_h100(16);
    cluster.network.topology = "fat-tree", cluster.network.routing = routing;
    const auto rows = evaluate(CostModel::flow, Collective::all_to_all, 1_GiB, cluster, 128, 1, "pairwise");
    return rows.empty() ? 0 : rows.front().time.value();
  };
  ASSERT_GT(exchange("adaptive"), 0);
  EXPECT_EQ(exchange("spray"), exchange("adaptive"));
  EXPECT_GT(exchange("ecmp"), 1.1 * exchange("adaptive"));
}

TEST(Evaluate, TorusRowsRunOnTori) {
  const auto all = evaluate(CostModel::alpha_beta, Collective::all_reduce, 1_GiB, tpu_v4(16), 64);
  EXPECT_NE(find(all, "torus_rotated"), nullptr);
  EXPECT_LT(find(all, "torus_rotated")->time, find(all, "ring")->time);
}

TEST(Evaluate, MoreSegmentsForLargerMessages) {
  LevelLinks links;
  links[0].cost = {.alpha = 5_us, .beta = SecondsPerByte::base(1 / 100e9)};
  const Algorithm& tree = algorithm(Collective::all_reduce, "double_tree", "");
  int before = 1;
  for (double n = 1e3; n < 1e11; n *= 10) {
    const int segments = best_segments(tree, flat_shape(64), Bytes::base(n), links);
    EXPECT_GE(segments, before);
    before = segments;
  }
  EXPECT_GE(before, 64);
}

TEST(Evaluate, UnknownAlgorithmsAreRefusedAndGroupsOfOneEmpty) {
  EXPECT_THROW(evaluate(CostModel::alpha_beta, Collective::all_reduce, 1_MiB, dgx_h100(1), 8, 1, "rign"), Error);
  EXPECT_TRUE(evaluate(CostModel::alpha_beta, Collective::all_reduce, 1_MiB, dgx_h100(1), 1).empty());
}

}  // namespace
}  // namespace meshwright::collectives
