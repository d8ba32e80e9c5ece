// Slices of a torus as a topology states them.
#include "meshwright/hardware/torus.hpp"
#include "core/refusal.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "meshwright/core/error.hpp"
#include "meshwright/hardware/network.hpp"

namespace meshwright::hardware {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(TorusSlice, IsReadInTheOrderOfItsEdges) {
  EXPECT_THAT(stated_slice("torus-3d 16x8x4").value().edge, ElementsAre(16, 8, 4));
  EXPECT_EQ(stated_slice("torus-3d 16x8x4").value().chips(), 512);
  EXPECT_FALSE(stated_slice("torus-3d 8x8x16").value().twisted);
  EXPECT_TRUE(stated_slice("torus-3d 8x8x16 twisted").value().twisted);
  EXPECT_THAT(stated_slice("torus-2d 8x16").value().edge, ElementsAre(8, 16));
  EXPECT_EQ(torus_kind("torus-3d 8x8x16 twisted"), "torus-3d");
  EXPECT_EQ(torus_kind("rail-optimised"), "rail-optimised");
}

TEST(TorusSlice, AnythingElseIsNone) {
  for (const char* text :
       {"torus-3d", "torus-3d 8x8", "torus-2d 8x8x8", "torus-3d 8x8x", "torus-3d 8x-8x8", "torus-3d 8x8x0",
        "torus-3d 8x8x99999999999", "torus-3d  8x8x8", "torus-3d 8x8x8 twist", "fat-tree 8x8x8", ""})
    EXPECT_FALSE(stated_slice(text).has_value()) << text;
}

std::string refusal(const std::string& topology) {
  const std::string text = R"({"node": "tpu-v5p", "accelerators": 1024, "network": {"topology": ")" + topology + "\"}}";
  return meshwright::refusal(
      [&] { complete(read_cluster_spec(Reader::text(text, "cluster.json")), builtin_catalog()); });
}

TEST(TorusSlice, HasTheClustersChips) {
  EXPECT_EQ(refusal("torus-3d 8x8x16"), "accepted");
  EXPECT_EQ(refusal("torus-3d 4x16x16"), "accepted");
  EXPECT_EQ(refusal("torus-3d 8x8x16 twisted"), "accepted");
  EXPECT_THAT(refusal("torus-3d 8x8x8"), HasSubstr("512 chips, expected one of 1024"));
  EXPECT_THAT(refusal("torus-3d 8x8"), HasSubstr("expected edges such as"));
  EXPECT_THAT(refusal("torus-3d 4x16x16 twisted"), HasSubstr("k x k x 2k"));
  EXPECT_THAT(refusal("torus-3e 8x8x16"), HasSubstr("torus-3d"));
}

TEST(ClosedEdges, AreThoseOfWholeCubesAndOfWholePods) {
  const auto closed = [](std::vector<int> edge, int pod_edge) { return closed_edges(edge, pod_edge); };
  EXPECT_THAT(closed({4, 4, 8}, 0), ElementsAre(true, true, true));
  EXPECT_THAT(closed({2, 2, 4}, 0), ElementsAre(false, false, false)) << "less than a cube";
  EXPECT_THAT(closed({4, 4, 5}, 0), ElementsAre(false, false, false));
  EXPECT_THAT(closed({16, 16}, 16), ElementsAre(true, true));
  EXPECT_THAT(closed({8, 16}, 16), ElementsAre(false, true));
  EXPECT_THAT(closed({8, 8}, 16), ElementsAre(false, false)) << "a slice of a pod of 16 x 16";
}

}  // namespace
}  // namespace meshwright::hardware
