#include "meshwright/calibrate/diagnose.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "meshwright/calibrate/nccl_tests.hpp"
#include "source_dir.hpp"

namespace meshwright::calibrate {
namespace {

using namespace literals;

Cluster machine(std::string_view node, int nodes) { return make_cluster(builtin_catalog(), node, nodes); }

bool names(const Diagnosis& d, std::string_view cause) {
  return std::ranges::any_of(d.findings, [&](const LikelyCause& f) { return f.cause == cause; });
}

/// All-reduce on `on`, measured as `as` would run it.
Observation observed(const Cluster& on, const Cluster& as, const CollectiveOptions& options = {}) {
  Observation o{.cluster = on, .rows = {}, .options = {}, .lines = {}};
  const GroupPlace place = place_group(as, as.accelerators(), 1);
  for (double bytes = 1 << 20; bytes < 2e10; bytes *= 4)
    o.rows.push_back({Bytes::base(bytes),
                      estimate(Collective::all_reduce, Bytes::base(bytes), place, platform_of(as), options).time,
                      {}});
  return o;
}

TEST(Diagnose, AHealthyRunIsHealthy) {
  const Cluster c = machine("dgx-h100", 4);
  const Diagnosis d = diagnose(observed(c, c));
  EXPECT_TRUE(d.healthy) << d.summary;
  EXPECT_NEAR(d.plateau, 1, 1e-9);
  EXPECT_EQ(d.shortfall_from.value(), 0);
}

/// The table that this program prints, as the text of a log.
std::string own_log(Collective collective, const CollectiveTable& table) {
  std::string text;
  const double factor = busbw_factor(collective, table.ranks).value();
  for (const MeasuredRow& row : table.rows) {
    const Seconds time = estimate(collective, row.bytes, table.place, table.platform, row.options).time;
    const double algbw = (row.bytes / time).value() * 1e-9;
    text += fmt::format("{:.0f} {:.0f} float sum -1 {:.2f} {:.2f} {:.2f} 0\n", row.bytes.value(), row.bytes.value() / 4,
                        time.value() * 1e6, algbw, algbw * factor);
  }
  return text;
}

/// A table of the whole cluster under `options` and NCCL's tuner, timed by what this program would print.
CollectiveTable own_table(const Cluster& cluster, Collective collective, const CollectiveOptions& options) {
  CollectiveTable table;
  table.collective = collective;
  table.ranks = cluster.accelerators();
  table.place = place_group(cluster, table.ranks, 1);
  table.platform = platform_of(cluster);
  table.options = options;
  if (!applies(collective, table.place, table.platform, options)) return table;
  for (double bytes = 1024; bytes < 2e10; bytes *= 8) table.rows.push_back({Bytes::base(bytes), {}, options});
  follow_tuner(table, cluster);
  const NcclTestsLog log = read_nccl_tests_log(own_log(collective, table), "own");
  for (std::size_t i = 0; i < log.rows.size(); ++i) table.rows[i].time = log.rows[i].time;
  return table;
}

void expect_as_predicted(const Cluster& cluster, const CollectiveTable& table) {
  const Diagnosis d = diagnose({.cluster = cluster,
                                .collective = table.collective,
                                .ranks = table.ranks,
                                .rows = table.rows,
                                .options = table.options,
                                .lines = {}});
  EXPECT_TRUE(d.healthy) << cluster.name << " x " << cluster.nodes << " " << name(table.collective) << d.summary;
  EXPECT_NEAR(d.plateau, 1, 0.01) << cluster.name << " x " << cluster.nodes << " " << name(table.collective);
}

// Law: what this program prints, read back as a measurement, is as predicted, whatever the machine, the collective, the
// policy and the options.
TEST(Diagnose, OurOwnTableIsAsPredicted) {
  const std::vector<CollectiveOptions> choices = {{}, {.algorithm = "ring", .protocol = ""}, {"", "", false}};
  for (const Node& node : builtin_catalog().nodes) {
    for (const int nodes : {1, 2, 8}) {
      Cluster cluster = machine(node.name, nodes);
      if (nodes == 8 && cluster.node.nics > 2) cluster = with(cluster, [](ClusterSpec& spec) { spec.node.nics = 2; });
      if (cluster.accelerators() < 2) continue;
      for (std::size_t c = 0; c < collective_count; ++c) {
        for (const CollectiveOptions& options : choices) {
          const CollectiveTable table = own_table(cluster, static_cast<Collective>(c), options);
          if (!table.rows.empty()) expect_as_predicted(cluster, table);
        }
      }
    }
  }
}

// 10.6 GB/s of bus bandwidth on two DGX H100: no single cause predicts it, but no RDMA path is that slow.
TEST(Diagnose, FarBelowEverythingIsNotTheFastPath) {
  Observation o;
  o.cluster = machine("dgx-h100", 2);
  o.rows = {{.bytes = 1_MiB, .time = 210_us}, {.bytes = 32_MiB, .time = 6100_us}, {.bytes = 1_GiB, .time = 190_ms}};
  ASSERT_FALSE(diagnose(o).findings.empty());
  EXPECT_EQ(diagnose(o).findings.at(0).cause, "tcp_sockets");
  o.cluster = machine("dgx-h100", 1);
  EXPECT_EQ(diagnose(o).findings.at(0).cause, "p2p_off");
}

TEST(Diagnose, NamesOneThingThatWasMadeWrong) {
  const Cluster healthy = machine("dgx-a100", 4);
  const auto changed = [&](void (*edit)(NodeSpec&)) {
    return with(healthy, [&](ClusterSpec& spec) { edit(spec.node); });
  };
  const Cluster one_nic = changed([](NodeSpec& node) { node.nics = 1; });
  const Cluster tcp = changed([](NodeSpec& node) { node.fabric = "tcp", node.nics = 1, node.nic_bandwidth = 3_GBps; });
  const Cluster core =
      changed([](NodeSpec& node) { node.fabric = "tcp", node.nics = 1, node.nic_bandwidth = 42_Gbps; });
  const Cluster half = changed([](NodeSpec& node) { node.nics = 4; });
  EXPECT_EQ(diagnose(observed(healthy, one_nic)).findings.at(0).cause, "one_nic");
  EXPECT_EQ(diagnose(observed(healthy, tcp)).findings.at(0).cause, "tcp_sockets");
  const LikelyCause fed = diagnose(observed(healthy, core)).findings.at(0);  // what a core moves, by the catalogue
  EXPECT_EQ(fed.cause, "tcp_sockets");
  EXPECT_NEAR(fed.misfit, 0, 1e-9);
  const Diagnosis halved = diagnose(observed(healthy, half));
  EXPECT_TRUE(names(halved, "half_of_nics")) << halved.summary;
  EXPECT_GT(halved.shortfall_from.value(), 0);
  const Cluster hopper = machine("dgx-h100", 1);
  const Diagnosis rings = diagnose(observed(hopper, hopper, {.algorithm = "ring", .protocol = "LL"}));
  EXPECT_FALSE(rings.healthy);
  for (const LikelyCause& f : rings.findings) EXPECT_FALSE(f.check.empty());
}

// https://github.com/NVIDIA/nccl-tests/issues/319: two nodes of eight GPUs and NICs, 44 GB/s: one NIC's worth of rings.
TEST(Diagnose, OneNicOfEight) {
  Observation o{.cluster = machine("dgx-h100", 2), .rows = {}, .options = {}, .lines = {}};
  o.cluster = hardware::with(o.cluster, [](ClusterSpec& spec) { spec.node.fabric = "roce"; });
  o.rows = {{Bytes::base(33554432), Seconds::base(1543.4e-6), {}},
            {Bytes::base(268435456), Seconds::base(11435e-6), {}},
            {Bytes::base(2147483648.0), Seconds::base(90808e-6), {}},
            {Bytes::base(17179869184.0), Seconds::base(727698e-6), {}}};
  const Diagnosis d = diagnose(o);
  EXPECT_TRUE(names(d, "one_nic")) << d.summary;
  EXPECT_LT(d.plateau, 0.15);
}

// https://github.com/ecmwf/WeatherGenerator/issues/1261: Slingshot without the libfabric plug-in.
TEST(Diagnose, MissingPlugin) {
  Observation o{.cluster = machine("dgx-a100", 2), .rows = {}, .options = {}, .lines = {"no GPUDirect RDMA, TCP"}};
  o.cluster = hardware::with(o.cluster, [](ClusterSpec& spec) { spec.node.fabric = "slingshot"; });
  EXPECT_EQ(diagnose(o).findings.at(0).cause, "missing_net_plugin");
}

// https://github.com/NVIDIA/nccl/issues/1464: ib_write_bw 3160 Gb/s in all, 155 GB/s bus bandwidth, inside a VM.
TEST(Diagnose, GpuToNicPathInAVirtualMachine) {
  const Observation o{.cluster = machine("dgx-h100", 2),
                      .rows = {},
                      .options = {},
                      .lines = {"VM (cloud-hypervisor), topology injected"},
                      .raw_rdma = 395_GBps,
                      .busbw = 154.9_GBps};
  EXPECT_EQ(diagnose(o).findings.at(0).cause, "gdr_path_in_vm");
}

// https://github.com/NVIDIA/nccl/issues/2409: 392 Gb/s a rail raw, 231 GB/s all-reduce: 10 us a step.
TEST(Diagnose, LatencyOfEachStep) {
  const Observation o{.cluster = machine("dgx-h100", 2),
                      .rows = {},
                      .options = {},
                      .lines = {},
                      .raw_rdma = 392_GBps,
                      .busbw = 231_GBps};
  EXPECT_EQ(diagnose(o).findings.at(0).cause, "per_step_latency");
}

// https://github.com/NVIDIA/nccl/issues/489, /1403, /1015, DeepLearningExamples/issues/383, open_clip/issues/466.
TEST(Diagnose, SignsInText) {
  const auto with = [](std::vector<std::string> lines) {
    return diagnose({.cluster = machine("dgx-a100", 2), .rows = {}, .options = {}, .lines = std::move(lines)});
  };
  const Diagnosis acs = with({"lspci: ACSCtl: SrcValid+", "NCCL shows PHB where nvidia-smi shows PIX"});
  EXPECT_TRUE(names(acs, "acs_on") && names(acs, "gdr_off"));
  EXPECT_TRUE(names(with({"mlx5_bond_0, 1 QP"}), "bonded_ports"));
  EXPECT_TRUE(names(with({"GPU Direct RDMA Disabled for GPU 18000 / HCA 0 (distance 5 > 4)"}), "gdr_off"));
  EXPECT_TRUE(names(with({"NCCL_P2P_LEVEL=LOC"}), "p2p_off"));
  Observation roce{.cluster = machine("dgx-h100", 2), .rows = {}, .options = {}, .lines = {}, .unstable = true};
  roce.cluster = hardware::with(roce.cluster, [](ClusterSpec& spec) { spec.node.fabric = "roce"; });
  EXPECT_TRUE(names(diagnose(roce), "ece"));
  Observation slow{.cluster = machine("dgx-1v", 2), .rows = {}, .options = {}, .lines = {}, .scaling = 0.33};
  EXPECT_TRUE(names(diagnose(slow), "slow_network"));
}

// Tables that were published as problems: over half of those with large rows must come out as unhealthy.
TEST(Diagnose, PublishedProblemsAreSeen) {
  const auto path = source_dir() / "data/measurements/collectives.jsonl.gz";
  int seen = 0, all = 0;
  for (const Reader& record : Reader::lines(path)) {
    const CollectiveTable table = read_collective_table(record, builtin_catalog());
    if (table.healthy || table.place.levels.size() < 2 || table.rows.empty()) continue;
    const auto cluster = cluster_of_record(record, builtin_catalog());
    if (!cluster) continue;
    ++all;
    const Diagnosis d = diagnose({.cluster = *cluster,
                                  .collective = table.collective,
                                  .ranks = table.ranks,
                                  .rows = table.rows,
                                  .options = table.options,
                                  .lines = {}});
    seen += d.healthy ? 0 : 1;
  }
  EXPECT_GT(all, 20);
  EXPECT_GE(seen, 0.8 * all);
}

}  // namespace
}  // namespace meshwright::calibrate
