#include <optional>

#include "values.hpp"

namespace meshwright::python {
namespace {

py::tuple state_of(const Cluster& cluster) {
  return py::make_tuple(to_json(cluster.spec), folders_of(*cluster.catalog));
}
Cluster cluster_of(const std::string& spec, const Catalog& catalog) {
  return complete(read_cluster_spec(Reader::text(spec, "Cluster")), catalog);
}
Cluster cluster_from(const py::tuple& plain) {
  return cluster_of(plain[0].cast<std::string>(), catalog_with(plain[1].cast<py::tuple>()));
}

/// A part of a catalogue or of a cluster, and which: parts have no file format of their own.
template <class T>
struct Part : T {
  std::shared_ptr<const CatalogData> catalog;
  std::optional<ClusterSpec> cluster;  ///< that it belongs to
};
template <class T>
Part<T> part_of(const Cluster& cluster, const T& part) {
  return {part, cluster.catalog, cluster.spec};
}
template <class T>
std::vector<Part<T>> parts_of(const Catalog& catalog, const std::vector<T>& entries) {
  std::vector<Part<T>> parts;
  parts.reserve(entries.size());
  for (const T& entry : entries) parts.push_back({entry, catalog.data(), std::nullopt});
  return parts;
}
/// == of parts: of one name in one catalogue, or in clusters of which the same was said.
template <class T>
void def_part(py::class_<Part<T>>& cls, const T& (*entry)(const Catalog&, const std::string&),
              const T& (*member)(const Cluster&)) {
  def_value(
      cls,
      [](const Part<T>& part) {
        const std::string spec = part.cluster ? to_json(*part.cluster) : std::string();
        return py::make_tuple(part.name, spec, folders_of(*part.catalog));
      },
      [entry, member](const py::tuple& plain) -> Part<T> {
        const Catalog catalog = catalog_with(plain[2].cast<py::tuple>());
        const std::string spec = plain[1].cast<std::string>();
        if (spec.empty()) return {entry(catalog, plain[0].cast<std::string>()), catalog.data(), std::nullopt};
        const Cluster cluster = cluster_of(spec, catalog);
        return part_of(cluster, member(cluster));
      });
}

void bind_accelerator(py::module_& module) {
  py::class_<Part<Accelerator>> cls(module, "Accelerator", "One accelerator of the hardware database.");
  cls.def_readonly("name", &Part<Accelerator>::name, "As the database has it: 'H100-SXM5-80GB'")
      .def_readonly("vendor", &Part<Accelerator>::vendor, "'NVIDIA', 'AMD', 'Google', ...")
      .def_readonly("architecture", &Part<Accelerator>::architecture, "'hopper', 'cdna3', 'tpu-v5p', ...")
      .def_readonly("sm_count", &Part<Accelerator>::sm_count,
                    "Streaming multiprocessors, compute units or cores; 0 = not published")
      .def(
          "peak",
          [](const Part<Accelerator>& a, const std::string& dtype) {
            return a.peak(parse_dtype(dtype, "dtype")).value();
          },
          py::arg("dtype"), "Dense matrix peak [FLOP/s] of 'bf16', 'fp8', ...; 0 where it has none.")
      .def("__repr__", [](const Part<Accelerator>& a) { return "<Accelerator " + a.name + ">"; });
  def_quantity(cls, "memory_capacity", &Accelerator::memory_capacity, "Bytes");
  def_quantity(cls, "memory_bandwidth", &Accelerator::memory_bandwidth, "Data sheet, bytes per second");
  def_quantity(cls, "scale_up_bandwidth", &Accelerator::scale_up_bandwidth,
               "All links, bytes per second per direction");
  def_quantity(cls, "tdp", &Accelerator::tdp, "Watts");
  def_part<Accelerator>(
      cls, [](const Catalog& c, const std::string& name) -> const Accelerator& { return c.accelerator(name); },
      [](const Cluster& c) -> const Accelerator& { return c.accelerator; });
}

void bind_node(py::module_& module) {
  py::class_<Part<Node>> cls(module, "Node", "A server, tray or host.");
  cls.def_readonly("name", &Part<Node>::name, "As the database has it: 'dgx-h100'")
      .def_readonly("title", &Part<Node>::title, "As its maker calls it: 'NVIDIA DGX H100'")
      .def_readonly("accelerator", &Part<Node>::accelerator, "Name of its accelerators")
      .def_readonly("accelerators", &Part<Node>::accelerators, "Accelerators in one node")
      .def_readonly("scale_up_domain", &Part<Node>::scale_up_domain,
                    "Accelerators in one scale-up domain, which may span nodes (NVL72: 72)")
      .def_readonly("nics", &Part<Node>::nics, "NICs of one node for the training fabric")
      .def_readonly("fabric", &Part<Node>::fabric, "Scale-out fabric: 'infiniband', 'roce', 'efa', 'ici', 'none', ...")
      .def("__repr__", [](const Part<Node>& n) { return "<Node " + n.name + ">"; });
  def_quantity(cls, "scale_up_bandwidth", &Node::scale_up_bandwidth, "Per accelerator, bytes per second per direction");
  def_quantity(cls, "nic_bandwidth", &Node::nic_bandwidth, "One NIC, bytes per second per direction");
  def_part<Node>(
      cls, [](const Catalog& c, const std::string& name) -> const Node& { return c.node(name); },
      [](const Cluster& c) -> const Node& { return c.node; });
}

void bind_network(py::module_& module) {
  using Designed = Part<Network>;
  py::class_<Designed> cls(module, "Network",
                           "The scale-out network as designed; Cluster.replace(network=...) changes it.");
  cls.def_readonly("topology", &Designed::topology, "'fat-tree', 'rail-optimised', 'rail-only', 'dragonfly', ...")
      .def_readonly("tiers", &Designed::tiers, "0 = the fewest that fit")
      .def_readonly("planes", &Designed::planes, "Independent copies; 0 = as the topology has them")
      .def_readonly("oversubscription", &Designed::oversubscription, "Downlink:uplink by tier, leaf first")
      .def_readonly("routing", &Designed::routing, "'adaptive', 'ecmp', 'static' or 'spray'")
      .def("__repr__", [](const Designed& n) { return "<Network " + n.topology + ", " + n.routing + " routing>"; });
  def_value(
      cls, [](const Designed& n) { return py::make_tuple(to_json(*n.cluster), folders_of(*n.catalog)); },
      [](const py::tuple& plain) {
        const Cluster cluster = cluster_from(plain);
        return part_of(cluster, cluster.network);
      });
}

void bind_cluster(py::module_& module) {
  py::class_<Cluster> cls(
      module, "Cluster", "A cluster: a value that carries everything a prediction needs. See cluster() and replace().");
  cls.def(
         py::init([](const py::kwargs& fields) { return cluster_of(to_json_text(fields, "Cluster"), load_catalog()); }),
         "Cluster(of='dgx-h100', nodes=64, network={'oversubscription': [2]}): the members of a cluster file.")
      .def_readonly("name", &Cluster::name, "Name of the cluster, or of its node")
      .def_property_readonly(
          "node", [](const Cluster& c) { return part_of(c, c.node); }, "The node that it is made of")
      .def_property_readonly(
          "accelerator", [](const Cluster& c) { return part_of(c, c.accelerator); }, "The accelerator of its nodes")
      .def_readonly("nodes", &Cluster::nodes, "Number of nodes")
      .def_readonly("assumptions", &Cluster::assumptions, "Every default that entered, in words")
      .def_property_readonly(
          "network", [](const Cluster& c) { return part_of(c, c.network); }, "The scale-out network as designed")
      .def_property_readonly("accelerators", &Cluster::accelerators, "Accelerators in all nodes")
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
            py::dict said = dict_of(to_json(c.spec));
            py::dict network = said.contains("network") ? py::dict(said["network"]) : py::dict();
            for (const auto& [key, value] : members) network[key] = value;
            said["network"] = network;
            return cluster_of(to_json_text(said, "network"), Catalog(c.catalog));
          },
          "The same cluster with another network: topology, tiers, oversubscription, reach, planes, switch, routing, "
          "efficiency, as in cluster files.")
      .def(
          "replace",
          [](const Cluster& c, const py::kwargs& fields) {
            return cluster_of(changed(to_json(c.spec), fields, "Cluster"), Catalog(c.catalog));
          },
          "The same cluster with something else said of it: cluster.replace(nodes=128, network={'planes': 2}). None = "
          "the default.")
      .def(
          "to_dict", [](const Cluster& c) { return dict_of(to_json(c.spec)); },
          "What was said of it: the members of a cluster file.")
      .def("__repr__", [](const Cluster& c) {
        return "<Cluster " + c.name + ": " + std::to_string(c.accelerators()) + " x " + c.accelerator.name + ">";
      });
  def_value(
      cls, [](const Cluster& c) { return state_of(c); }, &cluster_from);
}

}  // namespace

void bind_hardware(py::module_& module) {
  bind_accelerator(module);
  bind_node(module);
  bind_network(module);
  bind_cluster(module);
  module.def(
      "cluster",
      [](const std::string& name, int nodes, int accelerators, const std::optional<std::filesystem::path>& hardware) {
        return make_cluster(load_catalog(hardware.value_or("")), name, nodes, accelerators);
      },
      py::arg("name"), py::kw_only(), py::arg("nodes") = 0, py::arg("accelerators") = 0,
      py::arg("hardware") = py::none(),
      "A reference cluster, a node name with a number of nodes, or a cluster file; `hardware` is a folder of "
      "overlays.");
  const auto define = [&](const char* name, auto list, const char* doc) {
    module.def(
        name,
        [list](const std::optional<std::filesystem::path>& hardware) {
          const Catalog catalog = load_catalog(hardware.value_or(""));
          return parts_of(catalog, list(catalog));
        },
        py::kw_only(), py::arg("hardware") = py::none(), doc);
  };
  module.def(
      "clusters",
      [](const std::optional<std::filesystem::path>& hardware) {
        const Catalog catalog = load_catalog(hardware.value_or(""));
        std::vector<Cluster> all;
        for (const ReferenceCluster& known : catalog.clusters) all.push_back(make_cluster(catalog, known.name, 0, 0));
        return all;
      },
      py::kw_only(), py::arg("hardware") = py::none(),
      "Every reference cluster of the hardware database, with overlays as accelerators() takes them.");
  define(
      "accelerators", [](const Catalog& catalog) -> const auto& { return catalog.accelerators; },
      "Every accelerator of the hardware database with the overlays of the folder `hardware` and of the environment's "
      "MESHWRIGHT_HARDWARE.");
  define(
      "nodes", [](const Catalog& catalog) -> const auto& { return catalog.nodes; },
      "Every node of the hardware database with the overlays of the folder `hardware` and of the environment's "
      "MESHWRIGHT_HARDWARE.");
}

}  // namespace meshwright::python
