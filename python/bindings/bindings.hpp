#pragma once
// One function a folder of the library. Python takes a float in base units or a string with a unit, and gets floats in
// base units; JSON text becomes dicts and lists.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>
#include <pybind11/typing.h>

#include <string>
#include <string_view>

#include "meshwright/core/error.hpp"
#include "meshwright/core/quantity.hpp"
#include "meshwright/core/units.hpp"

namespace meshwright::python {

namespace py = pybind11;

/// For functions that touch no Python object: other threads of the interpreter run meanwhile.
using without_gil_t = py::call_guard<py::gil_scoped_release>;
inline const without_gil_t without_gil{};

void bind_core(py::module_& module);
void bind_hardware(py::module_& module);
void bind_workload(py::module_& module);
void bind_topology(py::module_& module);
void bind_collectives(py::module_& module);
void bind_parallel(py::module_& module);
void bind_search(py::module_& module);
void bind_calibrate(py::module_& module);
void bind_capacity(py::module_& module);

/// json.loads(text).
inline py::object from_json(const std::string& text) { return py::module_::import("json").attr("loads")(text); }
/// The same of an object's text.
inline py::dict dict_of(const std::string& text) { return from_json(text); }
/// A wrong type is Python's TypeError, a wrong value an Error; both name the argument, what was found and what was
/// expected.
[[noreturn]] inline void refuse_type(const py::handle& found, std::string_view where, std::string_view expected) {
  throw py::type_error(std::string(where) + ": found " + Py_TYPE(found.ptr())->tp_name + ", expected " +
                       std::string(expected));
}

/// `value` as a T of C++; `expected` in words.
template <class T>
T as(const py::handle& value, std::string_view where, std::string_view expected) {
  try {
    return value.cast<T>();
  } catch (const py::cast_error&) {
    refuse_type(value, where, expected);
  }
}

/// json.dumps(object), our own values by their to_dict(); `where` names the argument.
std::string to_json_text(const py::object& object, const std::string& where);

/// {name: figure in base units}.
using Figures = py::typing::Dict<py::str, py::float_>;
/// The fields of a struct that describe() knows, in their order.
template <class Described>
Figures described(const Described& value) {
  Figures out;
  describe(value, [&](const char* field, auto part) { out[field] = part.value(); });
  return out;
}

/// `value` within [least, most]; NaN is not.
template <class Number>
Number within(Number value, const std::string& where, Number least, Number most) {
  if (value >= least && value <= most) return value;
  const auto text = [](Number n) { return py::str(py::cast(n)).template cast<std::string>(); };
  throw Error(where, "found " + text(value) + ", expected " + text(least) + " to " + text(most));
}

/// A float in base units or a string with a unit.
template <class Q>
Q quantity(const py::object& value, const std::string& where) {
  if (py::isinstance<py::str>(value))
    return parse_quantity<Q::dimension>(as<std::string>(value, where, "a text in UTF-8"), where);
  constexpr double most = 1e24;
  return Q::base(within(as<double>(value, where, "a number in base units or a text with a unit"), where, 0.0, most));
}

/// A read-only property that gives a Quantity member as a float in base units.
template <class Class, class Object, class Q>
void def_quantity(Class& cls, const char* name, Q Object::*member, const char* doc) {
  cls.def_property_readonly(
      name, [member](const typename Class::type& o) { return (o.*member).value(); }, doc);
}

}  // namespace meshwright::python
