#include "meshwright/topology/picture.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "topology/clusters.hpp"

namespace meshwright::topology {
namespace {

using namespace testing_clusters;

TEST(Picture, FitsItsWidthAndNamesEveryTier) {
  Cluster rails = dgx_h100(300), planes = dgx_h100(64), dragonfly = dgx_h100(128);
  planes.network.topology = "dual-plane", planes.network.planes = 2;
  dragonfly.network.topology = "dragonfly+", dragonfly.network.tiers = 3, dragonfly.network.reach = {64, 256};
  for (const Cluster& c : {dgx_h100(1), rails, planes, dragonfly, nvl72(36), pcie_box(4), tpu_v4(64)}) {
    const Fabric f = build_fabric(c);
    const std::string text = picture(f);
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 96U) << line;
    for (const auto& [kind, word] :
         {std::pair{NodeKind::leaf, "[leaf 0]"}, {NodeKind::spine, "[spine 0]"}, {NodeKind::core, "[core 0]"}}) {
      const bool there = std::find(f.kinds.begin(), f.kinds.end(), kind) != f.kinds.end();
      EXPECT_EQ(text.find(word) != std::string::npos, there) << word << "\n" << text;
    }
  }
}

TEST(Picture, OfOneNode) {
  const std::string text = picture(build_fabric(dgx_h100(1)));
  EXPECT_NE(text.find("[gpu 7]"), std::string::npos);
  EXPECT_NE(text.find("[nvswitch 3]"), std::string::npos);
  EXPECT_NE(text.find("450 GB/s each"), std::string::npos);
}

}  // namespace
}  // namespace meshwright::topology
