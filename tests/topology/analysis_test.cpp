#include "meshwright/topology/analysis.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "meshwright/topology/bill.hpp"
#include "meshwright/topology/import.hpp"
#include "meshwright/topology/place.hpp"
#include "topology/clusters.hpp"

namespace meshwright::topology {
namespace {

using namespace testing_clusters;

Cluster with(Cluster c, const char* topology, int planes = 1) {
  c.network.topology = topology, c.network.planes = planes, c.name = topology;
  return c;
}

std::vector<Cluster> small() {
  std::vector<Cluster> all = {dgx_h100(4),
                              dgx_h100(64),
                              nvl72(36),
                              with(dgx_h100(128), "fat-tree"),
                              with(dgx_h100(32), "multi-plane", 8),
                              with(dgx_h100(32), "dual-plane", 2)};
  Cluster over = dgx_h100(96);
  over.network.oversubscription = {3};
  all.push_back(over);
  Cluster deep = with(dgx_h100(64), "fat-tree");
  deep.network.tiers = 3, deep.network.reach = {16, 256}, deep.network.oversubscription = {1, 7};
  all.push_back(deep);
  return all;
}

TEST(Bisection, MaxFlowEqualsClosedForm) {
  for (const Cluster& c : small()) {
    const Fabric f = build_fabric(c);
    const double flow = bisection_max_flow(f).value(), closed = bisection_closed_form(f).value();
    EXPECT_NEAR(flow / closed, 1, 1e-6) << c.name << " " << c.nodes;
  }
}

TEST(Bisection, FullTreesAreFullAndOversubscribedOnesAreNot) {
  EXPECT_NEAR(bisection(build_fabric(dgx_h100(64))).of_injection, 1, 1e-9);
  Cluster over = dgx_h100(128);  // four leaf sets of 32 nodes
  over.network.oversubscription = {3};
  EXPECT_NEAR(bisection(build_fabric(over)).of_injection, 1.0 / 3, 0.02);
}

// 32 nodes of four 200 Gb/s NICs fit one switch, but uplinks that are said to be short are there and are crossed.
TEST(Bisection, StatedOversubscriptionNeedsNoStatedTiers) {
  const Catalog& catalog = builtin_catalog();
  const auto make = [&](std::string_view network) {
    const std::string text =
        R"({"node": {"accelerator": "H100", "accelerators": 4, "nics": 4, "nic_bandwidth": "200 Gb/s",
            "fabric": "roce"}, "nodes": 32, "network": )" +
        std::string(network) + "}";
    return complete(read_cluster_spec(Reader::text(text, "cluster.json")), catalog);
  };
  for (const char* said : {R"({"oversubscription": [4]})", R"({"oversubscription": 4})",
                           R"({"oversubscription": "4:1"})", R"({"oversubscription": [4], "topology": "fat-tree"})"}) {
    const Cluster c = make(said);
    const TierPlan plan = plan_tiers(c);
    ASSERT_EQ(plan.tiers.size(), 2U) << said;
    EXPECT_NE(plan.reason.find("oversubscribed"), std::string::npos) << plan.reason;
    EXPECT_DOUBLE_EQ(plan.tiers[1].oversubscription, 4) << said;
    EXPECT_NEAR(bisection(build_fabric(c)).of_injection, 0.25, 1e-9) << said;
    EXPECT_EQ(place_group(c, 128, 1).levels.size(), 3U) << said;
    const Cluster part = complete(narrowed(c.spec, 8, 0, "part"), catalog);
    EXPECT_EQ(place_group(part, 32, 1).levels.size(), 2U) << "eight nodes of it still share a leaf";
  }
  EXPECT_NEAR(bisection(build_fabric(make("{}"))).of_injection, 1, 1e-9);
}

// Google Cloud TPU v4 documentation: 4,096 chips, bisection 24 TB/s (https://docs.cloud.google.com/tpu/docs/v4).
// Two cuts of 256 links of 50 GB/s each way = 25.6 TB/s one way.
TEST(Bisection, TpuV4Pod) {
  const Bisection b = bisection(build_fabric(tpu_v4(1024)));
  EXPECT_NEAR(b.bandwidth.value() / 24e12, 1, 0.07);
}

TEST(Bisection, TorusMaxFlowEqualsClosedForm) {
  for (const std::vector<int>& edge : {std::vector<int>{4, 4, 4}, {4, 4, 8}, {8, 8}, {4, 6}}) {
    const Fabric f = build_torus(edge, 50_GBps);
    EXPECT_NEAR(bisection_max_flow(f).value() / bisection_closed_form(f).value(), 1, 1e-6);
  }
}

TEST(Diameter, CountsLinks) {
  EXPECT_EQ(diameter(build_fabric(dgx_h100(1))), 2);  // GPU, NVSwitch, GPU
  EXPECT_EQ(diameter(build_fabric(with(dgx_h100(8), "single-switch"))), 4);
  EXPECT_EQ(diameter(build_torus({4, 4, 4}, 50_GBps)), 6);
  EXPECT_EQ(diameter(build_torus({4, 4, 4}, 50_GBps, false)), 9);
  EXPECT_LT(diameter(build_torus({4, 4, 8}, 50_GBps, true, true)), diameter(build_torus({4, 4, 8}, 50_GBps)));
}

const FaultCost& cost_of(const std::vector<FaultCost>& costs, FaultKind kind) {
  const auto at = std::find_if(costs.begin(), costs.end(), [&](const FaultCost& c) { return c.fault == kind; });
  EXPECT_NE(at, costs.end());
  return *at;
}

TEST(Faults, OneOfManyUplinksCostsLittleAndANicCostsHalf) {
  const std::vector<FaultCost> costs = fault_costs(build_fabric(dgx_h100(96)));
  EXPECT_NEAR(cost_of(costs, FaultKind::leaf_uplink).half_shift, 32.0 / 31, 0.02);
  // The dead NIC's accelerator shares the other seven of its node, which the uplinks (at 97 %) hid a little of.
  EXPECT_NEAR(cost_of(costs, FaultKind::nic).half_shift, 8.0 / 7 * 0.97, 0.01);
  EXPECT_EQ(cost_of(costs, FaultKind::nic).cut_off, 0);
  EXPECT_EQ(cost_of(costs, FaultKind::leaf).cut_off, 0);  // eight rails: seven are left
}

// Dual ToR (Alibaba HPN 7.0, SIGCOMM 2024, section 4): a dead ToR or port halves bandwidth of its NICs, and cuts nobody
// off.
TEST(Faults, DualPlaneSurvivesALeaf) {
  const std::vector<FaultCost> costs = fault_costs(build_fabric(with(dgx_h100(96), "dual-plane", 2)));
  EXPECT_NEAR(cost_of(costs, FaultKind::leaf).half_shift, 2, 0.05);
  EXPECT_EQ(cost_of(costs, FaultKind::leaf).cut_off, 0);
  EXPECT_NEAR(cost_of(costs, FaultKind::plane).half_shift, 2, 0.05);
}

TEST(Faults, ASingleLeafCutsOffAFatTreesHosts) {
  const std::vector<FaultCost> costs = fault_costs(build_fabric(with(dgx_h100(64), "fat-tree")));
  EXPECT_EQ(cost_of(costs, FaultKind::leaf).cut_off, 4 * 8);  // 32 down ports, eight NICs a host
  EXPECT_TRUE(std::isinf(cost_of(costs, FaultKind::leaf).half_shift));
}

// DeepSeek-V3 ISCA 2025 (arXiv 2505.09343), table 3: FT2 2,048 endpoints, 96 switches, 2,048 links; MPFT 16,384, 768,
// 16,384 links between switches.
TEST(Bill, SwitchesAndLinksOfPublishedFabrics) {
  const Cluster two = dgx_h100(256);
  EXPECT_EQ(bill_of_materials(build_fabric(two), two).switches, 96);
  const Cluster planes = with(dgx_h100(2048), "multi-plane", 8);
  const Fabric f = build_fabric(planes);
  const Bill bill = bill_of_materials(f, planes);
  EXPECT_EQ(bill.switches, 768);
  EXPECT_EQ(static_cast<long long>(f.clos.leaves) * f.clos.fabrics * f.clos.leaf_up, 16384);
  double sum = 0;
  for (const BillItem& item : bill.items) sum += item.total().value();
  EXPECT_DOUBLE_EQ(sum, bill.total.value());
}

/// What the network costs, without the NICs that the nodes bring.
Dollars network_cost(const Cluster& c) {
  Dollars sum{};
  for (const BillItem& item : bill_of_materials(build_fabric(c), c).items)
    if (item.kind != BillItem::Kind::nics) sum += item.total();
  return sum;
}

TEST(Bill, NicsCostTheFirstOfTheirPricesThatIsAnAmount) {
  Cluster c = dgx_h100(2);
  Price rent, list;
  rent.rate = DollarsPerSecond::base(1), rent.kind = "rent";
  list.amount = Dollars::base(1500), list.kind = "list", list.date = "2025", list.confidence = "low";
  c.nic.prices = {rent, list};
  const std::vector<BillItem> items = bill_of_materials(build_fabric(c), c).items;
  EXPECT_DOUBLE_EQ(items.back().each.value(), 1500);
  EXPECT_EQ(items.back().note, "list 2025, low confidence");
}

TEST(ClusterFindings, NodesWithoutNicsHaveWhatTheyAreTimedWith) {
  const auto found = [](double dcn) {
    Cluster c = dgx_h100(2);
    c.node.nics = 0, c.network.dcn_bandwidth = dcn;
    for (const Finding& f : check_cluster(c))
      if (f.kind == "no-nic") return f.text;
    return std::string();
  };
  EXPECT_EQ(found(0), "no NICs for training: scale-out is taken as 100 Gb/s of host Ethernet");
  EXPECT_EQ(found(25e9), "no NICs for training: scale-out is taken as 200 Gb/s of the data-centre network");
}

// Two planes split the ports that one fabric has: as many switch ports in all, each of half the rate; not a second
// network of older switches.
TEST(Bill, PlanesSplitPortsAndDoNotDoubleThem) {
  const Catalog& catalog = builtin_catalog();
  for (const char* node : {"dgx-h100", "grand-teton", "dgx-a100"})
    for (const char* topology : {"rail-optimised", "fat-tree"})
      for (const int nodes : {64, 256}) {
        const auto make = [&](int planes) {
          return complete({.of = node, .nodes = nodes, .network = {.topology = topology, .planes = planes}}, catalog);
        };
        const Cluster one = make(1), two = make(2);
        EXPECT_EQ(two.fabric_switch.name, one.fabric_switch.name) << node;
        EXPECT_NEAR(two.fabric_switch.port_bandwidth / one.fabric_switch.port_bandwidth, 0.5, 1e-9) << node;
        const Bill a = bill_of_materials(build_fabric(one), one), b = bill_of_materials(build_fabric(two), two);
        EXPECT_LE(b.switches, a.switches + 2) << node << " " << topology << " " << nodes;
        EXPECT_LT(network_cost(two) / network_cost(one), 1.25) << node << " " << topology << " " << nodes;
        EXPECT_NEAR(bisection(build_fabric(two)).bandwidth / bisection(build_fabric(one)).bandwidth, 1, 0.02) << node;
        for (const int size : {8, nodes}) {
          const GroupPlace p = place_group(one, size, 8), q = place_group(two, size, 8);
          EXPECT_EQ(p.levels[0].bandwidth, q.levels[0].bandwidth) << node;
        }
      }
}

// Quantum-X800 with optics beside the chip: fibres end in the switch.
TEST(Bill, PhotonicSwitchesHaveNoTransceiversOfTheirOwn) {
  const Catalog& catalog = builtin_catalog();
  const auto ports = [&](const char* sw) {
    const Cluster c = complete({.of = "dgx-b300", .nodes = 128, .network = {.switch_name = sw}}, catalog);
    std::map<std::string, long long> count;
    for (const BillItem& item : bill_of_materials(build_fabric(c), c).items) count[item.what] += item.count;
    return count;
  };
  auto plugged = ports("quantum-x800"), photonic = ports("quantum-x800-photonics");
  EXPECT_GT(plugged["transceiver ports, switch side"], 0);
  EXPECT_EQ(photonic["transceiver ports, switch side"], 0);
  EXPECT_EQ(photonic["transceivers, NIC side"], plugged["transceivers, NIC side"]);
  EXPECT_EQ(photonic["fibre cables"], plugged["fibre cables"]);
}

TEST(Bill, TpuPodHas48OpticalSwitches) {
  const Cluster c = tpu_v4(1024);
  EXPECT_EQ(bill_of_materials(build_fabric(c), c).switches, 48);
}

}  // namespace
}  // namespace meshwright::topology
