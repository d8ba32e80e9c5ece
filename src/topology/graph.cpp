#include "topology/graph.hpp"

#include <algorithm>

namespace meshwright::topology {
namespace {

std::vector<int> breadth_first(std::span<const FabricLink> links, const Adjacency& next, std::uint32_t start,
                               bool backwards) {
  std::vector<int> hops(next.first.size() - 1, -1);
  std::vector<std::uint32_t> queue{start};
  hops[start] = 0;
  for (std::size_t q = 0; q < queue.size(); ++q) {
    const std::uint32_t v = queue[q];
    for (std::uint32_t i = next.first[v]; i < next.first[v + 1]; ++i) {
      const FabricLink& link = links[next.link[i]];
      const std::uint32_t w = backwards ? link.from : link.to;
      if (link.capacity <= 0 || hops[w] >= 0) continue;
      hops[w] = hops[v] + 1;
      queue.push_back(w);
    }
  }
  return hops;
}

Adjacency by_end(std::span<const FabricLink> links, std::size_t nodes, bool backwards) {
  Adjacency a;
  a.first.assign(nodes + 1, 0);
  a.link.resize(links.size());
  for (const FabricLink& link : links) ++a.first[(backwards ? link.to : link.from) + 1];
  for (std::size_t v = 0; v < nodes; ++v) a.first[v + 1] += a.first[v];
  std::vector<std::uint32_t> place(a.first.begin(), a.first.end() - 1);
  for (std::uint32_t l = 0; l < links.size(); ++l) a.link[place[backwards ? links[l].to : links[l].from]++] = l;
  return a;
}

}  // namespace

Adjacency adjacency(std::span<const FabricLink> links, std::size_t nodes) { return by_end(links, nodes, false); }

std::vector<int> hops_from(std::span<const FabricLink> links, const Adjacency& out, std::uint32_t source) {
  return breadth_first(links, out, source, false);
}

std::vector<int> hops_to(std::span<const FabricLink> links, std::size_t nodes, std::uint32_t target) {
  return breadth_first(links, by_end(links, nodes, true), target, true);
}

Route spread(std::span<const FabricLink> links, const Adjacency& out, std::span<const int> hops_to_target,
             std::uint32_t source, std::uint32_t target) {
  Route route;
  if (hops_to_target[source] < 0 || source == target) return route;
  std::vector<std::pair<std::uint32_t, double>> layer{{source, 1.0}};
  while (!layer.empty() && layer.front().first != target) {
    std::vector<std::pair<std::uint32_t, double>> next;
    for (const auto& [v, amount] : layer) {
      double width = 0;
      const int closer = hops_to_target[v] - 1;
      const auto leads = [&](const FabricLink& link) { return link.capacity > 0 && hops_to_target[link.to] == closer; };
      for (std::uint32_t i = out.first[v]; i < out.first[v + 1]; ++i)
        if (leads(links[out.link[i]])) width += links[out.link[i]].capacity;
      for (std::uint32_t i = out.first[v]; i < out.first[v + 1]; ++i) {
        const FabricLink& link = links[out.link[i]];
        if (!leads(link)) continue;
        const double part = amount * link.capacity / width;
        route.push_back({out.link[i], part});
        const auto same = std::find_if(next.begin(), next.end(), [&](const auto& n) { return n.first == link.to; });
        if (same == next.end())
          next.emplace_back(link.to, part);
        else
          same->second += part;
      }
    }
    layer = std::move(next);
  }
  return route;
}

}  // namespace meshwright::topology
