#include <algorithm>

#include "bindings.hpp"
#include "meshwright/topology/place.hpp"

namespace meshwright::python {

void bind_topology(py::module_& module) {
  py::class_<Level> level(module, "Level", "One level of a group's place in the fabric.");
  level.def_readonly("ranks", &Level::ranks)
      .def_readonly("link", &Level::link, "What limits it")
      .def_readonly("reduces", &Level::reduces, "A switch at this level can reduce")
      .def_property_readonly("scale_up", [](const Level& l) { return l.kind == LevelKind::scale_up; });
  def_quantity(level, "bandwidth", &Level::bandwidth, "Per rank, bytes per second per direction");
  def_quantity(level, "latency", &Level::latency, "Seconds, one way");

  module.def(
      "place_group",
      [](const Cluster& cluster, int size, int stride) {
        within(size, "size", 1, cluster.accelerators());
        within(stride, "stride", 1, std::max(1, cluster.accelerators() / size));
        return place_group(cluster, size, stride).levels;
      },
      py::arg("cluster"), py::arg("size"), py::arg("stride") = 1,
      "Levels of a group of `size` ranks that are `stride` apart, innermost first.");
}

}  // namespace meshwright::python
