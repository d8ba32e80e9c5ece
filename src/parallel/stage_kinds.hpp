#pragma once
// Which parts of the model each pipeline stage holds, stages that are alike taken together.
#include "meshwright/parallel/tables.hpp"

namespace meshwright::parallel {

/// Every stage in order, each with `stages` 1.
std::vector<StageKind> all_stages(const Transformer& model, const Framework& framework, const Layout& layout);
StageKinds stage_kinds(const Transformer& model, const Framework& framework, const Layout& layout);

}  // namespace meshwright::parallel
