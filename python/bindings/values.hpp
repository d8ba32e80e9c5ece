#pragma once
// What every value of the package has: ==, hash, copies and pickling, all over one tuple of plain Python values that
// says it whole.
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "bindings.hpp"
#include "meshwright/hardware/catalog.hpp"

namespace meshwright::python {

/// What a notebook does with a value: rows of a frame, and a table as HTML (python/meshwright/frames.py, pages.py).
template <class T, class... More>
void def_shown(py::class_<T, More...>& cls) {
  const auto by = [](const char* part, const char* function) {
    return [part, function](const py::object& self) { return py::module_::import(part).attr(function)(self); };
  };
  py::options plain;
  plain.disable_function_signatures();  // the types that Python's part returns are said here
  cls.def("to_frame", by("meshwright.frames", "to_dataframe"),
          "to_frame(self) -> pandas.DataFrame\n\nRows of a frame; columns carry their unit, as `step_time_s`.")
      .def("_repr_html_", by("meshwright.pages", "page"), "_repr_html_(self) -> str");
}

/// What `made` gives. States are files of somebody else, too: one that makes no `name` is an Error.
template <class Made>
auto from_state(Made made, const std::string& name) {
  std::string why;
  try {
    return made();
  } catch (const py::error_already_set& error) {
    if (!error.matches(PyExc_Exception)) throw;
    why = py::str(error.type().attr("__name__"));
  } catch (const py::cast_error&) {
    why = "a wrong type";
  } catch (const std::logic_error&) {
    why = "a part that does not exist";
  }
  throw Error("state of a " + name, "found " + why + ", expected what pickle wrote of one");
}

/// Bytes would pass for texts of C++, and be none when they are shown.
void refuse_bytes(const py::tuple& state, const std::string& name);

/// Adds ==, hash, copy, pickling and what notebooks show to a class: `state` gives a tuple of texts, numbers and
/// tuples; `made_of` is its inverse. A changed value is another one: don't change what is a key of a dict.
template <class T, class... More, class State, class MadeOf>
void def_value(py::class_<T, More...>& cls, State state, MadeOf made_of) {
  const auto restored = [made_of,
                         name = cls.attr("__name__").template cast<std::string>()](const py::tuple& plain) -> T {
    refuse_bytes(plain, name);
    return from_state([&]() -> T { return made_of(plain); }, name);
  };
  cls.def(
         "__eq__",
         [state](const T& a, const py::object& b) {
           return py::isinstance<T>(b) && state(a).equal(state(b.cast<const T&>()));
         },
         py::arg("other"))
      .def("__hash__", [state](const T& value) { return py::hash(state(value)); })
      .def("__copy__", [](const T& value) { return T(value); })
      .def(
          "__deepcopy__", [](const T& value, const py::dict&) { return T(value); }, py::arg("memo"))
      .def(py::pickle([state](const T& value) -> py::tuple { return state(value); }, restored));
  def_shown(cls);
}

/// The folders of overlays that a catalogue was made with, as a tuple of texts.
inline py::tuple folders_of(const CatalogData& data) {
  py::list folders;
  for (const auto& folder : data.folders) folders.append(folder.string());
  return py::tuple(folders);
}

/// The compiled-in catalogue with those overlays; one each, kept for the life of the process.
Catalog catalog_with(const py::tuple& folders);

/// An object of JSON with `changes` over its members, as text; null takes a member away.
std::string changed(const std::string& object, const py::kwargs& changes, const std::string& where);

}  // namespace meshwright::python
