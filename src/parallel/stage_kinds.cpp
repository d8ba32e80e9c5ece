#include "parallel/stage_kinds.hpp"

#include <algorithm>
#include <numeric>

#include "meshwright/parallel/pipeline.hpp"

namespace meshwright::parallel {
namespace {

std::vector<std::size_t> classes_of_layers(const Transformer& model, const std::vector<LayerClass>& classes) {
  std::vector<std::size_t> result;
  for (int layer = 0; layer < model.layers; ++layer) {
    const LayerShape shape = layer_shape(model, layer);
    const auto found =
        std::find_if(classes.begin(), classes.end(), [&](const LayerClass& c) { return c.shape == shape; });
    result.push_back(static_cast<std::size_t>(found - classes.begin()));
  }
  return result;
}

}  // namespace

std::vector<StageKind> all_stages(const Transformer& model, const Framework& framework,
                                  const std::vector<LayerClass>& classes, const Layout& layout) {
  const std::vector<std::size_t> class_of_layer = classes_of_layers(model, classes);
  // Schedules that hold every part twice run half of the micro-batches through each copy.
  const double copies = parameter_copies(effective_schedule(layout));
  std::vector<StageKind> stages(layout.pp);
  for (int s = 0; s < layout.pp; ++s) stages[s] = {.first = s, .stages = 1, .blocks = std::vector(classes.size(), 0.0)};
  for (const Chunk& chunk : pipeline_chunks(model, framework, layout)) {
    StageKind& stage = stages[chunk.stage];
    for (int i = 0; i < chunk.layers; ++i) stage.blocks[class_of_layer[chunk.first + i]] += 1 / copies;
    if (chunk.embedding) stage.embedding += 1 / copies;
    if (chunk.head) stage.head += 1 / copies;
  }
  for (StageKind& stage : stages) stage.all_blocks = std::accumulate(stage.blocks.begin(), stage.blocks.end(), 0.0);
  return stages;
}

StageKinds stage_kinds(const Transformer& model, const Framework& framework, const std::vector<LayerClass>& classes,
                       const Layout& layout) {
  const double copies = parameter_copies(effective_schedule(layout));
  StageKinds result{.kinds = {}, .parameter_copies = copies};
  for (StageKind& stage : all_stages(model, framework, classes, layout)) {
    const auto same = std::find_if(result.kinds.begin(), result.kinds.end(), [&](const StageKind& k) {
      return k.blocks == stage.blocks && k.embedding == stage.embedding && k.head == stage.head;
    });
    if (same != result.kinds.end()) {
      ++same->stages;
    } else {
      result.kinds.push_back(std::move(stage));
    }
  }
  return result;
}

}  // namespace meshwright::parallel
