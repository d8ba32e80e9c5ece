#include "parallel/stage_kinds.hpp"

#include <algorithm>

#include "meshwright/parallel/pipeline.hpp"
#include "meshwright/workload/sections.hpp"

namespace meshwright::parallel {
namespace {

/// The stages while chunks are dealt to them: every section of the model, those that they lack with no passes.
class Dealt {
 public:
  Dealt(const Transformer& model, int stages, double copies)
      : sections_(model_sections(model)), copies_(copies), all_(static_cast<std::size_t>(stages)) {
    for (std::size_t s = 0; s < all_.size(); ++s) {
      all_[s] = {.first = static_cast<int>(s), .stages = 1, .sections = {}};
      for (std::size_t section = 0; section < sections_.size(); ++section)
        all_[s].sections.push_back({.section = section});
    }
    for (int layer = 0; layer < model.layers; ++layer) {
      const auto same =
          std::ranges::find(sections_.begin() + 1, sections_.end(), layer_shape(model, layer), &ModelSection::shape);
      section_of_layer_.push_back(static_cast<std::size_t>(same - sections_.begin()));
    }
  }

  void add(const Chunk& chunk) {
    StageKind& stage = all_[static_cast<std::size_t>(chunk.stage)];
    for (int i = 0; i < chunk.layers; ++i) {
      add(stage, section_of_layer_[static_cast<std::size_t>(chunk.first + i)], 1, 1);
      stage.blocks += 1 / copies_;
    }
    if (chunk.embedding) add(stage, 0, 1, 1);
    if (!chunk.head) return;
    // Modules that predict further tokens stand before the head and share it.
    const std::size_t before_head = sections_.size() - 2;
    if (sections_[before_head].kind == SectionKind::prediction_module) {
      add(stage, before_head, sections_[before_head].count, sections_[before_head].count);
    }
    add(stage, sections_.size() - 1, sections_.back().count, 1);
  }

  std::vector<StageKind> stages(bool tied) {
    for (StageKind& stage : all_) {
      // A tied head on the embedding's own stage shares its weights; elsewhere it holds a copy.
      if (tied && stage.sections.front().held > 0) stage.sections.back().held = 0;
      std::erase_if(stage.sections, [](const StageSection& section) { return section.runs == 0; });
    }
    return std::move(all_);
  }

 private:
  /// Schedules that hold every section twice run half of the micro-batches through each copy.
  void add(StageKind& stage, std::size_t section, double runs, double held) {
    stage.sections[section].runs += runs / copies_;
    stage.sections[section].held += held;
  }

  std::vector<ModelSection> sections_;  // the embedding first, the head last
  double copies_;
  std::vector<StageKind> all_;
  std::vector<std::size_t> section_of_layer_;
};

}  // namespace

std::vector<StageKind> all_stages(const Transformer& model, const Framework& framework, const Layout& layout) {
  Dealt dealt(model, layout.pp, effective_schedule(layout)->weight_copies);
  for (const Chunk& chunk : pipeline_chunks(model, framework, layout)) dealt.add(chunk);
  return dealt.stages(model.tied_embeddings);
}

StageKinds stage_kinds(const Transformer& model, const Framework& framework, const Layout& layout) {
  StageKinds result{.kinds = {}, .parameter_copies = static_cast<double>(effective_schedule(layout)->weight_copies)};
  for (StageKind& stage : all_stages(model, framework, layout)) {
    const auto same = std::ranges::find(result.kinds, stage.sections, &StageKind::sections);
    if (same != result.kinds.end()) {
      ++same->stages;
    } else {
      result.kinds.push_back(std::move(stage));
    }
  }
  return result;
}

}  // namespace meshwright::parallel
