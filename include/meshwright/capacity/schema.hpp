#pragma once
// What scenario files may hold, as JSON Schema, from the rows that they are read by.
#include "meshwright/core/members.hpp"

namespace meshwright::capacity {

/// The object that read_scenario() reads, with "include".
JsonSchema scenario_shape();

}  // namespace meshwright::capacity
