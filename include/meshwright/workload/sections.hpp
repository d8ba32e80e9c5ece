#pragma once
// What a model is made of, as pipeline stages hold it. Costs, memory, placements, bounds and listings walk this list.
#include <vector>

#include "meshwright/workload/operators.hpp"

namespace meshwright::workload {

enum class SectionKind { embedding, block, prediction_module, head };

struct ModelSection {
  SectionKind kind = SectionKind::block;
  LayerShape shape{};  ///< of a block, or of the block inside a module
  double count = 1;    ///< how often a micro-batch passes through it: the head once more for each module
};
/// Whether recompute runs its forward pass again.
constexpr bool is_recomputed(const ModelSection& section) {
  return section.kind == SectionKind::block || section.kind == SectionKind::prediction_module;
}

/// In model order: embedding, blocks by layer_classes(), multi-token-prediction modules where there are any, head.
std::vector<ModelSection> model_sections(const Transformer& model);

/// Operators of one section for `micro_batch` sequences of `seq_len` tokens.
std::vector<Operator> section_operators(const Transformer& model, const ModelSection& section, double micro_batch,
                                        double seq_len, const Shard& shard, const Precision& precision,
                                        int vocab_multiple = 128);

}  // namespace meshwright::workload
