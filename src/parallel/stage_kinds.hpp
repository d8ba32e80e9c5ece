#pragma once
// How many blocks of which class each pipeline stage holds, stages that are alike taken together.
#include "meshwright/parallel/tables.hpp"

namespace meshwright {

/// Layers of each chunk in model order: pp * vp of them; chunk i is on stage i % pp.
std::vector<int> chunk_layers(const Transformer& model, const Framework& framework, const Layout& layout);
StageKinds stage_kinds(const Transformer& model, const Framework& framework, const std::vector<LayerClass>& classes,
                       const Layout& layout);

}  // namespace meshwright
