#pragma once
// Files that a scenario takes over.
#include <filesystem>

#include "meshwright/core/reader.hpp"

namespace meshwright::capacity {

/// The scenario with the members of its includes under its own.
Reader with_includes(const std::filesystem::path& file);

}  // namespace meshwright::capacity
