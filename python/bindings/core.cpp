#include "meshwright/core/breakdown.hpp"

#include "meshwright/core/error.hpp"
#include "meshwright/core/units.hpp"
#include "values.hpp"

namespace meshwright::python {
namespace {

Term read_term(const Reader& reader) {
  Term term{.name = reader.string_or("name", ""),
            .value = reader.number_or("value", 0),
            .unit = reader.string_or("unit", ""),
            .formula = reader.string_or("formula", ""),
            .source = reader.string_or("source", ""),
            .parts = {}};
  if (const auto parts = reader.find("parts")) {
    for (const Reader& part : parts->items()) term.parts.push_back(read_term(part));
  }
  return term;
}

}  // namespace

void bind_core(py::module_& module) {
  py::register_exception<Error>(module, "Error", PyExc_ValueError).doc() =
      "Bad input: one line that names the place, what was found and what was expected.";

  py::class_<Term> term(module, "Term", "One named term of a breakdown, in base units; its parts sum to it.");
  term.def_readonly("name", &Term::name, "As tables show it")
      .def_readonly("value", &Term::value, "Base units")
      .def_readonly("unit", &Term::unit, "'s' or 'B'")
      .def_readonly("formula", &Term::formula, "With its numbers")
      .def_readonly("source", &Term::source, "The parameter and where it comes from")
      .def_readonly("parts", &Term::parts, "Terms that sum to it")
      .def("__iter__", [](const Term& t) { return py::iter(py::cast(t.parts)); })
      .def(
          "total", [](const Term& t) { return total(t); }, "Sum of the leaves")
      .def(
          "compare", [](const Term& a, const Term& b) { return compare(a, b); }, py::arg("other"),
          "other - self, term by term: again a Term")
      .def(
          "find", [](const Term& t, const std::string& name) { return find(t, name); }, py::arg("name"),
          py::return_value_policy::reference_internal, "The first term of that name, or None")
      .def(
          "to_dict", [](const Term& t) { return dict_of(to_json(t)); }, "The whole tree")
      .def("__repr__",
           [](const Term& t) { return "<Term " + t.name + " " + std::to_string(t.value) + " " + t.unit + ">"; });
  def_value(
      term, [](const Term& t) { return py::make_tuple(to_json(t)); },
      [](const py::tuple& plain) { return read_term(Reader::text(plain[0].cast<std::string>(), "Term")); });

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
  module.def("readable", &format_in, py::arg("value"), py::arg("unit"),
             "A figure in base units for people: readable(0.0127, 's') is '12.7 ms'; units s, B, B/s, FLOP/s, FLOP, W, "
             "$, %, '' "
             "(a count).");
}

}  // namespace meshwright::python
