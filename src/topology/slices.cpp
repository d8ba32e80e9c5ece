#include "meshwright/topology/slices.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "meshwright/hardware/torus.hpp"
#include "meshwright/topology/analysis.hpp"
#include "meshwright/topology/flows.hpp"

namespace meshwright::topology {
namespace {

using hardware::cube_edge;

/// Load of the busiest link when every chip sends one byte to every other. Tori look alike from every chip, so the
/// flows of chip 0 tell what all load: links of one dimension and direction carry the same.
double all_to_all_load(const Fabric& f) {
  const std::size_t dims = f.torus.edge.size();
  std::vector<double> load(2 * dims, 0);
  Route route;
  for (int target = 1; target < f.accelerators; ++target) {
    route.clear();
    append_route(f, 0, target, {}, route);
    for (const FlowShare& step : route) load[step.resource / 2 % dims * 2 + step.resource % 2] += step.share;
  }
  return *std::max_element(load.begin(), load.end());
}

int product(std::span<const int> edge) { return std::accumulate(edge.begin(), edge.end(), 1, std::multiplies<>()); }

bool can_twist(const std::vector<int>& e) {
  return e.size() == 3 && e[2] == 2 * e[0] && (e[1] == e[0] || e[1] == e[2]) && e[0] >= cube_edge;
}

std::vector<std::vector<int>> boxes(int chips) {
  std::vector<std::vector<int>> out;
  const int grain = chips % hardware::cube_chips == 0 ? cube_edge : 1;
  for (int a = grain; a <= chips; a += grain)
    for (int b = a; chips % a == 0 && b <= chips / a; b += grain)
      if (chips / a % b == 0 && chips / a / b >= b && chips / a / b % grain == 0) out.push_back({a, b, chips / a / b});
  return out;
}

}  // namespace

std::string SliceShape::text() const { return fmt::format("{}{}", fmt::join(edge, "x"), twisted ? " twisted" : ""); }

SliceShape evaluate_slice(std::vector<int> edge, BytesPerSecond link, bool twisted) {
  std::sort(edge.begin(), edge.end());
  const std::vector<bool> closed = hardware::closed_edges(edge, 0);
  const bool wraps = std::ranges::find(closed, false) == closed.end();
  const Fabric f = build_torus(edge, link, wraps, twisted);
  SliceShape shape{.edge = edge, .twisted = twisted};
  shape.bisection = bisection_closed_form(f);
  const int chips = f.accelerators;
  if (wraps) {
    shape.all_to_all = link * ((chips - 1) / all_to_all_load(f));
  } else if (chips > 1) {
    const BusiestLoad busiest = busiest_load(f, all_to_all_flows(chips, {"", chips, 1}, Bytes::base(1)));
    shape.all_to_all = BytesPerSecond::base((chips - 1) / busiest.time.value());
  }
  int rings = 0;  // dimensions that hold more than one chip, both directions of each in use
  for (const int e : edge) rings += e > 1 ? 1 : 0;
  const double both_ways = wraps ? 2 : 1;
  if (chips > 1) shape.all_reduce = link * (both_ways * rings / (2.0 * (chips - 1) / chips));
  return shape;
}

std::vector<SliceShape> slice_shapes(int chips, BytesPerSecond link) {
  std::vector<SliceShape> shapes;
  for (const std::vector<int>& edge : boxes(chips)) {
    shapes.push_back(evaluate_slice(edge, link));
    if (can_twist(edge) && chips <= 1024) shapes.push_back(evaluate_slice(edge, link, true));
  }
  std::stable_sort(shapes.begin(), shapes.end(),
                   [](const SliceShape& a, const SliceShape& b) { return a.all_to_all > b.all_to_all; });
  return shapes;
}

SliceAssembly assemble_slice(std::span<const int> pod_edge, std::span<const int> edge, std::span<const int> failed,
                             bool optical) {
  const auto cubes_along = [](std::span<const int> e, std::size_t d) {
    return d < e.size() ? std::max(1, e[d] / cube_edge) : 1;
  };
  const int pod[3] = {cubes_along(pod_edge, 0), cubes_along(pod_edge, 1), cubes_along(pod_edge, 2)};
  const int want[3] = {cubes_along(edge, 0), cubes_along(edge, 1), cubes_along(edge, 2)};
  const int needed = product(want), total = product(pod);
  std::vector<bool> dead(static_cast<std::size_t>(total), false);
  for (const int cube : failed)
    if (cube >= 0 && cube < total) dead[static_cast<std::size_t>(cube)] = true;
  const int healthy = static_cast<int>(std::count(dead.begin(), dead.end(), false));
  SliceAssembly slice;
  if (optical) {
    for (int cube = 0; cube < total && static_cast<int>(slice.cubes.size()) < needed; ++cube)
      if (!dead[static_cast<std::size_t>(cube)]) slice.cubes.push_back(cube);
    if (healthy < needed)
      slice = {{},
               Violation{"healthy cubes", fmt::format("{} cubes", needed), fmt::format("{} of {}", healthy, total)}};
    return slice;
  }
  for (int origin = 0; origin < total; ++origin) {
    slice.cubes.clear();
    const int o[3] = {origin % pod[0], origin / pod[0] % pod[1], origin / pod[0] / pod[1]};
    for (int i = 0; i < needed; ++i) {
      const int x = o[0] + i % want[0], y = o[1] + i / want[0] % want[1], z = o[2] + i / want[0] / want[1];
      if (x >= pod[0] || y >= pod[1] || z >= pod[2]) break;
      const int cube = x + pod[0] * (y + pod[1] * z);
      if (dead[static_cast<std::size_t>(cube)]) break;
      slice.cubes.push_back(cube);
    }
    if (static_cast<int>(slice.cubes.size()) == needed) return slice;
  }
  return {{},
          Violation{"a box of healthy cubes (fixed cables)", fmt::format("{}x{}x{} cubes", want[0], want[1], want[2]),
                    fmt::format("{} healthy cubes, no such box among them", healthy)}};
}

}  // namespace meshwright::topology
