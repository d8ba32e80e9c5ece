#pragma once
// Files that a scenario takes over.
#include <filesystem>
#include <string>
#include <vector>

#include "meshwright/core/reader.hpp"

namespace meshwright::capacity {

/// A scenario with the members of its includes under its own, and the files that they stand in, the nearest first.
struct WithIncludes {
  Reader whole;
  std::vector<Reader> files;
  /// "main.json:/prices/energy" as the file says in which it stands: "prices.json:/prices/energy".
  std::string written(const std::string& where) const;
};
WithIncludes with_includes(const std::filesystem::path& file);

}  // namespace meshwright::capacity
