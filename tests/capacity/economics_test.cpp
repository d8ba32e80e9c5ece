// Money, power and carbon of a run.
#include "meshwright/capacity/economics.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "meshwright/capacity/estimate.hpp"
#include "meshwright/core/error.hpp"

namespace meshwright::tests {
namespace {
using namespace everything;
using testing::HasSubstr;

Site site_of(const char* cluster, int nodes) {
  const Cluster c = make_cluster(builtin_catalog(), cluster, nodes);
  return make_site(builtin_catalog(), c, c.accelerators());
}

const Term& part(const Term& term, std::string_view name) {
  const Term* found = find(term, name);
  EXPECT_NE(found, nullptr) << name;
  static const Term none;
  return found == nullptr ? none : *found;
}

TEST(Economics, YearlyShareIsTheAnnuity) {
  EXPECT_DOUBLE_EQ(yearly_share(4, 0, 0), 0.25);
  EXPECT_DOUBLE_EQ(yearly_share(4, 0, 0.2), 0.2);
  // 10 % over 5 years: 0.26380 (tables of capital recovery factors).
  EXPECT_NEAR(yearly_share(5, 0.1, 0), 0.26380, 5e-6);
  // What is paid, less the resale, has the present value of the purchase.
  const double r = 0.1, n = 5, resale = 0.3, paid = yearly_share(n, r, resale);
  double present = 0;
  for (int k = 1; k <= n; ++k) present += paid * std::pow(1 + r, -k);
  EXPECT_NEAR(present + resale * std::pow(1 + r, -n), 1, 1e-12);
}

// An H100 node: 76 % of 10.2 kW in heavy training, at most 8.48 kW (arXiv 2506.14551, 2412.08602).
TEST(Economics, PowerOfAnH100Node) {
  const Site site = site_of("dgx-h100", 1);
  const Inputs inputs;
  EXPECT_NEAR(site_power(site, 0.85, 0, inputs).running.value(), 0.76 * 10200, 0.04 * 10200);
  EXPECT_LT(site_power(site, 1, 0, inputs).running.value(), 8480);
  EXPECT_LT(site_power(site, 1, 0, inputs).idle, site_power(site, 1, 0, inputs).waiting);
  EXPECT_GT(site_power(site, 1, 1, inputs).provisioned, site_power(site, 1, 0, inputs).provisioned * 1.9);
}

// Llama 3.1: 39.3 M H100-hours at 700 W are 27.5 GWh and 11,390 t of CO2 equivalent (model card): 0.414 kg/kWh. Ours
// counts the rest of the node, network and building, on the grid that the scenario states.
TEST(Economics, EnergyAndCarbon) {
  const Site site = site_of("dgx-h100", 2048);
  const Inputs inputs;
  const double hours = 39.3e6 / 16384;
  const Seconds wall = Seconds::base(hours * 3600);
  const RunCost cost = run_cost(site, capex(site, 0, inputs), site_power(site, 0.8, 0, inputs),
                                {.wall = wall, .running = wall, .accelerators = 16384}, inputs);
  const double gwh = cost.energy.value() / 3.6e12;
  EXPECT_GT(gwh, 27.5);
  EXPECT_LT(gwh, 27.5 * 2.2);
  EXPECT_NEAR(cost.carbon_kg / (cost.energy.value() / 3.6e6), 0.367, 1e-9);
}

// Public spreadsheet of an H100 cluster of 1,024 GPUs (2024-08): 39.7 M for nodes, 4.3 M for switches, cables and
// optics.
TEST(Economics, PurchaseOfOneThousandGpus) {
  const Capex bought = capex(site_of("dgx-h100", 128), 0, Inputs());
  EXPECT_TRUE(bought.priced());
  EXPECT_NEAR(part(bought.terms, "nodes").value, 39.7e6, 0.05 * 39.7e6);
  EXPECT_NEAR(part(bought.terms, "network").value, 4.35e6, 0.35 * 4.35e6);
  EXPECT_NEAR(total(bought.terms), bought.terms.value, 1);
}

// Checkpoints and offloaded states take the same link.
TEST(Site, HostLinkIsThatOfOffloads) {
  EXPECT_EQ(site_of("gb200-nvl72", 18).host_link.value(), 450e9);
  EXPECT_NEAR(site_of("dgx-h100", 1).host_link.value(), 63e9, 0.1e9);
}

// Eight NICs of 800 Gb/s in slots of PCIe 5 carry what the slots do.
TEST(Site, NicsCarryWhatTheirSlotsDo) {
  ClusterSpec spec{.of = "dgx-h100", .nodes = 16};
  spec.node.nic_bandwidth = BytesPerSecond::base(100e9);
  const Cluster fast = complete(spec, builtin_catalog());
  const Site site = make_site(builtin_catalog(), fast, fast.accelerators());
  EXPECT_NEAR(site.host_network.value(), 8 * 63e9, 0.01 * 8 * 63e9);
  EXPECT_EQ(site_of("dgx-h100", 16).host_network.value(), 8 * 50e9);
}

// The premium acts on the network alone.
TEST(Economics, NetworkPremium) {
  const Site site = site_of("dgx-h100", 128);
  Inputs inputs;
  const Capex before = capex(site, 0, inputs);
  inputs.set("prices.network_premium", 0.2);
  const Capex after = capex(site, 0, inputs);
  EXPECT_NEAR(part(after.terms, "network").value, 1.2 * part(before.terms, "network").value, 1);
  EXPECT_EQ(part(after.terms, "nodes").value, part(before.terms, "nodes").value);
}

TEST(Economics, NothingIsSilentlyFree) {
  for (const char* cluster : {"dgx-h100", "dgx-b300", "gb300-nvl72", "dgx-a100"}) {
    const Capex bought = capex(site_of(cluster, 128), 0, Inputs());
    const Term* network = find(bought.terms, "network");
    ASSERT_NE(network, nullptr) << cluster;
    for (const Term& line : network->parts) {
      EXPECT_GT(line.value, 0) << cluster << " " << line.name;
      EXPECT_FALSE(line.source.empty()) << cluster << " " << line.name;
    }
  }
}

double capex_with(const char* node) {
  const std::string text = std::string(R"({"of": "dgx-h100", "nodes": 128, "node": )") + node + "}";
  const Cluster c = complete(read_cluster_spec(Reader::text(text, "cluster")), builtin_catalog());
  return capex(make_site(builtin_catalog(), c, c.accelerators()), 0, Inputs()).terms.value;
}

// NICs without a price of their own are priced by their speed: more or faster ones are never a gift.
TEST(Economics, OtherNicsCostMoreOrLess) {
  const double usual = capex_with("{}");
  EXPECT_GT(capex_with(R"({"nic_bandwidth": "1.6 Tb/s"})"), usual);
  EXPECT_GT(capex_with(R"({"nic": "connectx-8"})"), usual);
  EXPECT_LT(capex_with(R"({"nics": 4})"), usual);
  EXPECT_GT(capex_with(R"({"nics": 4})"), 0.85 * usual);
}

TEST(Economics, OpticalSwitchesAreNoCables) {
  const Cluster c = make_cluster(builtin_catalog(), "tpu-v4", 64);
  const Capex bought = capex(make_site(builtin_catalog(), c, c.accelerators()), 0, Inputs());
  // 48 for up to 64 cubes (arXiv 2304.01433), at 8,000 to 60,000 USD.
  EXPECT_GT(part(bought.terms, "optical circuit switches").value, 48 * 8000.0);
}

RunAssumptions contract(const char* name) {
  const std::string text = std::string(R"({"prices": {"contract": ")") + name + "\"}}";
  return read_assumptions(Reader::text(text, "s.json"), {});
}

// Published discounts: a year 20 to 50 %, three years 38 to 72 %, spot 30 to 90 %.
TEST(Economics, ContractsChangeTheRent) {
  const Site site = site_of("dgx-h100", 16);
  ASSERT_GT(site.rent.value(), 0);
  const Seconds wall = Seconds::base(86400);
  const auto cost = [&](const char* name) {
    const Inputs in = contract(name).inputs;
    const RunCost c = run_cost(site, capex(site, 0, in), {}, {.wall = wall, .running = wall, .accelerators = 128}, in);
    EXPECT_TRUE(c.rented) << name;
    return c.cost.value;
  };
  const double full = cost("on-demand");
  EXPECT_NEAR(full, site.rent.value() * 128 * 86400, 1);
  EXPECT_NEAR(cost("reserved-1y") / full, 0.65, 0.15);
  EXPECT_NEAR(cost("reserved-3y") / full, 0.45, 0.17);
  EXPECT_NEAR(cost("spot") / full, 0.4, 0.3);
  EXPECT_GT(contract("spot").inputs("failures.evictions"), 0);
  EXPECT_EQ(contract("reserved-1y").inputs("failures.evictions"), 0);
  EXPECT_THROW(contract("spott"), Error);
}

TEST(Economics, RentIsHoursTimesRate) {
  const Site site = site_of("dgx-h100", 256);
  Inputs inputs;
  inputs.set("prices.gpu_hour", 2.0 / 3600);
  const Seconds wall = Seconds::base(2.664e6 / 2048 * 3600);
  const RunCost cost =
      run_cost(site, capex(site, 0, inputs), {}, {.wall = wall, .running = wall, .accelerators = 2048}, inputs);
  EXPECT_TRUE(cost.rented);
  EXPECT_NEAR(cost.cost.value, 5.328e6, 1);  // DeepSeek-V3's pre-training at its own 2 USD (arXiv 2412.19437, table 1)
}

TEST(Economics, OwnedCostIsALineAPart) {
  const Site site = site_of("dgx-h100", 128);
  const Inputs inputs;
  const Seconds wall = Seconds::base(30 * 86400.0);
  const Power power = site_power(site, 0.8, 2, inputs);
  const RunCost cost =
      run_cost(site, capex(site, 2, inputs), power, {.wall = wall, .running = wall, .accelerators = 1024}, inputs);
  EXPECT_FALSE(cost.rented);
  EXPECT_NEAR(total(cost.cost), cost.cost.value, 1e-6);
  for (const char* name : {"nodes", "spare nodes", "network", "maintenance", "colocation", "staff", "energy"})
    EXPECT_GT(part(cost.cost, name).value, 0) << name;
  // Between a third and three times the market: H100 rents for 1.7 to 3.9 USD an hour (2025-26).
  const double an_hour = cost.cost.value / (1024 * 30 * 24);
  EXPECT_GT(an_hour, 1.2);
  EXPECT_LT(an_hour, 3.9);
}

}  // namespace
}  // namespace meshwright::tests
