#include "bindings.hpp"
#include "meshwright/core/breakdown.hpp"
#include "meshwright/core/error.hpp"

namespace meshwright::python {

void bind_core(py::module_& module) {
  py::register_exception<Error>(module, "Error", PyExc_ValueError).doc() =
      "Bad input: one line that names the place, what was found and what was expected.";

  py::class_<Term>(module, "Term", "One named term of a breakdown, in base units; its parts sum to it.")
      .def_readonly("name", &Term::name)
      .def_readonly("value", &Term::value, "Base units")
      .def_readonly("unit", &Term::unit)
      .def_readonly("formula", &Term::formula)
      .def_readonly("source", &Term::source, "The parameter and where it comes from")
      .def_readonly("parts", &Term::parts)
      .def(
          "total", [](const Term& t) { return total(t); }, "Sum of the leaves")
      .def(
          "compare", [](const Term& a, const Term& b) { return compare(a, b); }, py::arg("other"),
          "other - self, term by term: again a Term")
      .def(
          "find", [](const Term& t, const std::string& name) { return find(t, name); }, py::arg("name"),
          py::return_value_policy::reference_internal, "The first term of that name, or None")
      .def("to_dict", [](const Term& t) { return from_json(to_json(t)); })
      .def("__repr__", [](const Term& t) {
        return "<Term " + t.name + " " + py::str(py::cast(t.value)).cast<std::string>() + " " + t.unit + ">";
      });

  module.def(
      "parse_bandwidth",
      [](const std::string& text) { return parse_quantity<BytesPerSecond::dimension>(text, "bandwidth").value(); },
      py::arg("text"), "Bytes per second of a text such as '400 Gb/s'.");
  module.def(
      "parse_bytes", [](const std::string& text) { return parse_quantity<Bytes::dimension>(text, "size").value(); },
      py::arg("text"), "Bytes of a text such as '80 GB' (10^9) or '80 GiB' (2^30).");
  module.def(
      "parse_time", [](const std::string& text) { return parse_quantity<Seconds::dimension>(text, "time").value(); },
      py::arg("text"), "Seconds of a text such as '2.5 us'.");
}

}  // namespace meshwright::python
