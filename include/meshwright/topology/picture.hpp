#pragma once
// A fabric as text.
#include <string>

#include "meshwright/topology/fabric.hpp"

namespace meshwright::topology {

/// The tiers from the top down to one unit, boxes where they are few and counts where they are many, with the cables
/// between; a grid for a torus. At most `width` columns, ASCII only.
std::string picture(const Fabric& fabric, std::size_t width = 96);

}  // namespace meshwright::topology
