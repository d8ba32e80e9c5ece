#pragma once
// How a configuration deals its layers to a pipeline, in the fields of a layout.
#include <nlohmann/json.hpp>
#include <string>

namespace meshwright::calibrate {

/// Completes "vp", "stages" and "stage_split" of a layout by what the stack says in other terms (`said`):
///   layers_per_chunk             layers of a virtual stage: vp follows
///   modules_per_chunk            the same, where embedding and head count as a layer each
///   chunks                       parts a stage, where nothing else is said
///   first_layers, last_layers    of the first and last stage; the others share the rest
///   embedding, loss              true: counts as a layer
/// `layers` of the model; 0 = not known. Throws Error(where, ...) where the model's layers are needed and not known,
/// or not divided by what is said.
void complete_pipeline(nlohmann::ordered_json& layout, const nlohmann::ordered_json& said, int layers,
                       const std::string& where);

}  // namespace meshwright::calibrate
