#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>

#include "core/refusal.hpp"
#include "meshwright/core/names.hpp"
#include "meshwright/hardware/catalog.hpp"

namespace meshwright::hardware {
namespace {

using namespace literals;

/// What a record says of its cluster; zero or "" = nothing.
Cluster from_parts(const Catalog& catalog, std::string accelerator, int accelerators, int size, int domain, int nics,
                   BytesPerSecond nic_bandwidth, std::string_view fabric) {
  ClusterSpec spec{.accelerators = accelerators, .where = "run"};
  spec.node = {.accelerator = std::move(accelerator), .where = "run"};
  if (size > 0) spec.node.accelerators = size;
  if (domain > 0) spec.node.scale_up_domain = domain;
  if (nics > 0) spec.node.nics = nics;
  if (nic_bandwidth.value() > 0) spec.node.nic_bandwidth = nic_bandwidth;
  if (const FabricKind* kind = catalog.fabric_in(fabric)) spec.node.fabric = kind->name;
  return complete(spec, catalog);
}

int whole(const Reader& r, std::string_view key) { return r.has(key) ? r.at(key).integer() : 0; }

TEST(ClusterOfARecord, TakesEveryPublishedRecord) {
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
      if (find_named(catalog.accelerators, r->at("accelerator").string()) == nullptr) continue;
      const Cluster c = from_parts(catalog, r->at("accelerator").string(), count, whole(*r, "node_size"), domain,
                                   whole(*r, "nics_per_node"), nic, r->string_or("fabric", ""));
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
  return meshwright::refusal(
      [&] { complete(read_cluster_spec(Reader::text(json, "cluster.json")), builtin_catalog()); });
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
  const auto read = [&](std::string_view json) {
    return complete(read_cluster_spec(Reader::text(json, "cluster.json")), catalog);
  };
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
      {R"({"node": "dgx-h100", "nodes": 1, "accelerators": 16})", "has 8 accelerators"},
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

TEST(ClusterOfARecord, FillsTheUsualNetworkAndSaysSo) {
  const Catalog& catalog = builtin_catalog();
  const Cluster c = from_parts(catalog, "H100-SXM5-80GB", 64, 8, 8, 0, {}, "");
  EXPECT_EQ(c.node.nics, 8);
  EXPECT_EQ(c.node.nic_bandwidth, 400_Gbps);
  EXPECT_EQ(c.node.fabric, "infiniband");
  EXPECT_THAT(c.assumptions, testing::Contains(testing::HasSubstr("NICs: 8 a node")));
  EXPECT_THAT(c.assumptions, testing::Contains(testing::HasSubstr("fabric: infiniband")));
  const Cluster half = from_parts(catalog, "A100-SXM4-80GB", 8, 4, 4, 0, {}, "");
  EXPECT_EQ(half.node.nics, 4) << "as many an accelerator as the usual node has";
  EXPECT_EQ(half.node.scale_up_domain, 4);
}

TEST(ClusterOfARecord, CountsThePartsThatRanksSee) {
  const Catalog& catalog = builtin_catalog();
  const Cluster dies = from_parts(catalog, "MI250X", 64, 8, 8, 0, {}, "Slingshot 11");
  EXPECT_EQ(dies.accelerator.name, "MI250X-GCD");
  EXPECT_EQ(dies.accelerator.peak(DType::bf16) * 2, catalog.accelerator("MI250X").peak(DType::bf16));
  EXPECT_EQ(dies.node.fabric, "slingshot");
  EXPECT_EQ(dies.node.nics, 4);
  EXPECT_EQ(from_parts(catalog, "MI250X", 32, 4, 4, 0, {}, "").accelerator.name, "MI250X");
}

TEST(ClusterOfARecord, KnowsHowPeopleSpellFabrics) {
  const char* rows[][2] = {{"IB NDR", "infiniband"}, {"RoCEv2", "roce"},           {"EFA v2", "efa"},
                           {"OPA", "omni-path"},     {"GPUDirect-TCPXO", "tcpxo"}, {"InfiniBand", "infiniband"}};
  for (const auto& row : rows)
    EXPECT_EQ(from_parts(builtin_catalog(), "H100", 16, 8, 8, 8, 50_GBps, row[0]).node.fabric, row[1]);
}

TEST(ClusterOfARecord, TrustsWhatIsStated) {
  const Catalog& catalog = builtin_catalog();
  const Cluster c = from_parts(catalog, "H100-SXM5-80GB", 128, 8, 8, 32, 12.5_GBps, "efa");
  EXPECT_EQ(c.node.nics, 32);
  EXPECT_EQ(c.nic.name, "efa-v2");
  EXPECT_EQ(c.network.routing, "spray");
  const Cluster rack = from_parts(catalog, "GB200", 144, 4, 72, 4, 50_GBps, "infiniband");
  EXPECT_EQ(rack.nodes, 36);
  EXPECT_EQ(rack.node.scale_up_domain, 72);
  const Cluster slices = from_parts(catalog, "TPU-v5e", 1024, 4, 256, 0, {}, "");
  EXPECT_EQ(slices.node.scale_up_domain, 256);
  EXPECT_EQ(slices.node.nics, 0);
  EXPECT_GT(slices.network.dcn_bandwidth, 0);
  EXPECT_THROW(from_parts(catalog, "H100", 12, 8, 8, 0, {}, ""), Error);
  EXPECT_THROW(from_parts(catalog, "nothing", 8, 8, 8, 0, {}, ""), Error);
}

TEST(Complete, HostProcessorsAreRowsWhateverTheirSpelling) {
  const auto host = [](const std::string& cpu) {
    const std::string json = R"({"node": {"name": "dgx-h100", "cpu": ")" + cpu + R"("}, "nodes": 2})";
    return complete(read_cluster_spec(Reader::text(json, "cluster.json")), builtin_catalog()).host;
  };
  EXPECT_EQ(host("AMD").socket_link.value(), 16e9);
  EXPECT_EQ(host("epyc").nccl_vendor, "amd");
  EXPECT_EQ(host("epyc").time, host("amd").time);
  EXPECT_TRUE(host("power").nccl_vendor.empty());
  EXPECT_FALSE(host("power").x86);
  EXPECT_EQ(make_cluster(builtin_catalog(), "gb200-nvl72", 18).host.name, "arm");
  try {
    host("intell");
    FAIL() << "expected a refusal";
  } catch (const UnknownName& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("/node/cpu"), std::string::npos) << text;
    EXPECT_NE(text.find("intel'"), std::string::npos) << text;
  }
}

TEST(Complete, OneClusterHoweverItIsSpelled) {
  const Catalog& catalog = builtin_catalog();
  const auto of = [&](std::string_view json) {
    return complete(read_cluster_spec(Reader::text(json, "cluster.json")), catalog);
  };
  const Cluster by_name = make_cluster(catalog, "gb200-nvl72", 18);
  for (const Cluster& c :
       {of(R"({"node": "gb200-nvl72", "nodes": 18})"), of(R"({"node": {"name": "GB200_NVL72"}, "accelerators": 72})"),
        of(R"({"of": "gb200-nvl72", "nodes": 18})"), make_cluster(catalog, "gb200-nvl72", 0, 72),
        complete(narrowed(read_cluster_spec(Reader::text(R"({"node": "gb200-nvl72"})", "job.json")), 18, 0, "job.json"),
                 catalog),
        with(make_cluster(catalog, "gb200-nvl72"), [](ClusterSpec& spec) { spec.nodes = 18; })}) {
    EXPECT_EQ(c.nodes, 18);
    EXPECT_EQ(c.node.scale_up_domain, 72) << "known only once the number of nodes is";
    EXPECT_EQ(c.accelerators(), by_name.accelerators());
    EXPECT_EQ(c.platform.name, by_name.platform.name);
    EXPECT_EQ(c.fabric_switch.name, by_name.fabric_switch.name);
  }
}

TEST(Complete, TheSizeOfANodeDecidesWhichNodeItIs) {
  const Catalog& catalog = builtin_catalog();
  const Cluster four = from_parts(catalog, "GH200", 4, 4, 4, 0, {}, "");
  EXPECT_EQ(four.node.scale_up, catalog.node("alps-node").scale_up);
  EXPECT_EQ(four.node.scale_up_bandwidth, catalog.node("alps-node").scale_up_bandwidth);
  EXPECT_EQ(four.node.scale_up_domain, 4);
  const Cluster one = from_parts(catalog, "GH200", 4, 1, 0, 0, {}, "");
  EXPECT_EQ(one.nodes, 4);
  EXPECT_EQ(one.node.scale_up_domain, 1);
  const Cluster three = from_parts(catalog, "GH200", 3, 3, 3, 0, {}, "");
  EXPECT_EQ(three.node.scale_up_domain, 3);
  EXPECT_GT(three.node.scale_up_bandwidth.value(), 0) << "a stated domain is joined by something";
}

TEST(Complete, ADomainIsWholeNodesOrANodeWholeDomains) {
  const Catalog& catalog = builtin_catalog();
  for (const int domain : {2, 4, 8, 16, 72})
    EXPECT_EQ(from_parts(catalog, "H200", 576, 8, domain, 0, {}, "").node.scale_up_domain, domain);
  for (const int domain : {3, 6, 12}) {
    const std::string said = meshwright::refusal([&] { from_parts(catalog, "H200", 576, 8, domain, 0, {}, ""); });
    EXPECT_THAT(said, testing::HasSubstr("run/scale_up_domain")) << domain;
  }
}

TEST(Complete, WhatFollowsFromAChangeIsComputedAnew) {
  const Cluster c = make_cluster(builtin_catalog(), "dgx-h100", 16);
  const Cluster fast = with(c, [](ClusterSpec& spec) { spec.node.nic_bandwidth = 100_GBps; });
  EXPECT_EQ(fast.node.nic_bandwidth, 100_GBps);
  EXPECT_NE(fast.fabric_switch.name, c.fabric_switch.name);
  EXPECT_EQ(fast.nic.name, "") << "no longer that card";
  const Cluster roce = with(c, [](ClusterSpec& spec) { spec.node.fabric = "rocev2"; });
  EXPECT_EQ(roce.platform.scale_out.name, "roce");
  EXPECT_EQ(roce.network.routing, "ecmp");
  EXPECT_EQ(roce.node.fabric, "roce");
  const Cluster pcie = with(c, [](ClusterSpec& spec) { spec.node.scale_up = ScaleUpKind::pcie; });
  EXPECT_LT(pcie.node.scale_up_bandwidth, 100_GBps);
  EXPECT_FALSE(pcie.node.scale_up_reduces);
  EXPECT_EQ(pcie.platform.scale_up.name, pcie.platform.host.name);
}

TEST(Complete, HalfANodeHasHalfTheNicsAndItsOwnDomain) {
  const Cluster c = complete({.node = {.name = "dgx-h100", .accelerators = 4}, .nodes = 8}, builtin_catalog());
  EXPECT_EQ(c.node.nics, 4);
  EXPECT_EQ(c.node.scale_up_domain, 4);
  EXPECT_EQ(c.accelerators(), 32);
}

TEST(ClusterSpecs, ReadWhatTheyWrite) {
  const char* rows[] = {
      R"({"of":"meta-24k-roce","nodes":512})",
      R"({"name":"mine","node":{"accelerator":"H100","accelerators":4,"scale_up":"full_mesh","nics":2,"nic_bandwidth":"25000000000 B/s","fabric":"roce"},"nodes":4,"network":{"topology":"fat-tree","tiers":2,"oversubscription":[2.0],"efficiency":0.9}})"};
  for (const char* row : rows) {
    const ClusterSpec spec = read_cluster_spec(Reader::text(row, "cluster.json"));
    EXPECT_EQ(to_json(spec), row);
    EXPECT_TRUE(spec == read_cluster_spec(Reader::text(to_json(spec), "again.json")));
    EXPECT_EQ(complete(spec, builtin_catalog()).accelerators(), complete(spec, builtin_catalog()).accelerators());
  }
  EXPECT_FALSE(read_cluster_spec(Reader::text(rows[0], "a")) == read_cluster_spec(Reader::text(rows[1], "b")));
}

TEST(Fabrics, AreFactsOfTheCatalogue) {
  const Catalog& catalog = builtin_catalog();
  const char* rows[][2] = {{"IB NDR", "infiniband"}, {"RoCEv2 8x400G", "roce"},    {"EFA v2 3200Gbps", "efa"},
                           {"OPA", "omni-path"},     {"GPUDirect-TCPXO", "tcpxo"}, {"GPUDirect-TCPX 4x200G", "tcpx"},
                           {"10GbE", "ethernet"},    {"200G RDMA", "infiniband"},  {"Slingshot 11", "slingshot"},
                           {"IB/RoCE", "roce"},      {"100GbE RDMA", "roce"}};
  for (const auto& row : rows) {
    ASSERT_NE(catalog.fabric_in(row[0]), nullptr) << row[0];
    EXPECT_EQ(catalog.fabric_in(row[0])->name, row[1]) << row[0];
  }
  EXPECT_EQ(catalog.fabric_in("pigeons"), nullptr);
  EXPECT_EQ(catalog.fabric_in(""), nullptr);
  for (const FabricKind& kind : catalog.fabrics) {
    EXPECT_FALSE(kind.sources.empty()) << kind.name;
    EXPECT_GT(kind.hop.value(), 0) << kind.name;
  }
}

Cluster with_nics_of(const char* node, double gigabits) {
  ClusterSpec spec{.of = node};
  spec.node.nic_bandwidth = BytesPerSecond::base(gigabits / 8 * 1e9);
  spec.nodes = 2;
  return complete(spec, builtin_catalog());
}

// Figures measured at several rates: at those rates as they were measured, between them in between, without a jump.
TEST(Media, FiguresBetweenGenerationsOfCardsAreInBetween) {
  const auto step = [](const char* node, double gigabits) {
    return with_nics_of(node, gigabits).platform.scale_out.rate(Protocol::simple).step;
  };
  const auto of = [](const char* medium) {
    return std::ranges::find(builtin_catalog().media, medium, &Medium::name)->rate(Protocol::simple).step;
  };
  // Eight cards of 100 Gb/s are the most that the first generation has; the second was measured with cards of 100 Gb/s.
  EXPECT_EQ(step("aws-trn1.32xlarge", 100), of("efa-v1"));
  EXPECT_EQ(step("aws-p5.48xlarge", 100), of("efa-v2"));
  EXPECT_EQ(step("aws-p5.48xlarge", 200), of("efa-v4"));
  for (const char* node : {"aws-trn1.32xlarge", "aws-p5.48xlarge"}) {
    for (double rate = 50; rate < 500; rate *= 1.01)
      EXPECT_NEAR(step(node, rate * 1.01) / step(node, rate), 1, 0.05) << node << " " << rate;
  }
}

// Ports on the die have no slot, whatever rate is said of them.
TEST(Complete, PortsOnTheDieAreNoCards) {
  EXPECT_EQ(with_nics_of("gaudi2-hls", 100.1).nic.name, "gaudi2-port");
  EXPECT_EQ(with_nics_of("dgx-h100", 400.4).nic.name, "");
}

TEST(Media, EveryLinkOfANodeHasOne) {
  const Cluster own = make_cluster(builtin_catalog(), "dgx-h100");
  EXPECT_EQ(own.platform.scale_up.name, "nvlink4");
  EXPECT_EQ(own.platform.scale_up.evidence, Evidence::calibrated);
  const Cluster announced = make_cluster(builtin_catalog(), "vr200-nvl72", 18);
  EXPECT_EQ(announced.platform.scale_up.name, "nvlink5");
  EXPECT_EQ(announced.platform.scale_up.evidence, Evidence::extrapolated);
}

}  // namespace
}  // namespace meshwright::hardware
