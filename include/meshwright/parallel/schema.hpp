#pragma once
// What job files, and the parts of a stack in overlays, may hold, as JSON Schema, from the rows that they are read by.
#include "meshwright/core/members.hpp"

namespace meshwright::parallel {

/// The object that read_layout() reads.
JsonSchema layout_shape();
/// The "recipe" of a job.
JsonSchema recipe_shape();
/// The "collectives" of a job.
JsonSchema collectives_shape();
/// The object that read_job_spec() reads.
JsonSchema job_shape();
/// An entry of "frameworks" in an overlay.
JsonSchema stack_shape();

}  // namespace meshwright::parallel
