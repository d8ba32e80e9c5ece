#include "topology/torus.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>

#include "meshwright/topology/place.hpp"
#include "topology/graph.hpp"

namespace meshwright::topology {
namespace {

using Coordinates = std::array<int, 3>;

int nodes_of(const Torus& t) {
  int n = 1;
  for (const int e : t.edge) n *= e;
  return n;
}

Coordinates coordinates(const Torus& t, int v) {
  Coordinates c{};
  for (std::size_t d = 0; d < t.edge.size(); ++d) c[d] = v % t.edge[d], v /= t.edge[d];
  return c;
}

int node_at(const Torus& t, const Coordinates& c) {
  int v = 0;
  for (std::size_t d = t.edge.size(); d-- > 0;) v = v * t.edge[d] + c[d];
  return v;
}

/// Back into the box: wrapping dimension d adds its twist to the others, so the short dimensions go first.
void normalise(const Torus& t, Coordinates& c) {
  for (std::size_t d = 0; d < t.edge.size(); ++d)
    while (c[d] < 0 || c[d] >= t.edge[d]) {
      const int turn = c[d] < 0 ? 1 : -1;
      c[d] += turn * t.edge[d];
      for (std::size_t o = 0; o < t.edge.size(); ++o) c[o] -= turn * t.twist[d][o];
    }
}

/// Link out of `v` in dimension d, forward or backward. Cable v * dimensions + d runs from v to its successor.
std::uint32_t link_of(const Fabric& f, int v, std::size_t d, bool forward) {
  const Torus& t = f.torus;
  if (forward) return static_cast<std::uint32_t>(2 * (static_cast<std::size_t>(v) * t.edge.size() + d));
  std::array<int, 3> by{};
  by[d] = -1;
  const int before = torus_move(t, v, std::span(by).first(t.edge.size()));
  return static_cast<std::uint32_t>(2 * (static_cast<std::size_t>(before) * t.edge.size() + d) + 1);
}

/// Along one dimension from `c`, `steps` (signed) links, moving `c`.
void append_steps(const Fabric& f, Coordinates& c, std::size_t d, int steps, double share, Route& out) {
  const bool forward = steps > 0;
  for (int i = 0; i < std::abs(steps); ++i) {
    out.push_back({link_of(f, node_at(f.torus, c), d, forward), share});
    c[d] += forward ? 1 : -1;
    normalise(f.torus, c);
  }
}

void append_dimension_order(const Fabric& f, int source, int target, Route& out) {
  Coordinates at = coordinates(f.torus, source);
  const Coordinates goal = coordinates(f.torus, target);
  for (std::size_t d = 0; d < f.torus.edge.size(); ++d) {
    const int edge = f.torus.edge[d], ahead = (goal[d] - at[d] + edge) % edge;
    if (ahead == 0) continue;
    if (!f.torus.wraps[d]) {
      append_steps(f, at, d, goal[d] - at[d], 1, out);
    } else if (2 * ahead == edge) {
      Coordinates back = at;
      append_steps(f, at, d, ahead, 0.5, out);
      append_steps(f, back, d, -ahead, 0.5, out);
    } else {
      append_steps(f, at, d, 2 * ahead < edge ? ahead : ahead - edge, 1, out);
    }
  }
}

/// Routes from node 0 to every other, which by symmetry are the routes of every difference.
void tabulate(Fabric& f) {
  const auto n = static_cast<std::size_t>(nodes_of(f.torus));
  const Adjacency out = adjacency(f.links, n);
  f.torus.by_difference.resize(n);
  for (std::uint32_t v = 1; v < n; ++v) f.torus.by_difference[v] = spread(f.links, out, hops_to(f.links, n, v), 0, v);
}

}  // namespace

int torus_move(const Torus& torus, int v, std::span<const int> by) {
  Coordinates c = coordinates(torus, v);
  for (std::size_t d = 0; d < by.size(); ++d) c[d] += by[d];
  normalise(torus, c);
  return node_at(torus, c);
}

void append_torus_route(const Fabric& f, int source, int target, Route& out) {
  const Torus& t = f.torus;
  if (t.by_difference.empty()) return append_dimension_order(f, source, target, out);
  const Coordinates a = coordinates(t, source), b = coordinates(t, target);
  Coordinates difference{};
  for (std::size_t d = 0; d < t.edge.size(); ++d) difference[d] = b[d] - a[d];
  normalise(t, difference);
  const auto dims = static_cast<std::uint32_t>(t.edge.size());
  for (const FlowShare& step : t.by_difference[static_cast<std::size_t>(node_at(t, difference))]) {
    const std::uint32_t cable = step.resource / 2;
    const Coordinates offset = coordinates(t, static_cast<int>(cable / dims));
    const int v = torus_move(t, source, std::span(offset).first(t.edge.size()));
    out.push_back({2 * (static_cast<std::uint32_t>(v) * dims + cable % dims) + step.resource % 2, step.share});
  }
}

Fabric build_torus(const std::vector<int>& edge, BytesPerSecond link, bool wraps, bool twisted) {
  return build_torus(edge, link, std::vector<bool>(edge.size(), wraps), twisted);
}

Fabric build_torus(const std::vector<int>& edge, BytesPerSecond link, const std::vector<bool>& closed, bool twisted) {
  Fabric f;
  f.name = twisted ? "twisted torus" : "torus";
  f.torus.edge = edge;
  const std::size_t dims = edge.size();
  f.torus.twist.assign(dims, std::vector<int>(dims, 0));
  for (std::size_t d = 0; d < dims; ++d) f.torus.wraps.push_back(closed[d] && edge[d] > 2);
  if (twisted)
    for (std::size_t d = 0; d < dims; ++d)
      for (std::size_t o = 0; o < dims; ++o)
        if (edge[o] == 2 * edge[d]) f.torus.twist[d][o] = edge[d];
  const int n = nodes_of(f.torus);
  f.accelerators = n, f.hosts = 1, f.units = 1;
  f.unit.accelerators = n;
  f.kinds.assign(static_cast<std::size_t>(n), NodeKind::accelerator);
  for (int v = 0; v < n; ++v)
    for (std::size_t d = 0; d < dims; ++d) {
      std::array<int, 3> by{};
      by[d] = 1;
      const Coordinates c = coordinates(f.torus, v);
      const auto to = static_cast<std::uint32_t>(torus_move(f.torus, v, std::span(by).first(dims)));
      // An edge that doesn't wrap keeps its cable's place in the list, without capacity: link numbers stay arithmetic.
      const bool there = c[d] + 1 < edge[d] || f.torus.wraps[d];
      f.links.push_back({static_cast<std::uint32_t>(v), to, there ? link.value() : 0});
      f.links.push_back({to, static_cast<std::uint32_t>(v), there ? link.value() : 0});
    }
  if (twisted) tabulate(f);
  return f;
}

}  // namespace meshwright::topology
