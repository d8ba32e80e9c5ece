#include "values.hpp"

#include <filesystem>
#include <map>

namespace meshwright::python {
namespace {

using Paths = std::vector<std::filesystem::path>;

/// Kept for the life of the process; under the GIL, one thread at a time.
const Catalog& overlaid(const Paths& folders) {
  static std::map<Paths, Catalog> made;
  if (folders.empty()) return builtin_catalog();
  if (const auto known = made.find(folders); known != made.end()) return known->second;
  const Catalog& base = overlaid({folders.begin(), folders.end() - 1});
  return made.emplace(folders, overlay(base, folders.back())).first->second;
}

}  // namespace

std::string to_json_text(const py::object& object, const std::string& where) {
  const py::cpp_function plain([where](const py::object& value) -> py::object {
    if (!py::hasattr(value, "to_dict"))
      refuse_type(value, where, "texts, numbers, lists, dicts and values of meshwright");
    return value.attr("to_dict")();
  });
  try {
    return py::module_::import("json").attr("dumps")(object, py::arg("default") = plain).cast<std::string>();
  } catch (const py::error_already_set& error) {
    if (error.matches(PyExc_RecursionError)) throw Error(where, "nests too deeply");
    if (error.matches(PyExc_ValueError)) throw Error(where, py::str(error.value()));
    throw;
  }
}

void refuse_bytes(const py::tuple& state, const std::string& name) {
  for (const py::handle part : state) {
    if (py::isinstance<py::bytes>(part))
      throw Error("state of a " + name, "found bytes, expected what pickle wrote of one");
    if (py::isinstance<py::tuple>(part)) refuse_bytes(part.cast<py::tuple>(), name);
  }
}

Catalog catalog_with(const py::tuple& folders) {
  Paths paths;
  for (const py::handle folder : folders) paths.emplace_back(folder.cast<std::string>());
  return overlaid(paths);
}

std::string changed(const std::string& object, const py::kwargs& changes, const std::string& where) {
  const py::dict members = from_json(object);
  for (const auto& [key, value] : changes) {
    if (value.is_none())
      members.attr("pop")(key, py::none());
    else
      members[key] = value;
  }
  return to_json_text(members, where);
}

}  // namespace meshwright::python
