#include "meshwright/calibrate/perftest.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "meshwright/calibrate/diagnose.hpp"
#include "meshwright/core/error.hpp"

namespace meshwright::calibrate {
namespace {

using namespace literals;

// The shape of perftest's print (github.com/linux-rdma/perftest, issues 225 and 273); figures of our own.
std::string log_of(const std::string& test, const std::string& unit, const std::string& rows) {
  return "                    " + test +
         "\n Dual-port       : OFF\t\tDevice         : mlx5_0\n Number of qps   : 1\t\tTransport type : IB\n"
         " Link type       : Ethernet\n"
         " local address: LID 0000 QPN 0x0108 PSN 0x63ad7d\n"
         " #bytes     #iterations    BW peak[" +
         unit + "]    BW average[" + unit + "]   MsgRate[Mpps]\n" + rows +
         "---------------------------------------------------------------------------------------\n";
}

TEST(Perftest, ReadsBothUnits) {
  const PerftestLog mib =
      read_perftest_log(log_of("RDMA_Write BW Test", "MB/sec",
                               " 65536      5000             11735.20            11728.47\t\t   0.187656\n"),
                        "write_bw.txt");
  EXPECT_EQ(mib.test, "RDMA_Write BW Test");
  EXPECT_EQ(mib.device, "mlx5_0");
  ASSERT_EQ(mib.rows.size(), 1u);
  EXPECT_EQ(mib.rows[0].bytes, 64_KiB);
  EXPECT_NEAR(mib.best().value(), 11728.47 * 1048576, 1);  // 12.3 GB/s of a 100 Gb/s port
  const std::string rows =
      " 2      5000    0.05   0.04   2.9\n 8388608    5000             0.00               392.11   \t 0.005843\n";
  const PerftestLog gbits = read_perftest_log(log_of("RDMA_Write BW Test", "Gb/sec", rows), "write_bw.txt");
  ASSERT_EQ(gbits.rows.size(), 2u);
  EXPECT_NEAR(gbits.best().value(), 392.11e9 / 8, 1);
  const PerftestLog both =
      read_perftest_log(log_of("RDMA_Write Bidirectional BW Test", "Gb/sec", rows), "write_bw.txt");
  EXPECT_NEAR(both.best().value(), 392.11e9 / 16, 1);
}

TEST(Perftest, RefusesWhatHasNoRow) {
  EXPECT_FALSE(is_perftest_log("# size count type redop root time algbw busbw"));
  const std::string empty = log_of("RDMA_Write BW Test", "MB/sec", "");
  EXPECT_TRUE(is_perftest_log(empty));
  EXPECT_THROW(read_perftest_log(empty, "write_bw.txt"), Error);
}

TEST(Perftest, ASoundLinkIsHealthyAndASlowOneIsNot) {
  Observation o{.cluster = make_cluster(builtin_catalog(), "dgx-h100", 2), .rows = {}, .options = {}, .lines = {}};
  o.raw_rdma = BytesPerSecond::base(392e9 / 8) * o.cluster.node.nics;
  EXPECT_TRUE(diagnose(o).healthy);
  EXPECT_THAT(diagnose(o).summary, ::testing::HasSubstr("98 % of the NICs' rate"));
  o.raw_rdma = o.raw_rdma * 0.25;
  ASSERT_FALSE(diagnose(o).findings.empty());
  EXPECT_EQ(diagnose(o).findings.front().cause, "slow_network");
}

TEST(Perftest, OneNodeTellsOnWhichSideOfTheNicTheFaultLies) {
  Observation o{.cluster = make_cluster(builtin_catalog(), "dgx-h100", 2), .rows = {}, .options = {}, .lines = {}};
  o.busbw = 90_GBps, o.one_node_busbw = 470_GBps;
  ASSERT_FALSE(diagnose(o).findings.empty());
  EXPECT_EQ(diagnose(o).findings.front().cause, "between_nodes");
  o.one_node_busbw = 40_GBps;
  EXPECT_EQ(diagnose(o).findings.front().cause, "inside_the_node");
}

}  // namespace
}  // namespace meshwright::calibrate
