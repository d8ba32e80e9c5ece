#pragma once
// What a model file may hold, as JSON Schema, from the fields that it is read by.
#include "meshwright/core/members.hpp"

namespace meshwright::workload {

/// The object that read_model() reads.
JsonSchema model_shape();

}  // namespace meshwright::workload
