#include "meshwright/hardware/network.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/refusal.hpp"
#include "meshwright/core/error.hpp"

namespace meshwright::hardware {
namespace {

using namespace literals;

Cluster read(std::string_view json) {
  return complete(read_cluster_spec(Reader::text(json, "cluster.json")), builtin_catalog());
}
std::string refusal(std::string_view json) {
  return meshwright::refusal([&] { read(json); });
}

TEST(Planes, FollowFromTheTopologyAndSplitPortsOrNics) {
  const struct {
    const char* network;
    int planes, ports;
  } rows[] = {
      {R"({})", 1, 1},
      {R"({"planes": 2})", 2, 2},
      {R"({"topology": "fat-tree", "planes": 4})", 4, 4},
      {R"({"topology": "dual-plane"})", 2, 2},
      {R"({"topology": "multi-plane"})", 8, 1},
      {R"({"topology": "multi-plane", "planes": 4})", 4, 1},
      {R"({"topology": "rail-only"})", 8, 1},
  };
  for (const auto& row : rows) {
    const Cluster c = read(R"({"node": "dgx-h100", "nodes": 64, "network": )" + std::string(row.network) + "}");
    EXPECT_EQ(planes_of(c), row.planes) << row.network;
    EXPECT_EQ(ports_a_nic(c), row.ports) << row.network;
    EXPECT_EQ(c.fabric_switch.name, "quantum2") << row.network << ": the NICs stay what they are";
  }
}

TEST(Networks, ThatANodeCannotHaveAreRefused) {
  const char* rows[][2] = {
      {R"({"node": "dgx-h100", "nodes": 8, "network": {"topology": "torus-3d"}})", "expected one of single-switch"},
      {R"({"node": "pcie-l40s", "nodes": 8, "network": {"topology": "torus-2d"}})", "network/topology"},
      {R"({"node": "aws-trn1.32xlarge", "nodes": 8, "network": {"topology": "torus-2d"}})", "network/topology"},
      {R"({"node": "tpu-v4-host", "nodes": 16, "network": {"topology": "fat-tree"}})", "expected 'torus-3d'"},
      {R"({"node": "tpu-v5e-host", "nodes": 16, "network": {"topology": "torus-3d"}})", "expected 'torus-2d'"},
      {R"({"node": {"name": "dgx-h100", "fabric": "ici"}, "nodes": 8})", "wired as a torus"},
      {R"({"node": "tpu-v4-host", "nodes": 16, "network": {"planes": 2}})", "a torus has one"},
      {R"({"node": "tpu-v4-host", "nodes": 16, "network": {"oversubscription": 2}})", "no uplinks"},
      {R"({"node": "dgx-h100", "nodes": 8, "network": {"topology": "dual-plane", "planes": 1}})", "2 or more"},
      {R"({"node": "dgx-h100", "nodes": 8, "network": {"topology": "multi-plane", "planes": 16}})", "at most 8"},
      {R"({"node": "dgx-h100", "nodes": 8, "network": {"topology": "rail-only", "planes": 2}})", "expected 8"},
      {R"({"node": "dgx-h100", "nodes": 8, "network": {"topology": "single-switch", "oversubscription": 2}})",
       "uplinks"},
      {R"({"node": "dgx-h100", "nodes": 8, "network": {"tiers": 1, "oversubscription": [2]}})", "more 'tiers'"},
      {R"({"node": "dgx-h100", "nodes": 8, "network": {"tiers": 2, "oversubscription": [1, 7]}})",
       "oversubscription/1"},
      {R"({"node": "dgx-h100", "nodes": 8, "network": {"oversubscription": "4:2"}})", "\"4:1\""},
      {R"({"node": "dgx-h100", "nodes": 8, "network": {"oversubscription": ["four"]}})", "\"4:1\""},
      {R"({"node": "dgx-h100", "nodes": 8, "network": {"oversubscription": 0.5}})", "at least 1"},
  };
  for (const auto& row : rows) EXPECT_THAT(refusal(row[0]), testing::HasSubstr(row[1])) << row[0];
}

TEST(Networks, OversubscriptionIsARatioHoweverItIsSpelled) {
  for (const char* said : {"4", "\"4\"", "\"4:1\"", "[4]", "[\"4:1\"]"}) {
    const Cluster c =
        read(R"({"node": "dgx-h100", "nodes": 64, "network": {"oversubscription": )" + std::string(said) + "}}");
    EXPECT_EQ(c.network.oversubscription, std::vector<double>{4}) << said;
  }
}

// PCI-SIG: 2.5 GT/s x1 is 0.25 GB/s; x16 of generation 3 to 7 15.75, 31.5, 63, 121, 242 GB/s.
TEST(Pcie, BandwidthFollowsFromRateAndCoding) {
  const CatalogData& data = *builtin_catalog().data();
  const double rows[][3] = {{2.5, 1, 0.25},  {5, 1, 0.5},   {8, 16, 15.754}, {16, 16, 31.508},
                            {32, 4, 15.754}, {64, 16, 121}, {128, 16, 242}};
  for (const auto& [rate, lanes, gigabytes] : rows)
    EXPECT_NEAR(pcie_bandwidth(data, rate, static_cast<int>(lanes)).value() * 1e-9, gigabytes, 2e-3) << rate;
  EXPECT_EQ(pcie_bandwidth(data, 20, 16).value(), 0) << "no such generation";
}

TEST(Pcie, ASlotLimitsAFasterNic) {
  const Cluster fast = read(R"({"node": {"name": "dgx-h100", "nic_bandwidth": "800 Gb/s"}, "nodes": 16})");
  EXPECT_EQ(nic_rate(fast).limit, "pcie-gen5 x16");
  EXPECT_NEAR(nic_rate(fast).rate.value() * 1e-9, 63.0, 0.1);
  EXPECT_NEAR(rank_rate(fast).rate.value() * 1e-9, 63.0, 0.1);
  EXPECT_THAT(fast.assumptions, testing::Contains(testing::HasSubstr("pcie-gen5 x16 is the limit")));
  const Cluster faster = read(R"({"node": {"name": "dgx-h100", "nic_bandwidth": "1600 Gb/s"}, "nodes": 16})");
  EXPECT_EQ(rank_rate(faster).rate, rank_rate(fast).rate) << "the slot, however fast the NIC";
  const Cluster card = read(R"({"node": {"name": "dgx-h100", "nic": "connectx-8"}, "nodes": 16})");
  EXPECT_EQ(nic_rate(card).limit, "pcie-gen5 x16") << "the card could do generation 6";
  const Cluster old = read(R"({"node": {"name": "dgx-a100", "nic": "connectx-5"}, "nodes": 16})");
  EXPECT_EQ(nic_rate(old).limit, "");
  const Cluster wide = read(R"({"node": "dgx-b300", "nodes": 16})");
  EXPECT_EQ(nic_rate(wide).limit, "") << "800 Gb/s on generation 6";
  EXPECT_EQ(nic_rate(read(R"({"node": "gaudi3-hls", "nodes": 4})")).limit, "") << "its ports are on the chip";
}

TEST(Fabrics, SpraysWhereTheVendorDoesAndTcpPassesTheKernel) {
  const Cluster spectrum = read(R"({"node": {"name": "dgx-h100", "fabric": "Spectrum-X"}, "nodes": 64})");
  EXPECT_EQ(spectrum.network.routing, "spray");
  EXPECT_EQ(spectrum.fabric_switch.name, "spectrum4");
  EXPECT_EQ(spectrum.platform.scale_out.name, "roce");
  EXPECT_EQ(read(R"({"node": {"name": "dgx-h100", "fabric": "ultra-ethernet"}, "nodes": 64})").network.routing,
            "spray");
  EXPECT_EQ(read(R"({"node": {"name": "dgx-h100", "fabric": "roce"}, "nodes": 64})").network.routing, "ecmp");
  const Cluster tcp = read(R"({"node": {"name": "dgx-h100", "fabric": "tcp"}, "nodes": 64})");
  EXPECT_EQ(tcp.platform.scale_out.name, "sockets");
  EXPECT_NEAR(rank_rate(tcp).rate.value() * 8e-9, 42, 1e-9);
  EXPECT_THAT(rank_rate(tcp).limit, testing::HasSubstr("kernel"));
  EXPECT_EQ(builtin_catalog().fabric_in("Spectrum-X RoCE 400G")->name, "spectrum-x");
  EXPECT_EQ(builtin_catalog().fabric_in("100GbE RDMA")->name, "roce");
  EXPECT_EQ(builtin_catalog().fabric_in("100GbE")->name, "ethernet");
}

TEST(Switches, AFasterNicTakesSeveralPorts) {
  const Catalog& c = builtin_catalog();
  const Switch two = c.usual_switch(c.fabric("infiniband"), 200_GBps);
  EXPECT_EQ(two.name, "quantum-x800");
  EXPECT_EQ(two.radix, 72);
  EXPECT_EQ(two.port_bandwidth, 200_GBps);
}

TEST(Devices, WithoutPeerAccessAreMarked) {
  for (const Accelerator& a : builtin_catalog().accelerators) {
    const bool geforce = a.name.starts_with("RTX-") && !a.name.starts_with("RTX-PRO") && !a.name.starts_with("RTX-A");
    EXPECT_EQ(a.peer_to_peer, !geforce) << a.name;
  }
}

// Grace is on the board of its GPUs (NVLink-C2C); others have a slot.
TEST(HostLink, IsOnTheBoardOrASlot) {
  const auto rate = [](const char* cluster) { return host_line_rate(make_cluster(builtin_catalog(), cluster, 1)); };
  EXPECT_EQ(rate("gb200-nvl72").value(), 450e9);
  EXPECT_NEAR(rate("dgx-h100").value(), 63e9, 0.1e9);
  EXPECT_NEAR(rate("dgx-a100").value(), 31.5e9, 0.1e9);
}

TEST(InSwitch, RoundsGrowWithBytesAndNeverFasterThanTheyDo) {
  const double at_the_step = in_switch_rounds(64.0 * 128 * 131072, 128);  // 128 of 64 KiB, or 64 of 128
  EXPECT_GT(at_the_step, 64);
  EXPECT_LT(at_the_step, 128);
  EXPECT_NEAR(in_switch_rounds(512.0 * 128 * 131072, 128), 512, 1);
  EXPECT_NEAR(in_switch_rounds(32.0 * 128 * 65536, 128), 32, 0.5);
  double last = 0;
  for (double bytes = 1; bytes < 1e12; bytes *= 1.1) {
    const double rounds = in_switch_rounds(bytes, 192);
    EXPECT_GE(rounds, last);
    EXPECT_LE(rounds, bytes / (192 * 16384) * (1 + 1e-12));
    EXPECT_GE(rounds, bytes / (192 * 131072) * (1 - 1e-12));
    last = rounds;
  }
}

}  // namespace
}  // namespace meshwright::hardware
