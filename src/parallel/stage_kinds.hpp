#pragma once
// How many blocks of which class each pipeline stage holds, stages that are alike taken together.
#include "meshwright/parallel/tables.hpp"

namespace meshwright::parallel {

/// Every stage in order, each with `stages` 1.
std::vector<StageKind> all_stages(const Transformer& model, const Framework& framework,
                                  const std::vector<LayerClass>& classes, const Layout& layout);
StageKinds stage_kinds(const Transformer& model, const Framework& framework, const std::vector<LayerClass>& classes,
                       const Layout& layout);

}  // namespace meshwright::parallel
