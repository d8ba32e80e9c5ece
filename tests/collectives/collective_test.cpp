#include "meshwright/collectives/collective.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "meshwright/core/error.hpp"

namespace meshwright::collectives {
namespace {

TEST(Collective, EveryNameIsReadBack) {
  for (std::size_t i = 0; i < collective_count; ++i) {
    EXPECT_EQ(parse_collective(collective_names[i], "--collective"), static_cast<Collective>(i));
  }
}

TEST(Collective, SpellingsOfOtherToolsAreRead) {
  EXPECT_EQ(parse_collective("AllReduce", ""), Collective::all_reduce);
  EXPECT_EQ(parse_collective("alltoall", ""), Collective::all_to_all);
  EXPECT_EQ(parse_collective("reduce-scatter", ""), Collective::reduce_scatter);
  EXPECT_EQ(parse_collective("sendrecv", ""), Collective::send_recv);
  EXPECT_EQ(parse_collective("bcast", ""), Collective::broadcast);
}

TEST(Collective, AnUnknownNameIsRefusedWithTheNearest) {
  try {
    parse_collective("all_reduse", "--collective");
    FAIL() << "was taken";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("--collective"));
    EXPECT_THAT(error.what(), testing::HasSubstr("all_reduce"));
  }
}

// https://github.com/NVIDIA/nccl-tests/blob/master/doc/PERFORMANCE.md
TEST(Collective, BusBandwidthFactorsAreThoseOfNcclTests) {
  EXPECT_EQ(busbw_factor(Collective::all_reduce, 8), Ratio(14, 8));
  EXPECT_EQ(busbw_factor(Collective::all_gather, 8), Ratio(7, 8));
  EXPECT_EQ(busbw_factor(Collective::reduce_scatter, 8), Ratio(7, 8));
  EXPECT_EQ(busbw_factor(Collective::all_to_all, 8), Ratio(7, 8));
  for (const Collective c : {Collective::broadcast, Collective::reduce, Collective::send_recv})
    EXPECT_EQ(busbw_factor(c, 8), Ratio(1));
}

}  // namespace
}  // namespace meshwright::collectives
