#pragma once
// From a stack's profile to the recipe of one job: its precision's defaults, what the job states, what the device has.
#include <optional>

#include "meshwright/core/reader.hpp"
#include "meshwright/parallel/job.hpp"

namespace meshwright::parallel {

/// Sets `job.recipe` from its framework, precision and accelerator, which must be set, and the fields that `stated`
/// (a "recipe" object) gives. Each part that has fields from the stack is added to `job.assumptions` as an object that
/// could be stated, without what is off. Attention "auto" becomes the first kernel of the stack's list that the device
/// has; a master copy in the weights' own format becomes none. Throws Error(where, ...) for a kernel that the device or
/// the stack lacks, for formats that make no sense together and for unknown names.
void complete_recipe(JobParts& job, const std::optional<Reader>& stated);

}  // namespace meshwright::parallel
