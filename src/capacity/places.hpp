#pragma once
// Places in messages: parts of a scenario are read as JSON texts of their own, and what they refuse is to be found in
// the file that the user wrote.
#include <string>

#include "meshwright/core/error.hpp"

namespace meshwright::capacity {

/// Runs `body`, which reads JSON text under the name `name`. An Error at "name" or "name:/pointer" is thrown again at
/// place(pointer); others go through.
template <class Place, class Body>
auto with_places(const std::string& name, Place place, Body body) {
  try {
    return body();
  } catch (const Error& e) {
    if (!e.where().starts_with(name)) throw;
    std::string pointer = e.where().substr(name.size());
    if (pointer.starts_with(':')) pointer.erase(0, 1);
    if (!pointer.empty() && !pointer.starts_with('/')) throw;
    throw Error(place(pointer), e.what_happened());
  }
}

/// The same for a text that stands as it is at `name`, itself "file:/pointer" or "file".
template <class Body>
auto in_place(const std::string& name, Body body) {
  const bool inside = name.find(":/") != std::string::npos;
  return with_places(
      name, [&](const std::string& pointer) { return name + (inside || pointer.empty() ? "" : ":") + pointer; }, body);
}

}  // namespace meshwright::capacity
