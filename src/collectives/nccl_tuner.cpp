// NCCL's tuner: latency and bandwidth of every algorithm and protocol, and the choice. Numbers are those of nccl.json,
// of the communicator's release; formulas those of 2.30.7.
#include <algorithm>
#include <cmath>

#include "collectives/nccl_constants.hpp"

namespace meshwright::collectives {
namespace {

constexpr std::size_t index(NcclAlgorithm a) { return static_cast<std::size_t>(a); }
constexpr std::size_t index(Protocol p) { return static_cast<std::size_t>(p); }

const NcclConstants& constants(const NcclGraphs& g) { return nccl_constants(g.version); }
const NcclGeneration& generation(const NcclGraphs& g) { return nccl_generation(g.compute_capability, g.version); }
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
  if (constants(g).nvls_ratio > 0 && c == Collective::all_reduce) {
    const double halved = a == NcclAlgorithm::nvls_tree && g.domains > 2 ? 0.5 : 1;
    return std::min(g.nvls.intra.value(), g.nvls.inter.value() * halved) / 1e9;
  }
  const double direction = c == Collective::all_reduce ? 2 : (m - 1) / m;
  const double intra = g.nvls.intra.value() / 1e9 * generation(g).nvls_efficiency * (n - 1) / n * direction;
  const double twice = a == NcclAlgorithm::nvls_tree && g.domains <= 2 ? 2 : 1;
  const double slower = std::min(intra, g.nvls.inter.value() / 1e9 * twice);
  return a == NcclAlgorithm::nvls_tree ? std::min(slower, generation(g).nvls_tree[domain_index(g)]) : slower;
}

double tree_bus(const NcclGraphs& g, const NcclGraph& graph, Protocol p, double bus, double ll_limit) {
  const double channels = graph.channels;
  double result = std::min(0.92 * bus, channels * generation(g).tree[domain_index(g)]);
  if (p == Protocol::ll) result = std::min(result / 3.8, ll_limit);
  if (p == Protocol::ll128) {
    result = std::min(result * (g.domains == 1 ? 7.0 / 9 : 120.0 / 128),
                      channels * generation(g).tree_ll128[domain_index(g)]);
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

double ring_ll_share(const NcclGraphs& g, Collective c) {
  const bool slow = g.domains > 1 || c == Collective::all_reduce || c == Collective::reduce;
  return constants(g).ring_ll[slow ? 0 : 1];
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
  // Between domains LL is held to the host: AMD's as Ampere, others as Volta.
  const int host = g.cpu == CpuVendor::amd ? 80 : 70;
  const NcclGeneration& ll_row = g.domains == 1 ? generation(g) : nccl_generation(host, g.version);
  const double ll_limit = ll_row.ll[domain_index(g)];
  switch (a) {
    case NcclAlgorithm::ring:
      if (p == Protocol::ll) return std::min(ll_limit, bus * ring_ll_share(g, c));
      if (p == Protocol::ll128) return std::min(0.92 * bus, channels * generation(g).ring_ll128[domain_index(g)]);
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
  const bool switched = a == NcclAlgorithm::nvls || a == NcclAlgorithm::nvls_tree;
  if (switched && constants(g).nvls_ratio > 0) return constants(g).nvls_ratio;
  return static_cast<double>(g.ranks()) / ring_steps(g, c);
}

/// Latencies of hops inside a domain.
const ByAlgorithm& inside(const NcclGraphs& g, const NcclGraph& graph) {
  return graph.intra_path <= NcclPath::nvlink ? constants(g).nvlink : constants(g).pcie;
}

/// Microseconds for the ring: intra and inter hops; broadcast and reduce count one hop or, with channels in different
/// orders, all of them.
double ring_latency(const NcclGraphs& g, Collective c, Protocol p, double base, double intra, double inter) {
  const int steps = ring_steps(g, c);
  if (c == Collective::broadcast || c == Collective::reduce) {
    const ByAlgorithm& hop = g.domains > 1 ? constants(g).network : inside(g, g.ring);
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
  const double base = constants(g).base[index(a)][index(p)];
  const double intra = inside(g, graph)[index(a)][index(p)];
  const NcclAlgorithm net_row = g.ranks_per_domain == 1 ? NcclAlgorithm::tree : a;
  const double flushes = p == Protocol::simple ? 2 : 1;
  const double inter = constants(g).network[index(net_row)][index(p)] + flushes * graph.inter_latency.value() * 1e6;
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
    if (tree || nvls_tree) factor = constants(g).tree_correction[index(p)][static_cast<std::size_t>(i)];
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
  if (switched) channels = generation(g).nvls_channels[g.domains == 1 ? 0 : 1];
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
