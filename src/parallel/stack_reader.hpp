#pragma once
// Reading of a stack's profile: its own file, overlays of it, and the releases up to the one that is wanted.
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "meshwright/parallel/framework.hpp"

namespace meshwright::parallel {

/// A profile from its own file and then overlays of it, at the release that `version` and `date` pick (framework()).
Framework read_stack(std::span<const Reader> files, std::string_view version, std::string_view date,
                     ReleaseChoice* choice);
inline Framework read_stack(std::initializer_list<Reader> files, std::string_view version, std::string_view date,
                            ReleaseChoice* choice) {
  return read_stack(std::span<const Reader>(files.begin(), files.size()), version, date, choice);
}

}  // namespace meshwright::parallel
