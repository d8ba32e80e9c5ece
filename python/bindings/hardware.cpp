#include <optional>

#include "bindings.hpp"
#include "meshwright/hardware/catalog.hpp"

namespace meshwright::python {
namespace {

void bind_accelerator(py::module_& module) {
  py::class_<Accelerator> cls(module, "Accelerator", "One accelerator of the hardware database.");
  cls.def_readonly("name", &Accelerator::name)
      .def_readonly("vendor", &Accelerator::vendor)
      .def_readonly("architecture", &Accelerator::architecture)
      .def_readonly("sm_count", &Accelerator::sm_count)
      .def(
          "peak",
          [](const Accelerator& a, const std::string& dtype) { return a.peak(parse_dtype(dtype, "dtype")).value(); },
          py::arg("dtype"), "Dense matrix peak [FLOP/s] of 'bf16', 'fp8', ...; 0 where it has none.")
      .def("__repr__", [](const Accelerator& a) { return "<Accelerator " + a.name + ">"; });
  def_quantity(cls, "memory_capacity", &Accelerator::memory_capacity, "Bytes");
  def_quantity(cls, "memory_bandwidth", &Accelerator::memory_bandwidth, "Data sheet, bytes per second");
  def_quantity(cls, "scale_up_bandwidth", &Accelerator::scale_up_bandwidth,
               "All links, bytes per second per direction");
  def_quantity(cls, "tdp", &Accelerator::tdp, "Watts");
}

void bind_node(py::module_& module) {
  py::class_<Node> cls(module, "Node", "A server, tray or host.");
  cls.def_readonly("name", &Node::name)
      .def_readonly("title", &Node::title)
      .def_readonly("accelerator", &Node::accelerator)
      .def_readonly("accelerators", &Node::accelerators)
      .def_readonly("scale_up_domain", &Node::scale_up_domain)
      .def_readonly("nics", &Node::nics)
      .def_readonly("fabric", &Node::fabric)
      .def("__repr__", [](const Node& n) { return "<Node " + n.name + ">"; });
  def_quantity(cls, "scale_up_bandwidth", &Node::scale_up_bandwidth, "Per accelerator, bytes per second per direction");
  def_quantity(cls, "nic_bandwidth", &Node::nic_bandwidth, "One NIC, bytes per second per direction");
}

void bind_network(py::module_& module) {
  py::class_<Network>(module, "Network", "The scale-out network as designed.")
      .def_readonly("topology", &Network::topology)
      .def_readonly("tiers", &Network::tiers, "0 = the fewest that fit")
      .def_readonly("oversubscription", &Network::oversubscription, "Downlink:uplink by tier, leaf first")
      .def_readonly("routing", &Network::routing);
}

}  // namespace

void bind_hardware(py::module_& module) {
  bind_accelerator(module);
  bind_node(module);
  bind_network(module);

  py::class_<Cluster>(module, "Cluster", "A cluster: a value that carries everything a prediction needs.")
      .def_readonly("name", &Cluster::name)
      .def_readonly("node", &Cluster::node)
      .def_readonly("accelerator", &Cluster::accelerator)
      .def_readonly("nodes", &Cluster::nodes)
      .def_readonly("assumptions", &Cluster::assumptions)
      .def_readonly("network", &Cluster::network)
      .def_property_readonly("accelerators", &Cluster::accelerators)
      .def(
          "with_nic",
          [](const Cluster& c, const py::object& bandwidth) {
            const auto rate = quantity<BytesPerSecond>(bandwidth, "bandwidth");
            within(rate.value(), "bandwidth", 1.0, 1e15);
            return with(c, [&](ClusterSpec& spec) { spec.node.nic_bandwidth = rate; });
          },
          py::arg("bandwidth"), "The same cluster with NICs of another speed (bytes per second, or '800 Gb/s').")
      .def(
          "with_network",
          [](const Cluster& c, const py::kwargs& members) {
            py::dict said = from_json(to_json(c.spec));
            py::dict network = said.contains("network") ? py::dict(said["network"]) : py::dict();
            for (const auto& [key, value] : members) network[key] = value;
            said["network"] = network;
            return complete(read_cluster_spec(Reader::text(to_json_text(said), "Cluster")), Catalog(c.catalog));
          },
          "The same cluster with another network: topology, tiers, oversubscription, reach, planes, switch, routing, "
          "efficiency, as in cluster files.")
      .def(py::pickle(
          [](const Cluster& c) {
            refuse_other_catalog(c);
            return to_json(c.spec);
          },
          [](const std::string& text) {
            return complete(read_cluster_spec(Reader::text(text, "Cluster")), builtin_catalog());
          }))
      .def("__repr__", [](const Cluster& c) {
        return "<Cluster " + c.name + ": " + std::to_string(c.accelerators()) + " x " + c.accelerator.name + ">";
      });

  module.def(
      "cluster",
      [](const std::string& name, int nodes, int accelerators, const std::optional<std::filesystem::path>& hardware) {
        return make_cluster(load_catalog(hardware.value_or("")), name, nodes, accelerators);
      },
      py::arg("name"), py::kw_only(), py::arg("nodes") = 0, py::arg("accelerators") = 0,
      py::arg("hardware") = py::none(),
      "A reference cluster, a node name with a number of nodes, or a cluster file; `hardware` is a folder of "
      "overlays.");
  module.def(
      "accelerators", [] { return builtin_catalog().accelerators; }, "Every accelerator of the hardware database.");
  module.def(
      "nodes", [] { return builtin_catalog().nodes; }, "Every node of the hardware database.");
}

}  // namespace meshwright::python
