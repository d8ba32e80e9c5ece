#pragma once
// Routes on tori.
#include <span>

#include "meshwright/topology/fabric.hpp"

namespace meshwright::topology {

/// Dimension-ordered, the shorter way round each ring (both ways, half and half, where they are as long); on twisted
/// tori spread over all shortest paths.
void append_torus_route(const Fabric& fabric, int source, int target, Route& out);

/// Node `v` moved by `by` steps in each dimension, wrapping with the torus's twist.
int torus_move(const Torus& torus, int v, std::span<const int> by);

}  // namespace meshwright::topology
