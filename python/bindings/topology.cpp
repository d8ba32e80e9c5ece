#include "meshwright/topology/place.hpp"

#include <algorithm>

#include "values.hpp"

namespace meshwright::python {
namespace {

/// A level knows the group that it is of.
struct PlacedLevel : Level {
  Cluster cluster;
  int size = 1, stride = 1;
  std::size_t index = 0;
};

std::vector<PlacedLevel> levels_of(const Cluster& cluster, int size, int stride) {
  within(size, "size", 1, cluster.accelerators());
  within(stride, "stride", 1, std::max(1, cluster.accelerators() / size));
  std::vector<PlacedLevel> levels;
  for (const Level& level : place_group(cluster, size, stride).levels)
    levels.push_back({level, cluster, size, stride, levels.size()});
  return levels;
}

}  // namespace

void bind_topology(py::module_& module) {
  py::class_<PlacedLevel> level(module, "Level", "One level of a group's place in the fabric.");
  level.def_readonly("ranks", &PlacedLevel::ranks, "Ranks of the group at this level")
      .def_readonly("link", &PlacedLevel::link, "What limits it")
      .def_readonly("reduces", &PlacedLevel::reduces, "A switch at this level can reduce")
      .def_property_readonly(
          "scale_up", [](const PlacedLevel& l) { return l.kind == LevelKind::scale_up; },
          "Inside the scale-up domain (NVLink and kin)")
      .def("__repr__", [](const PlacedLevel& l) {
        return "<Level " + std::to_string(l.ranks) + " x " + l.link + ", " + format(l.bandwidth) + " a rank>";
      });
  def_quantity(level, "bandwidth", &Level::bandwidth, "Per rank, bytes per second per direction");
  def_quantity(level, "latency", &Level::latency, "Seconds, one way");
  def_value(
      level, [](const PlacedLevel& l) { return py::make_tuple(py::cast(l.cluster), l.size, l.stride, l.index); },
      [](const py::tuple& plain) {
        return levels_of(plain[0].cast<Cluster>(), plain[1].cast<int>(), plain[2].cast<int>())
            .at(plain[3].cast<std::size_t>());
      });

  module.def("place_group", &levels_of, py::arg("cluster"), py::arg("size"), py::arg("stride") = 1,
             "Levels of a group of `size` ranks that are `stride` apart, innermost first.");
}

}  // namespace meshwright::python
