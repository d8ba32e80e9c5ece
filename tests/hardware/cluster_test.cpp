#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <map>

#include "meshwright/hardware/catalog.hpp"

namespace meshwright::hardware {
namespace {

using namespace literals;

int whole(const Reader& r, std::string_view key) { return r.has(key) ? r.at(key).integer() : 0; }

TEST(ClusterFromParts, TakesEveryPublishedRecord) {
  const char* folder = std::getenv("MESHWRIGHT_RECORDS");
  if (folder == nullptr) GTEST_SKIP() << "MESHWRIGHT_RECORDS is not set: the sweep over published runs is left out";
  const Catalog& catalog = builtin_catalog();
  int records = 0;
  for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(folder) / "runs")) {
    for (const Reader& record : Reader::lines(entry.path())) {
      const auto r = record.find("cluster");
      if (!r || !r->has("count")) continue;
      const int count = whole(*r, "count"), domain = whole(*r, "scale_up_domain");
      const auto nic = BytesPerSecond::base(r->number_or("nic_gbps", 0) * 1.25e8);
      const Cluster c =
          cluster_from_parts(catalog, r->at("accelerator").string(), count, whole(*r, "node_size"), domain,
                             whole(*r, "nics_per_node"), nic, r->string_or("fabric", ""), r->where());
      ++records;
      EXPECT_EQ(c.accelerators(), count) << r->where();
      EXPECT_LE(c.node.scale_up_domain, count) << r->where();
      if (domain > 0 && domain <= count) {
        EXPECT_EQ(c.node.scale_up_domain, domain) << r->where();
      }
      if (c.node.scale_up_domain > 1) {
        EXPECT_GT(c.node.scale_up_bandwidth.value(), 0) << r->where();
      }
      if (c.node.scale_up_domain < count && c.node.fabric != "ici") {
        EXPECT_GT(c.node.nics, 0) << r->where();
        EXPECT_GT(c.node.nic_bandwidth.value(), 0) << r->where();
        EXPECT_FALSE(c.fabric_switch.name.empty()) << r->where();
      }
      if (c.node.scale_up_domain < count && c.node.fabric == "ici") {
        EXPECT_GT(c.network.dcn_bandwidth, 0) << r->where();
      }
    }
  }
  EXPECT_GT(records, 3000);
}

std::string refusal(std::string_view json) {
  try {
    read_cluster(builtin_catalog(), Reader::text(json, "cluster.json"));
    return "accepted";
  } catch (const Error& error) {
    return error.what();
  }
}

TEST(MakeCluster, FromANodeName) {
  const Cluster c = make_cluster(builtin_catalog(), "DGX-H100", 2048);
  EXPECT_EQ(c.accelerators(), 16384);
  EXPECT_EQ(c.accelerator.name, "H100-SXM5-80GB");
  EXPECT_EQ(c.nic.name, "connectx-7");
  EXPECT_EQ(c.fabric_switch.name, "quantum2");
  EXPECT_EQ(c.scale_up_link.name, "nvlink4");
  EXPECT_EQ(c.network.topology, "rail-optimised");
  EXPECT_THAT(c.assumptions, testing::Contains(testing::HasSubstr("rail-optimised")));
  EXPECT_EQ(make_cluster(builtin_catalog(), "dgx-h100").nodes, 1);
  EXPECT_EQ(make_cluster(builtin_catalog(), "dgx-h100", 0, 16384).nodes, 2048) << "nodes follow from accelerators";
}

TEST(MakeCluster, FromAnAcceleratorName) {
  const Cluster c = make_cluster(builtin_catalog(), "H100", 4);
  EXPECT_EQ(c.node.name, "dgx-h100");
  EXPECT_THAT(c.assumptions, testing::Contains(testing::HasSubstr("usual one of H100-SXM5-80GB")));
}

TEST(MakeCluster, APartOfOneNode) {
  const Cluster c = make_cluster(builtin_catalog(), "dgx-h100", 0, 4);
  EXPECT_EQ(c.nodes, 1);
  EXPECT_EQ(c.accelerators(), 4);
  EXPECT_EQ(c.node.scale_up_domain, 4);
  EXPECT_THROW(make_cluster(builtin_catalog(), "dgx-h100", 0, 12), Error);
  EXPECT_THROW(make_cluster(builtin_catalog(), "dgx-h100", 2, 24), Error);
}

TEST(MakeCluster, FromAReferenceCluster) {
  const Cluster meta = make_cluster(builtin_catalog(), "meta-24k-roce");
  EXPECT_EQ(meta.accelerators(), 24576);
  EXPECT_EQ(meta.network.oversubscription, (std::vector<double>{1, 7, 1}));
  EXPECT_EQ(meta.network.reach, (std::vector<int>{16, 3072}));
  EXPECT_TRUE(meta.assumptions.empty()) << "its network is published";
  EXPECT_EQ(make_cluster(builtin_catalog(), "meta-24k-roce", 0, 16384).nodes, 2048);
  EXPECT_THROW(make_cluster(builtin_catalog(), "meta-24k-roce", 0, 24584), Error);
  EXPECT_THROW(make_cluster(builtin_catalog(), "meta-24k-roce", 4000), Error);
}

TEST(MakeCluster, EveryReferenceClusterAndNodeIsWhole) {
  const Catalog& catalog = builtin_catalog();
  for (const ReferenceCluster& reference : catalog.clusters) {
    const Cluster c = make_cluster(catalog, reference.name);
    EXPECT_EQ(c.nodes, reference.nodes);
    EXPECT_FALSE(c.accelerator.name.empty());
    if (c.node.nics > 0) {
      EXPECT_FALSE(c.fabric_switch.name.empty()) << reference.name;
      EXPECT_GE(c.fabric_switch.radix, 18) << reference.name;
    }
  }
  for (const Node& node : catalog.nodes) EXPECT_EQ(make_cluster(catalog, node.name, 3).nodes, 3) << node.name;
}

TEST(MakeCluster, TorusSlicesAndRacks) {
  const Cluster slice = make_cluster(builtin_catalog(), "tpu-v4-pod", 0, 512);
  EXPECT_EQ(slice.node.scale_up_domain, 512);
  EXPECT_EQ(slice.node.scale_up, ScaleUpKind::torus_3d);
  EXPECT_EQ(slice.node.nics, 0);
  EXPECT_EQ(slice.fabric_switch.name, "palomar");
  const Cluster palm = make_cluster(builtin_catalog(), "tpu-v4-palm");
  EXPECT_EQ(palm.accelerators(), 6144);
  EXPECT_EQ(palm.node.scale_up_domain, 3072);
  EXPECT_GT(palm.network.dcn_bandwidth, 0);
  EXPECT_EQ(make_cluster(builtin_catalog(), "gb200-nvl72", 36).node.scale_up_domain, 72);
}

TEST(MakeCluster, UnknownNamesGetTheNearestSpelling) {
  try {
    make_cluster(builtin_catalog(), "dgx-h10");
    FAIL() << "expected an Error";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("did you mean 'dgx-h100'?"));
  }
}

TEST(ReadCluster, NodeByNameByChangeAndSpelledOut) {
  const Catalog& catalog = builtin_catalog();
  const auto read = [&](std::string_view json) { return read_cluster(catalog, Reader::text(json, "cluster.json")); };
  const Cluster named = read(R"({"node": "dgx-h100", "nodes": 16, "network": {"tiers": 2, "oversubscription": [2]}})");
  EXPECT_EQ(named.accelerators(), 128);
  EXPECT_EQ(named.network.oversubscription, (std::vector<double>{2}));
  EXPECT_EQ(named.network.topology, "rail-optimised");

  const Cluster changed = read(R"({"node": {"name": "dgx-h100", "nics": 4}, "accelerators": 64})");
  EXPECT_EQ(changed.node.nics, 4);
  EXPECT_EQ(changed.node.nic_bandwidth, 400_Gbps);
  EXPECT_EQ(changed.nodes, 8);

  const Cluster spelled = read(R"({"name": "mine", "node": {"accelerator": "H100", "nics": 2,
      "nic_bandwidth": "200 Gb/s", "fabric": "roce"}, "nodes": 4})");
  EXPECT_EQ(spelled.name, "mine");
  EXPECT_EQ(spelled.node.nics, 2);
  EXPECT_EQ(spelled.node.nic_bandwidth, 200_Gbps);
  EXPECT_EQ(spelled.node.accelerators, 8);
  EXPECT_THAT(spelled.assumptions, testing::Contains(testing::HasSubstr("accelerators")));
}

TEST(ReadCluster, RefusesBadInput) {
  const char* rows[][2] = {
      {R"({"nodes": 4})", "node"},
      {R"({"node": "dgx-h10"})", "dgx-h100"},
      {R"({"node": "dgx-h100", "nodes": -1})", "/nodes"},
      {R"({"node": "dgx-h100", "nodes": "4"})", "/nodes"},
      {R"({"node": "dgx-h100", "accelerators": 12})", "multiple of 8"},
      {R"({"node": "dgx-h100", "nodes": 1, "accelerators": 8})", "both"},
      {R"({"node": {"accelerator": "H100", "nick": 4}})", "nics"},
      {R"({"node": {"nics": 4}})", "accelerator"},
      {R"({"node": {"name": "dgx-h100", "nic": "connectx-70"}})", "connectx-7"},
      {R"({"node": "dgx-h100", "network": {"switch": "quantum22"}})", "quantum2"},
      {R"({"node": "dgx-h100", "network": {"dcn_bandwidth": 5}})", "dcn_bandwidth"},
      {R"({"node": "dgx-h100", "network": {"routing": "luck"}})", "routing"},
  };
  for (const auto& row : rows) {
    const std::string text = refusal(row[0]);
    EXPECT_THAT(text, testing::HasSubstr("cluster.json")) << row[0];
    EXPECT_THAT(text, testing::HasSubstr(row[1])) << row[0];
  }
}

TEST(ClusterFromParts, FillsTheUsualNetworkAndSaysSo) {
  const Catalog& catalog = builtin_catalog();
  const Cluster c = cluster_from_parts(catalog, "H100-SXM5-80GB", 64, 8, 8, 0, {}, "", "run");
  EXPECT_EQ(c.node.nics, 8);
  EXPECT_EQ(c.node.nic_bandwidth, 400_Gbps);
  EXPECT_EQ(c.node.fabric, "infiniband");
  EXPECT_THAT(c.assumptions, testing::Contains(testing::HasSubstr("NICs: 8 a node")));
  EXPECT_THAT(c.assumptions, testing::Contains(testing::HasSubstr("fabric: infiniband")));
  const Cluster half = cluster_from_parts(catalog, "A100-SXM4-80GB", 8, 4, 4, 0, {}, "", "run");
  EXPECT_EQ(half.node.nics, 4) << "as many an accelerator as the usual node has";
  EXPECT_EQ(half.node.scale_up_domain, 4);
}

TEST(ClusterFromParts, CountsThePartsThatRanksSee) {
  const Catalog& catalog = builtin_catalog();
  const Cluster dies = cluster_from_parts(catalog, "MI250X", 64, 8, 8, 0, {}, "Slingshot 11", "run");
  EXPECT_EQ(dies.accelerator.name, "MI250X-GCD");
  EXPECT_EQ(dies.accelerator.peak(DType::bf16) * 2, catalog.accelerator("MI250X").peak(DType::bf16));
  EXPECT_EQ(dies.node.fabric, "slingshot");
  EXPECT_EQ(dies.node.nics, 4);
  EXPECT_EQ(cluster_from_parts(catalog, "MI250X", 32, 4, 4, 0, {}, "", "run").accelerator.name, "MI250X");
}

TEST(ClusterFromParts, KnowsHowPeopleSpellFabrics) {
  const char* rows[][2] = {{"IB NDR", "infiniband"}, {"RoCEv2", "roce"},           {"EFA v2", "efa"},
                           {"OPA", "omni-path"},     {"GPUDirect-TCPXO", "tcpxo"}, {"InfiniBand", "infiniband"}};
  for (const auto& row : rows)
    EXPECT_EQ(cluster_from_parts(builtin_catalog(), "H100", 16, 8, 8, 8, 50_GBps, row[0], "run").node.fabric, row[1]);
}

TEST(ClusterFromParts, TrustsWhatIsStated) {
  const Catalog& catalog = builtin_catalog();
  const Cluster c = cluster_from_parts(catalog, "H100-SXM5-80GB", 128, 8, 8, 32, 12.5_GBps, "efa", "run");
  EXPECT_EQ(c.node.nics, 32);
  EXPECT_EQ(c.nic.name, "efa-v2");
  EXPECT_EQ(c.network.routing, "spray");
  const Cluster rack = cluster_from_parts(catalog, "GB200", 144, 4, 72, 4, 50_GBps, "infiniband", "run");
  EXPECT_EQ(rack.nodes, 36);
  EXPECT_EQ(rack.node.scale_up_domain, 72);
  const Cluster slices = cluster_from_parts(catalog, "TPU-v5e", 1024, 4, 256, 0, {}, "", "run");
  EXPECT_EQ(slices.node.scale_up_domain, 256);
  EXPECT_EQ(slices.node.nics, 0);
  EXPECT_GT(slices.network.dcn_bandwidth, 0);
  EXPECT_THROW(cluster_from_parts(catalog, "H100", 12, 8, 8, 0, {}, "", "run"), Error);
  EXPECT_THROW(cluster_from_parts(catalog, "H100", 0, 8, 8, 0, {}, "", "run"), Error);
  EXPECT_THROW(cluster_from_parts(catalog, "nothing", 8, 8, 8, 0, {}, "", "run"), Error);
}

}  // namespace
}  // namespace meshwright::hardware
