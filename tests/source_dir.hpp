#pragma once
#include <filesystem>

namespace meshwright {

/// The project's own folder. A function of one file, so that the objects of all others are equal in every clone and a
/// compiler cache serves them.
std::filesystem::path source_dir();

}  // namespace meshwright
