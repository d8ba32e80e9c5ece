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

Catalog catalog_with(const py::tuple& folders) {
  Paths paths;
  for (const py::handle folder : folders) paths.emplace_back(folder.cast<std::string>());
  return overlaid(paths);
}

std::string changed(const std::string& object, const py::kwargs& changes) {
  const py::dict members = from_json(object);
  for (const auto& [key, value] : changes) {
    if (value.is_none())
      members.attr("pop")(key, py::none());
    else
      members[key] = value;
  }
  return to_json_text(members);
}

}  // namespace meshwright::python
