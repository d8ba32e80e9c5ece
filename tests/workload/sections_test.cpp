#include "meshwright/workload/sections.hpp"

#include <gtest/gtest.h>

#include "meshwright/workload/presets.hpp"

namespace meshwright::workload {
namespace {

double parameters(const Transformer& model, const ModelSection& section) {
  double sum = 0;
  for (const Operator& op : section_operators(model, section, 1, 4096, {}, precision("bf16", "test"), 1)) {
    sum += op.weight_elements;
  }
  return sum;
}

TEST(Sections, HoldEveryParameterOfEveryModel) {
  for (Transformer model : model_presets()) {
    model.extra_params = model.extra_params_per_layer = 0;  // of no operator
    double sum = 0;
    for (const ModelSection& section : model_sections(model)) {
      const bool shared = section.kind == SectionKind::head;  // by the modules, and tied with the embedding
      const double copies = shared ? 1 : section.count;
      if (!shared || !model.tied_embeddings) sum += copies * parameters(model, section);
    }
    const ParameterCounts counts = parameter_counts(model);
    EXPECT_NEAR(sum / (counts.total + counts.mtp), 1, 2e-3) << model.name;
  }
}

TEST(Sections, StandInModelOrder) {
  const auto sections = model_sections(load_model("deepseek-v3"));
  ASSERT_EQ(sections.size(), 5u);
  EXPECT_EQ(sections.front().kind, SectionKind::embedding);
  EXPECT_EQ(sections[1].count, 3);   // dense blocks
  EXPECT_EQ(sections[2].count, 58);  // mixtures
  EXPECT_EQ(sections[3].kind, SectionKind::prediction_module);
  EXPECT_EQ(sections[3].shape.feed, FeedForward::moe);
  EXPECT_EQ(sections.back().count, 2);  // the module's pass and the model's own
}

}  // namespace
}  // namespace meshwright::workload
