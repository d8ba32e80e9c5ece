#pragma once
// What cluster files and overlays may hold, as JSON Schema, from the rows that they are read by.
#include "meshwright/core/members.hpp"

namespace meshwright::hardware {

/// The object that read_cluster_spec() reads.
JsonSchema cluster_shape();
/// A file of an overlay: entries of the catalogue. `frameworks` is what an entry of that list may be.
JsonSchema overlay_shape(const JsonSchema& frameworks);

}  // namespace meshwright::hardware
