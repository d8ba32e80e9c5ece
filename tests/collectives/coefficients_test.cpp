#include "meshwright/collectives/coefficients.hpp"

#include <gtest/gtest.h>

#include "meshwright/collectives/algorithm.hpp"

namespace meshwright::collectives {
namespace {

Coefficients of(Collective collective, std::string_view row, const Shape& shape, std::size_t level = 0) {
  return coefficients(algorithm(collective, row, "test"), shape)[level];
}

// Thakur, Rabenseifner, Gropp, Optimization of collective communication operations in MPICH, IJHPCA 19(1), 2005,
// section 4: worked for 8 and 6 ranks.
TEST(Coefficients, AreThoseOfTheLiterature) {
  using enum Collective;
  EXPECT_EQ(of(all_reduce, "ring", flat_shape(8)), (Coefficients{14, 14, {14, 8}, {7, 8}}));
  EXPECT_EQ(of(all_reduce, "recursive_doubling", flat_shape(8)), (Coefficients{3, 3, 3, 3}));
  EXPECT_EQ(of(all_reduce, "rabenseifner", flat_shape(8)), (Coefficients{6, 6, {14, 8}, {7, 8}}));
  EXPECT_EQ(of(all_reduce, "rabenseifner", flat_shape(6)), (Coefficients{6, 6, {7, 2}, {7, 4}}));
  EXPECT_EQ(of(all_gather, "bruck", flat_shape(6)), (Coefficients{3, 3, {5, 6}, 0}));
  EXPECT_EQ(of(broadcast, "binomial", flat_shape(8)), (Coefficients{3, 3, 3, 0}));
  EXPECT_EQ(of(broadcast, "scatter_ring", flat_shape(8)), (Coefficients{10, 10, {14, 8}, 0}));
  EXPECT_EQ(of(all_to_all, "bruck", flat_shape(8)), (Coefficients{3, 3, {3, 2}, 0}));
  EXPECT_EQ(of(all_to_all, "pairwise", flat_shape(8)), (Coefficients{7, 7, {7, 8}, 0}));
}

// NVLS: n (1 + 1/p) through a port when cut finely, 2 n at once.
TEST(Coefficients, NvlsTendsToOnePlusOneOverP) {
  EXPECT_EQ(of(Collective::all_reduce, "nvls", flat_shape(8)).wire, Ratio(2));
  EXPECT_NEAR(of(Collective::all_reduce, "nvls", flat_shape(8, 1000)).wire.value(), 1 + 1.0 / 8, 1e-3);
}

// The double binary tree tends to the bound 2 n of trees, at logarithmic latency.
TEST(Coefficients, DoubleTreesTendToFullBandwidth) {
  const Coefficients tree = of(Collective::all_reduce, "double_tree", flat_shape(128, 1000));
  EXPECT_EQ(tree.rounds, 2 * (7 + 1000 - 1));
  EXPECT_NEAR(tree.wire.value(), 2, 0.02);
  EXPECT_EQ(of(Collective::all_reduce, "double_tree", flat_shape(128)).rounds, 14);
}

TEST(Coefficients, RailsCarryTheirShareOfTwoLevels) {
  const Shape nodes{.extent = {8, 16, 1}};
  EXPECT_EQ(of(Collective::all_reduce, "two_level", nodes, 0).wire, Ratio(14, 8));
  EXPECT_EQ(of(Collective::all_reduce, "two_level", nodes, 1).wire, Ratio(30, 16 * 8));
  EXPECT_EQ(of(Collective::all_reduce, "collnet_direct", nodes, 1), (Coefficients{1, 1, {1, 8}, 0}));
}

// DeepSeek-V3: 8 of 256 experts, at most 4 nodes a token (arXiv 2412.19437, sec. 3.2.2): the network carries each
// token to 4 nodes at most instead of 8 experts.
TEST(Coefficients, NodeLimitedDispatchSavesTheNetwork) {
  Shape nodes{.extent = {8, 8, 1}};
  nodes.token_nodes = 4;
  nodes.token_ranks = 2;
  EXPECT_EQ(of(Collective::all_to_all, "node_limited_dispatch", nodes, 1).wire, Ratio(4 * 7, 8));
  EXPECT_EQ(of(Collective::all_to_all, "node_limited_dispatch", nodes, 0).wire, Ratio(8 * 7, 8));
}

}  // namespace
}  // namespace meshwright::collectives
