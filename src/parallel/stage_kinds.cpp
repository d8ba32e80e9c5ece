#include "parallel/stage_kinds.hpp"

#include <algorithm>

#include "meshwright/parallel/pipeline.hpp"
#include "meshwright/workload/sections.hpp"

namespace meshwright::parallel {
namespace {

/// The stages while chunks are dealt to them: every section of the model, recomputed and kept, those that they lack
/// with no passes.
class Dealt {
 public:
  Dealt(const Transformer& model, int stages, double copies)
      : sections_(model_sections(model)), copies_(copies), all_(static_cast<std::size_t>(stages)) {
    for (std::size_t s = 0; s < all_.size(); ++s) {
      all_[s] = {.first = static_cast<int>(s), .stages = 1, .sections = {}};
      for (std::size_t section = 0; section < sections_.size(); ++section) {
        for (const bool kept : {false, true}) all_[s].sections.push_back({.section = section, .kept = kept});
      }
    }
    for (int layer = 0; layer < model.layers; ++layer) {
      const auto same =
          std::ranges::find(sections_.begin() + 1, sections_.end(), layer_shape(model, layer), &ModelSection::shape);
      section_of_layer_.push_back(static_cast<std::size_t>(same - sections_.begin()));
    }
  }

  void add(const Chunk& chunk, const Layout& layout) {
    StageKind& stage = all_[static_cast<std::size_t>(chunk.stage)];
    for (int i = 0; i < chunk.layers; ++i) {
      const bool kept = keeps_layer(layout, i);
      add(stage, {.section = section_of_layer_[static_cast<std::size_t>(chunk.first + i)],
                  .runs = 1,
                  .held = 1,
                  .kept = kept});
      stage.blocks += 1 / copies_;
      stage.kept += kept ? 1 / copies_ : 0;
    }
    if (chunk.embedding) add(stage, {.section = 0, .runs = 1, .held = 1});
    if (!chunk.head) return;
    // Modules that predict further tokens stand before the head and share it.
    const std::size_t before_head = sections_.size() - 2;
    if (sections_[before_head].kind == SectionKind::prediction_module) {
      // Megatron Core leaves them out of a partial recompute (multi_token_prediction.py, recompute_method "block").
      const bool kept = layout.recompute == Recompute::full && layout.recompute_layers > 0;
      const double count = sections_[before_head].count;
      add(stage, {.section = before_head, .runs = count, .held = count, .kept = kept});
    }
    add(stage, {.section = sections_.size() - 1, .runs = static_cast<double>(sections_.back().count), .held = 1});
  }

  std::vector<StageKind> stages(bool tied) {
    for (StageKind& stage : all_) {
      // A tied head on the embedding's own stage shares its weights; elsewhere it holds a copy.
      if (tied && stage.sections.front().held > 0) of(stage, sections_.size() - 1, false).held = 0;
      std::erase_if(stage.sections, [](const StageSection& section) { return section.runs == 0; });
    }
    return std::move(all_);
  }

 private:
  static StageSection& of(StageKind& stage, std::size_t section, bool kept) {
    return stage.sections[2 * section + (kept ? 1 : 0)];
  }
  /// Schedules that hold every section twice run half of the micro-batches through each copy.
  void add(StageKind& stage, const StageSection& more) {
    StageSection& section = of(stage, more.section, more.kept);
    section.runs += more.runs / copies_;
    section.held += more.held;
  }

  std::vector<ModelSection> sections_;  // the embedding first, the head last
  double copies_;
  std::vector<StageKind> all_;
  std::vector<std::size_t> section_of_layer_;
};

}  // namespace

std::vector<StageKind> all_stages(const Transformer& model, const Framework& framework, const Layout& layout) {
  Dealt dealt(model, layout.pp, effective_schedule(layout)->weight_copies);
  for (const Chunk& chunk : pipeline_chunks(model, framework, layout)) dealt.add(chunk, layout);
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
