#include "meshwright/calibrate/nccl_tests.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "meshwright/core/error.hpp"

namespace meshwright::calibrate {
namespace {

constexpr std::string_view whole = R"(# Collective test starting: all_reduce_perf
# nThread 1 nGpus 8 minBytes 8388608 maxBytes 16777216 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1
#
# Using devices
#  Rank  0 Group  0 Pid  71 on  node-a device  0 [0x19] NVIDIA H100 80GB HBM3
#  Rank  1 Group  0 Pid  71 on  node-a device  1 [0x3b] NVIDIA H100 80GB HBM3
#  Rank  2 Group  0 Pid  72 on  node-b device  0 [0x19] NVIDIA H100 80GB HBM3
#  Rank  3 Group  0 Pid  72 on  node-b device  1 [0x3b] NVIDIA H100 80GB HBM3
node-a:71:90 [0] NCCL INFO NET/Socket : Using [0]eth0:10.0.0.1<0>
NCCL version 2.19.3+cuda12.3
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
     8388608       2097152     float     sum      -1    78.92  106.29  159.44      0    79.21  105.90  158.85      0
    16777216       4194304     float     sum      -1    121.9   137.6   206.4      0    122.3   137.2   205.8      0
# Out of bounds values : 0 OK
)";

TEST(NcclTestsLog, ReadsRowsRanksHostsAndRemarks) {
  const NcclTestsLog log = read_nccl_tests_log(whole, "run.log");
  EXPECT_EQ(log.collective, Collective::all_reduce);
  EXPECT_EQ(log.ranks, 4);
  EXPECT_EQ(log.nodes, 2);
  EXPECT_EQ(log.accelerator, "NVIDIA H100 80GB HBM3");
  EXPECT_EQ(log.version, "2.19.3+cuda12.3");
  ASSERT_EQ(log.rows.size(), 2u);
  EXPECT_EQ(log.rows[1].bytes.value(), 16777216);
  EXPECT_NEAR(log.rows[1].time.value() * 1e6, 121.9, 1e-9);
  ASSERT_EQ(log.remarks.size(), 1u);
  const auto cluster = cluster_of_log(log, builtin_catalog());
  ASSERT_TRUE(cluster.has_value());
  EXPECT_EQ(cluster->nodes, 2);
  EXPECT_EQ(table_of_log(log, *cluster).ranks, 4);
}

// What people paste: rows alone, old columns without redop and root, a launcher's prefix, times of whole microseconds.
TEST(NcclTestsLog, ReadsShortenedLogs) {
  const NcclTestsLog plain = read_nccl_tests_log(
      "  1073741824  268435456  float  sum  11421.3  94.01  176.27  2e-07  11400.1  94.2  176.6  2e-07\n", "x");
  EXPECT_EQ(plain.collective, Collective::all_reduce);
  EXPECT_EQ(plain.ranks, 16);
  EXPECT_NEAR(plain.rows[0].time.value() * 1e6, 11421.3, 1e-6);
  const NcclTestsLog gather = read_nccl_tests_log(
      "[1,0]<stdout>:   8589934592     134217728     float    none      -1    42713  201.11  188.54      0    42800  "
      "200.7  188.2    0\n",
      "all_gather_perf.txt");
  EXPECT_EQ(gather.collective, Collective::all_gather);
  EXPECT_EQ(gather.ranks, 16);
  EXPECT_NEAR(gather.rows[0].time.value() * 1e6, 42713, 1e-6);
  const NcclTestsLog whole_times =
      read_nccl_tests_log("8589934592 2147483648 float sum -1 23563 364.55 683.52 0 23600 363.9 682.4 0\n", "x");
  EXPECT_NEAR(whole_times.rows[0].time.value() * 1e6, 23563, 1e-6);
}

TEST(NcclTestsLog, RefusesTextWithoutRows) {
  EXPECT_THROW(read_nccl_tests_log("", "empty.log"), Error);
  EXPECT_THROW(read_nccl_tests_log("Segmentation fault\n", "crash.log"), Error);
  const NcclTestsLog log = read_nccl_tests_log(whole, "run.log");
  EXPECT_THROW(table_of_log(log, make_cluster(builtin_catalog(), "dgx-h100", 1), {}, 64), Error);
}

}  // namespace
}  // namespace meshwright::calibrate
