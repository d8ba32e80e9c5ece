// A 131,072-accelerator three-tier fat tree: built, and one all-axis pattern of a 3D-parallel layout solved on it.
#include <benchmark/benchmark.h>
#include <sys/resource.h>

#include "meshwright/collectives/flow.hpp"
#include "meshwright/hardware/catalog.hpp"
#include "meshwright/topology/fabric.hpp"
#include "meshwright/topology/place.hpp"

namespace {

using namespace meshwright;
using namespace meshwright::everything;
using namespace meshwright::literals;

Cluster hgx(int nodes) {
  Cluster c;
  c.name = "hgx";
  c.nodes = nodes;
  c.accelerator.scale_up_link = "nvlink4";
  c.node.accelerators = 8;
  c.node.scale_up_bandwidth = 450_GBps;
  c.node.nics = 8;
  c.node.nic_bandwidth = 50_GBps;
  c.node.fabric = "infiniband";
  c.fabric = builtin_catalog().fabric("infiniband");
  c.node.pcie = "pcie-gen5";
  c.network.oversubscription = {1, 2};
  c.network.reach = {256, 8192};
  c.network.tiers = 3;
  return c;
}

/// Tensor rings inside nodes, pipeline neighbours, data-parallel rings: every rank sends on all three axes at once.
std::vector<Flow> all_axes(int ranks) {
  const Axis degrees[] = {{"tp", 8}, {"pp", 16}, {"dp", ranks / 128}};
  std::vector<Flow> flows;
  for (const Axis& axis : place_axes(degrees)) {
    const std::vector<Flow> ring = ring_flows(ranks, axis, 64_MiB);
    flows.insert(flows.end(), ring.begin(), ring.end());
  }
  return flows;
}

void report_memory(benchmark::State& state) {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  state.counters["peak_GiB"] = static_cast<double>(usage.ru_maxrss) / 1048576;
}

void build(benchmark::State& state) {
  const Cluster cluster = hgx(static_cast<int>(state.range(0)) / 8);
  for (auto _ : state) benchmark::DoNotOptimize(build_fabric(cluster).links.size());
  report_memory(state);
}
BENCHMARK(build)->RangeMultiplier(4)->Range(2048, 131072)->Unit(benchmark::kMillisecond);

void build_and_solve(benchmark::State& state) {
  const int ranks = static_cast<int>(state.range(0));
  for (auto _ : state) {
    const Fabric fabric = build_fabric(hgx(ranks / 8));
    const FlowResult result = solve_flows(fabric, all_axes(ranks));
    benchmark::DoNotOptimize(result);
    state.counters["ms_of_the_pattern"] = result.time.value() * 1e3;
    state.counters["solves"] = result.solves;
  }
  state.SetComplexityN(ranks);
  report_memory(state);
}
BENCHMARK(build_and_solve)->RangeMultiplier(4)->Range(2048, 131072)->Unit(benchmark::kMillisecond)->Complexity();

void ecmp(benchmark::State& state) {
  const Fabric fabric = build_fabric(hgx(static_cast<int>(state.range(0)) / 8));
  const std::vector<Flow> flows = all_axes(static_cast<int>(state.range(0)));
  for (auto _ : state)
    benchmark::DoNotOptimize(busiest_load(fabric, flows, {.routing = RoutingKind::ecmp, .flows_a_pair = 4}));
}
BENCHMARK(ecmp)->Arg(131072)->Unit(benchmark::kMillisecond);

void place(benchmark::State& state) {
  const Cluster cluster = hgx(2048);
  for (auto _ : state) benchmark::DoNotOptimize(place_group(cluster, 128, 128));
}
BENCHMARK(place)->Unit(benchmark::kMicrosecond);

}  // namespace
