// NCCL's tuner: latency and bandwidth of every algorithm and protocol, and the choice. Numbers are those of 2.30.7.
#include <algorithm>
#include <cmath>

#include "meshwright/collectives/nccl_policy.hpp"

namespace meshwright::collectives {
namespace {

using Three = std::array<double, 3>;  // by protocol (LL, LL128, Simple), or by 1, 2 and more domains
using ByAlgorithm = std::array<Three, nccl_algorithm_count>;

// Microseconds. Tree, Ring, CollNetDirect, CollNetChain, NVLS, NVLSTree, PAT.
constexpr ByAlgorithm base_latency = {
    {{6.8, 14, 8.4}, {6.6, 14, 8.4}, {0, 0, 0}, {0, 0, 0}, {0, 0, 0}, {0, 0, 0}, {8, 8, 8}}};
constexpr ByAlgorithm nvlink_latency = {
    {{0.6, 1.25, 4.0}, {0.6, 1.9, 3.4}, {0, 0, 3.7}, {0, 0, 2.8}, {0, 0, 25}, {0, 0, 25}, {0, 0, 4}}};
constexpr ByAlgorithm pci_latency = {
    {{1.0, 1.9, 4.0}, {1.0, 2.5, 5.7}, {0, 0, 3.7}, {0, 0, 2.8}, {0, 0, 0}, {0, 0, 0}, {0, 0, 4}}};
constexpr ByAlgorithm net_latency = {
    {{5.0, 8.5, 14}, {2.7, 4.0, 14}, {0, 0, 31}, {0, 0, 30}, {0, 0, 18}, {0, 0, 20.9}, {0, 0, 14}}};

// GB/s. Volta, Ampere, Hopper, Blackwell.
constexpr std::array<Three, 4> ll_cap = {{{39, 39, 20.4}, {87.7, 22.5, 19}, {141, 45, 35}, {282, 90, 70}}};
constexpr std::array<Three, 4> ring_ll128_cap = {{{20, 20, 20}, {20, 20, 20}, {36.7, 36.7, 36.7}, {40, 40, 40}}};
constexpr std::array<Three, 4> tree_ll128_cap = {{{20, 20, 20}, {20, 20, 20}, {36.7, 36.7, 29}, {55.6, 31.67, 20}}};
constexpr std::array<Three, 4> tree_cap = {{{26.5, 18.5, 10}, {24, 23.6, 17.8}, {38.7, 41.4, 36}, {70, 42.8, 24}}};
constexpr std::array<Three, 4> nvls_tree_cap = {{{26.5, 18.5, 10}, {24, 23.6, 17.8}, {0, 57.7, 45.5}, {0, 96, 80}}};
constexpr std::array<double, 4> nvls_efficiency = {0.85, 0.85, 0.85, 0.74};

// Bandwidth factor of trees by log2(bytes / 64), by protocol.
constexpr std::array<std::array<double, 24>, protocol_count> tree_correction = {
    {{1, 1, 1, 1, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1, 1, 1, 1, 1},
     {1, 1, 1, 1, 1, .9, .8, .8, .8, .7, .6, .6, .6, .6, .6, .6, .8, .9, .9, .9, .9, 1, 1, 1},
     {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5, .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9, .9}}};

constexpr std::size_t index(NcclAlgorithm a) { return static_cast<std::size_t>(a); }
constexpr std::size_t index(Protocol p) { return static_cast<std::size_t>(p); }

std::size_t generation(const NcclGraphs& g) {
  const int sm = g.compute_capability;
  return sm >= 100 ? 3 : sm >= 90 ? 2 : sm >= 80 ? 1 : 0;
}
std::size_t domain_index(const NcclGraphs& g) { return static_cast<std::size_t>(std::min(g.domains, 3) - 1); }
int floor_log2(double x) { return static_cast<int>(std::floor(std::log2(x))); }

const NcclGraph& graph_of(const NcclGraphs& g, NcclAlgorithm a) {
  switch (a) {
    case NcclAlgorithm::ring:
      return g.ring;
    case NcclAlgorithm::collnet_direct:
      return g.collnet_direct;
    case NcclAlgorithm::collnet_chain:
      return g.collnet_chain;
    case NcclAlgorithm::nvls:
    case NcclAlgorithm::nvls_tree:
      return g.nvls;
    case NcclAlgorithm::tree:
    case NcclAlgorithm::pat:
      return g.tree;
  }
  return g.ring;
}

bool gathers(Collective c) { return c == Collective::all_gather || c == Collective::reduce_scatter; }

int ring_steps(const NcclGraphs& g, Collective c) {
  if (c == Collective::all_reduce) return 2 * (g.ranks() - 1);
  return gathers(c) ? g.ranks() - 1 : g.ranks();
}

bool ll128_allowed(const NcclGraphs& g, const NcclGraph& graph) {
  const NcclPath farthest = g.compute_capability >= 90 ? NcclPath::pxn : NcclPath::pxb;
  return g.compute_capability >= 70 && graph.inter_path <= farthest && graph.intra_path <= NcclPath::nvlink_via_gpu;
}

/// In-network gathers need as many heads (ranks with a NIC of their own) as ranks.
bool own_nics(const NcclGraphs& g) { return g.ranks_per_domain <= g.collnet_direct.channels; }

/// Which pairs exist for a collective.
bool allowed(const NcclGraphs& g, Collective c, NcclAlgorithm a, Protocol p) {
  const NcclGraph& graph = graph_of(g, a);
  if (graph.channels == 0) return false;
  const bool basic = a == NcclAlgorithm::ring || a == NcclAlgorithm::tree;
  if (!basic && p != Protocol::simple) return false;
  if (p == Protocol::ll128 && !ll128_allowed(g, graph)) return false;
  const bool several = g.domains > 1;
  switch (a) {
    case NcclAlgorithm::ring:
      return true;
    case NcclAlgorithm::tree:
      return c == Collective::all_reduce;
    case NcclAlgorithm::collnet_direct:  // at most 8 ranks a domain; gathers need a NIC for each
      return several && g.collnet && g.ranks_per_domain <= 8 &&
             (c == Collective::all_reduce || (gathers(c) && own_nics(g)));
    case NcclAlgorithm::collnet_chain:  // where switches join the GPUs, Direct takes its place
      return several && g.collnet && g.ranks_per_domain <= 8 && g.collnet_direct.channels == 0 &&
             c == Collective::all_reduce;
    case NcclAlgorithm::nvls:
      return graph.channels >= 2 && (!several || g.collnet) &&
             (c == Collective::all_reduce || (gathers(c) && g.ranks_per_domain <= 32 && (!several || own_nics(g))));
    case NcclAlgorithm::nvls_tree:
      return graph.channels >= 2 && several && c == Collective::all_reduce;
    case NcclAlgorithm::pat:
      return g.ranks_per_domain == 1 && several && gathers(c);
  }
  return false;
}

/// Bandwidth of one NVLS channel [GB/s].
double nvls_channel(const NcclGraphs& g, Collective c, NcclAlgorithm a) {
  const double n = g.nvls.channels, m = g.ranks_per_domain;
  const double direction = c == Collective::all_reduce ? 2 : (m - 1) / m;
  const double intra = g.nvls.intra.value() / 1e9 * nvls_efficiency[generation(g)] * (n - 1) / n * direction;
  const double twice = a == NcclAlgorithm::nvls_tree && g.domains <= 2 ? 2 : 1;
  const double slower = std::min(intra, g.nvls.inter.value() / 1e9 * twice);
  return a == NcclAlgorithm::nvls_tree ? std::min(slower, nvls_tree_cap[generation(g)][domain_index(g)]) : slower;
}

double tree_bus(const NcclGraphs& g, const NcclGraph& graph, Protocol p, double bus, double ll_limit) {
  const double channels = graph.channels;
  double result = std::min(0.92 * bus, channels * tree_cap[generation(g)][domain_index(g)]);
  if (p == Protocol::ll) result = std::min(result / 3.8, ll_limit);
  if (p == Protocol::ll128) {
    result = std::min(result * (g.domains == 1 ? 7.0 / 9 : 120.0 / 128),
                      channels * tree_ll128_cap[generation(g)][domain_index(g)]);
  }
  return graph.pattern == NcclPattern::tree ? 0.85 * result : result;
}

double collnet_direct_bus(const NcclGraphs& g, Collective c, double bus) {
  const double m = g.ranks_per_domain;
  if (gathers(c)) return m * std::min(g.collnet_direct.intra.value(), 0.9 * g.collnet_direct.inter.value()) / 1e9;
  const double share = m / g.collnet_direct.channels;
  const double factor = share - (share - 1) / 2;  // GPUs without a rail of their own forward through others
  return bus / factor * (g.compute_capability >= 90 ? 0.85 : 1);
}

/// Bus bandwidth of a pair [GB/s].
double bus_bandwidth(const NcclGraphs& g, Collective c, NcclAlgorithm a, Protocol p) {
  const NcclGraph& graph = graph_of(g, a);
  const double channels = graph.channels;
  const bool collnet = a == NcclAlgorithm::collnet_direct || a == NcclAlgorithm::collnet_chain;
  const bool nvls = a == NcclAlgorithm::nvls || a == NcclAlgorithm::nvls_tree;
  const double own = (g.domains <= 2 || collnet ? graph.intra : graph.inter).value() / 1e9;
  const double bus = channels * (nvls ? nvls_channel(g, c, a) : own);
  // Several nodes: the LL cap follows the CPU's vendor instead of the GPU.
  const std::size_t ll_row = g.domains == 1 ? generation(g) : g.cpu == CpuVendor::amd ? 1 : 0;
  const double ll_limit = ll_cap[ll_row][domain_index(g)];
  switch (a) {
    case NcclAlgorithm::ring:
      if (p == Protocol::ll) return std::min(ll_limit, bus / 2);
      if (p == Protocol::ll128) return std::min(0.92 * bus, channels * ring_ll128_cap[generation(g)][domain_index(g)]);
      return bus;
    case NcclAlgorithm::tree:
      return tree_bus(g, graph, p, bus, ll_limit);
    case NcclAlgorithm::collnet_direct:
      return collnet_direct_bus(g, c, bus);
    case NcclAlgorithm::pat:
      return 0.75 * bus;
    default:
      return bus;
  }
}

/// algbw / busbw as the tuner converts.
double bus_to_algorithm(const NcclGraphs& g, Collective c, NcclAlgorithm a) {
  if (gathers(c) && a != NcclAlgorithm::ring) return 1;
  if (a == NcclAlgorithm::tree || a == NcclAlgorithm::collnet_direct || a == NcclAlgorithm::collnet_chain) return 0.5;
  return static_cast<double>(g.ranks()) / ring_steps(g, c);
}

/// Microseconds for the ring: intra and inter hops; broadcast and reduce count one hop or, with channels in different
/// orders, all of them.
double ring_latency(const NcclGraphs& g, Collective c, Protocol p, double base, double intra, double inter) {
  const int steps = ring_steps(g, c);
  if (c == Collective::broadcast || c == Collective::reduce) {
    const ByAlgorithm& hop = g.domains > 1                           ? net_latency
                             : g.ring.intra_path <= NcclPath::nvlink ? nvlink_latency
                                                                     : pci_latency;
    if (g.ring.same_channels) return base + hop[index(NcclAlgorithm::ring)][index(p)];
    const NcclAlgorithm row = p == Protocol::simple ? NcclAlgorithm::tree : NcclAlgorithm::ring;
    return base + steps * hop[index(row)][index(p)];
  }
  const double vendor = g.domains == 1 ? 0 : g.cpu == CpuVendor::amd ? 2 : 1;
  const double overhead = vendor * (p == Protocol::simple ? 3 : 1);
  const int inter_steps = (c == Collective::all_reduce ? 2 : 1) * (g.domains - 1);
  return base + (steps - inter_steps) * std::max(intra, overhead) + inter_steps * inter;
}

/// Microseconds.
double latency_of(const NcclGraphs& g, Collective c, NcclAlgorithm a, Protocol p) {
  const NcclGraph& graph = graph_of(g, a);
  const double base = base_latency[index(a)][index(p)];
  const double intra = (graph.intra_path <= NcclPath::nvlink ? nvlink_latency : pci_latency)[index(a)][index(p)];
  const NcclAlgorithm net_row = g.ranks_per_domain == 1 ? NcclAlgorithm::tree : a;
  const double flushes = p == Protocol::simple ? 2 : 1;
  const double inter = net_latency[index(net_row)][index(p)] + flushes * graph.inter_latency.value() * 1e6;
  const double m = g.ranks_per_domain, hops = floor_log2(g.domains);
  switch (a) {
    case NcclAlgorithm::ring:
      return ring_latency(g, c, p, base, intra, inter);
    case NcclAlgorithm::tree:
      return base + 2 * ((m - 1) * intra + hops * inter);
    case NcclAlgorithm::collnet_direct:
      return base + 2 * (std::min(1.0, m - 1) * intra + 0.4 * (m - 1)) + inter;
    case NcclAlgorithm::collnet_chain:
      return base + 2 * (m - 1) * intra + inter;
    case NcclAlgorithm::nvls:
      return base + intra + (g.domains > 1 ? inter : 0);
    case NcclAlgorithm::nvls_tree:
      return base + intra + 2 * hops * inter;
    case NcclAlgorithm::pat:
      return base + hops * inter / 3.5 + 2.8 * g.ranks();
  }
  return base;
}

/// The tuner's corrections that depend on the size.
Seconds time_of(const NcclGraphs& g, Collective c, NcclAlgorithm a, Protocol p, const NcclLine& line, double bytes) {
  double factor = 1, latency = line.latency.value();
  if (c == Collective::all_reduce && bytes >= 64) {
    const int i = floor_log2(std::floor(bytes / 64));
    const bool tree = a == NcclAlgorithm::tree && i < 23;
    const bool nvls_tree = a == NcclAlgorithm::nvls_tree && i < 24 && g.compute_capability >= 100 && g.x86;
    if (tree || nvls_tree) factor = tree_correction[index(p)][static_cast<std::size_t>(i)];
  }
  // Rings over several domains are slow to fill their network buffers.
  if (c == Collective::all_reduce && a == NcclAlgorithm::ring && p == Protocol::simple && g.domains > 1 &&
      std::floor(bytes / (std::max(1, g.channels) * static_cast<double>(g.ranks()))) >= 64)
    latency *= g.compute_capability < 80 ? 1.9 : 1.4;
  return Seconds::base(latency + bytes / (line.bandwidth.value() * factor));
}

/// Channels of the launch: dropped one at a time while each would get less than a thread's worth of work.
int launched_channels(const NcclGraphs& g, const NcclCandidate& c, double bytes, const NcclForce& force) {
  const bool ring = c.algorithm == NcclAlgorithm::ring;
  const bool switched = c.algorithm == NcclAlgorithm::nvls || c.algorithm == NcclAlgorithm::nvls_tree;
  const bool collnet = c.algorithm == NcclAlgorithm::collnet_direct || c.algorithm == NcclAlgorithm::collnet_chain;
  int channels = g.channels;
  if (switched) channels = g.compute_capability >= 100 ? (g.domains == 1 ? 24 : 32) : 16;
  if (force.least_channels > 0) channels = std::max(channels, force.least_channels);
  if (force.most_channels > 0) channels = std::min(channels, force.most_channels);
  if (switched) return channels;
  const int threads = c.protocol == Protocol::ll128 ? 640 : 512;
  const double simple_work = collnet ? 512 : 64;
  const double work = c.protocol == Protocol::simple       ? simple_work
                      : c.protocol == Protocol::ll && ring ? 8.0 * g.ranks()
                                                           : 8.0;
  while (channels > std::max(1, force.least_channels) && bytes < channels * threads * work) --channels;
  return channels;
}

}  // namespace

NcclModel nccl_model(const NcclGraphs& graphs, Collective collective) {
  NcclModel model{};
  if (collective == Collective::all_to_all || collective == Collective::send_recv || graphs.ranks() < 2) return model;
  for (std::size_t a = 0; a < nccl_algorithm_count; ++a) {
    for (std::size_t p = 0; p < protocol_count; ++p) {
      const auto algorithm = static_cast<NcclAlgorithm>(a);
      const auto protocol = static_cast<Protocol>(p);
      if (!allowed(graphs, collective, algorithm, protocol)) continue;
      const double bus = bus_bandwidth(graphs, collective, algorithm, protocol);
      model[a][p] = {.latency = Seconds::base(latency_of(graphs, collective, algorithm, protocol) * 1e-6),
                     .bandwidth = BytesPerSecond::base(bus * 1e9 * bus_to_algorithm(graphs, collective, algorithm))};
    }
  }
  return model;
}

std::optional<NcclChoice> nccl_choice(const NcclGraphs& graphs, Collective collective, Bytes bytes,
                                      const NcclForce& force) {
  NcclGraphs forced = graphs;
  if (force.least_channels > 0) forced.channels = std::max(forced.channels, force.least_channels);
  if (force.most_channels > 0) forced.channels = std::min(forced.channels, force.most_channels);
  const NcclModel model = nccl_model(forced, collective);
  NcclChoice choice;
  for (std::size_t a = 0; a < nccl_algorithm_count; ++a) {
    for (std::size_t p = 0; p < protocol_count; ++p) {
      const NcclLine& line = model[a][p];
      if (line.bandwidth.value() <= 0 || !force.algorithm[a] || !force.protocol[p]) continue;
      NcclCandidate candidate{static_cast<NcclAlgorithm>(a), static_cast<Protocol>(p), {}};
      candidate.time = time_of(forced, collective, candidate.algorithm, candidate.protocol, line, bytes.value());
      if (choice.candidates.empty() || candidate.time < choice.best.time) choice.best = candidate;
      choice.candidates.push_back(candidate);
    }
  }
  if (choice.candidates.empty()) return std::nullopt;
  choice.channels = launched_channels(forced, choice.best, bytes.value(), force);
  return choice;
}

}  // namespace meshwright::collectives
