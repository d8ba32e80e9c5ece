#include "meshwright/workload/sections.hpp"

#include "workload/weights.hpp"

namespace meshwright::workload {

std::vector<ModelSection> model_sections(const Transformer& model) {
  std::vector<ModelSection> sections = {{.kind = SectionKind::embedding}};
  for (const LayerClass& blocks : layer_classes(model)) {
    sections.push_back(
        {.kind = SectionKind::block, .shape = blocks.shape, .count = static_cast<double>(blocks.layers)});
  }
  if (model.mtp_layers > 0) {
    const auto modules = static_cast<double>(model.mtp_layers);
    sections.push_back({.kind = SectionKind::prediction_module, .shape = mtp_shape(model), .count = modules});
  }
  sections.push_back({.kind = SectionKind::head, .count = 1.0 + model.mtp_layers});
  return sections;
}

std::vector<Operator> section_operators(const Transformer& model, const ModelSection& section, double micro_batch,
                                        double seq_len, const Shard& shard, const Precision& precision,
                                        int vocab_multiple) {
  switch (section.kind) {
    case SectionKind::embedding:
      return embedding_operators(model, micro_batch, seq_len, shard, precision, vocab_multiple);
    case SectionKind::block:
      return layer_operators(model, section.shape, micro_batch, seq_len, shard, precision);
    case SectionKind::prediction_module:
      return mtp_operators(model, micro_batch, seq_len, shard, precision);
    case SectionKind::head:
      break;
  }
  return head_operators(model, micro_batch, seq_len, shard, precision, vocab_multiple);
}

}  // namespace meshwright::workload
