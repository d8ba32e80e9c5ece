#include <algorithm>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/push_relabel_max_flow.hpp>
#include <cmath>
#include <limits>

#include "meshwright/topology/analysis.hpp"
#include "topology/clos.hpp"
#include "topology/graph.hpp"

namespace meshwright::topology {
namespace {

using Traits = boost::adjacency_list_traits<boost::vecS, boost::vecS, boost::directedS>;
using Graph = boost::adjacency_list<
    boost::vecS, boost::vecS, boost::directedS, boost::no_property,
    boost::property<boost::edge_capacity_t, long long,
                    boost::property<boost::edge_residual_capacity_t, long long,
                                    boost::property<boost::edge_reverse_t, Traits::edge_descriptor>>>>;

/// Capacities in kilobytes a second: whole numbers keep push-relabel exact.
long long whole(double capacity) { return std::llround(capacity / 1e3); }

void add_edge(Graph& graph, std::uint32_t from, std::uint32_t to, long long capacity) {
  const auto there = boost::add_edge(from, to, graph).first, back = boost::add_edge(to, from, graph).first;
  boost::put(boost::edge_capacity, graph, there, capacity);
  boost::put(boost::edge_capacity, graph, back, 0);
  boost::put(boost::edge_reverse, graph, there, back);
  boost::put(boost::edge_reverse, graph, back, there);
}

/// Half of an accelerator: by unit, host or rank, whichever there are several of; on a torus by its coordinate along
/// the longest edge.
bool upper_half(const Fabric& f, int rank) {
  if (!f.is_torus()) {
    const int hosts = f.host_of(f.accelerators - 1) + 1,
              units = (f.accelerators + f.unit.accelerators - 1) / f.unit.accelerators;
    if (units > 1) return rank / f.unit.accelerators >= units / 2;
    return hosts > 1 ? f.host_of(rank) >= hosts / 2 : rank >= f.accelerators / 2;
  }
  const auto& edge = f.torus.edge;
  const auto longest = static_cast<std::size_t>(std::max_element(edge.begin(), edge.end()) - edge.begin());
  int below = 1;
  for (std::size_t d = 0; d < longest; ++d) below *= edge[d];
  return rank / below % edge[longest] >= edge[longest] / 2;
}

/// Everything that accelerators of the lower half can send at once.
double injection(const Fabric& f) {
  std::vector<double> out(f.kinds.size(), 0);
  for (const FabricLink& link : f.links) out[link.from] += link.capacity;
  double sum = 0;
  for (int rank = 0; rank < f.accelerators; ++rank)
    if (!upper_half(f, rank)) sum += out[f.node_of(rank)];
  return sum;
}

int first_upper_host(const Fabric& f) {
  int rank = 0;
  while (rank < f.accelerators && !upper_half(f, rank)) ++rank;
  return f.host_of(rank);
}

double nic_injection(const Fabric& f) {
  double sum = 0;
  const int nics = f.unit.nics / std::max(1, f.unit.hosts), half = first_upper_host(f);
  for (int host = 0; host < half; ++host)
    for (int i = 0; i < nics * ports(f.clos); ++i)
      sum += f.links[f.clos.nic_link + 2 * static_cast<std::uint32_t>(host * nics * ports(f.clos) + i)].capacity;
  return sum;
}

/// Dragonfly+: cables from groups of the lower half to those of the upper; a mixed group counts with the upper half,
/// and what its own lower half sends need not leave it.
double group_cables_across(const Fabric& f, const std::vector<double>& sends, const std::vector<bool>& mixed) {
  const Clos& c = f.clos;
  const auto group = [&](std::uint32_t spine) {
    return (spine - c.spine_node) / static_cast<std::uint32_t>(c.spines_per_pod);
  };
  double across = 0;
  for (std::size_t p = 0; p < sends.size(); ++p)
    if (mixed[p]) across += sends[p];
  for (std::size_t l = c.spine_link; l < f.links.size(); ++l)
    if (!mixed[group(f.links[l].from)] && mixed[group(f.links[l].to)]) across += f.links[l].capacity;
  return across;
}

}  // namespace

BytesPerSecond bisection_max_flow(const Fabric& f) {
  const auto nodes = static_cast<std::uint32_t>(f.kinds.size());
  Graph graph(nodes + 2);
  for (const FabricLink& link : f.links)
    if (link.capacity > 0) add_edge(graph, link.from, link.to, whole(link.capacity));
  const long long unlimited = std::numeric_limits<long long>::max() / 1024 / std::max(1, f.accelerators);
  for (int rank = 0; rank < f.accelerators; ++rank) {
    if (upper_half(f, rank))
      add_edge(graph, f.node_of(rank), nodes + 1, unlimited);
    else
      add_edge(graph, nodes, f.node_of(rank), unlimited);
  }
  return BytesPerSecond::base(static_cast<double>(boost::push_relabel_max_flow(graph, nodes, nodes + 1)) * 1e3);
}

BytesPerSecond bisection_closed_form(const Fabric& f) {
  if (f.is_torus()) {
    double sum = 0;
    for (const FabricLink& link : f.links)
      if (!upper_half(f, static_cast<int>(link.from)) && upper_half(f, static_cast<int>(link.to))) sum += link.capacity;
    return BytesPerSecond::base(sum);
  }
  const Clos& c = f.clos;
  double narrowest = nic_injection(f);
  const int half_host = first_upper_host(f);
  // Leaves and pods that only hosts of the lower half use must carry all that the half sends through them.
  std::vector<double> leaf_sends(static_cast<std::size_t>(c.leaves * c.fabrics), 0),
      pod_sends(static_cast<std::size_t>(std::max(1, c.pods) * c.fabrics), 0);
  std::vector<bool> leaf_mixed(leaf_sends.size(), false), pod_mixed(pod_sends.size(), false);
  const int nics = f.unit.nics / std::max(1, f.unit.hosts);
  const auto pod_of = [&](std::uint32_t leaf) {
    return leaf / static_cast<std::uint32_t>(c.leaves) * static_cast<std::uint32_t>(std::max(1, c.pods)) +
           leaf % static_cast<std::uint32_t>(c.leaves) / static_cast<std::uint32_t>(std::max(1, c.leaves_per_pod));
  };
  for (int host = 0; host < f.hosts; ++host)
    for (int nic = 0; nic < nics; ++nic)
      for (int port = 0; port < ports(c); ++port) {
        const std::uint32_t leaf = leaf_of(c, host, nic, port).leaf;
        const double capacity =
            f.links[c.nic_link + 2 * static_cast<std::uint32_t>((host * nics + nic) * ports(c) + port)].capacity;
        if (host < half_host)
          leaf_sends[leaf] += capacity, pod_sends[pod_of(leaf)] += capacity;
        else
          leaf_mixed[leaf] = true, pod_mixed[pod_of(leaf)] = true;
      }
  double through_leaves = 0, through_pods = 0;
  for (std::size_t l = 0; l < leaf_sends.size(); ++l)
    through_leaves += leaf_mixed[l] || c.leaf_up == 0
                          ? leaf_sends[l]
                          : std::min(leaf_sends[l], f.capacity(c.leaf_bundle + static_cast<std::uint32_t>(2 * l)));
  for (std::size_t p = 0; p < pod_sends.size(); ++p)
    through_pods += pod_mixed[p] || c.spine_up == 0
                        ? pod_sends[p]
                        : std::min(pod_sends[p], f.capacity(c.pod_bundle + static_cast<std::uint32_t>(2 * p)));
  if (c.direct_groups && c.pods > 1) through_pods = group_cables_across(f, pod_sends, pod_mixed);
  return BytesPerSecond::base(std::min({narrowest, through_leaves, through_pods}));
}

Bisection bisection(const Fabric& f) {
  Bisection b;
  const bool flat = !f.is_torus() && (f.clos.leaves == 0 || f.units == 1);  // one unit: only the graph knows
  const bool flow = flat || f.kinds.size() <= 30000;
  b.method = flow ? "max-flow" : "closed form";
  b.bandwidth = flow ? bisection_max_flow(f) : bisection_closed_form(f);
  const double full = flat || f.is_torus() ? injection(f) : nic_injection(f);
  b.of_injection = full > 0 ? b.bandwidth.value() / full : 0;
  return b;
}

}  // namespace meshwright::topology
