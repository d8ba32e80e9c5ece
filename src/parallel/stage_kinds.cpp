#include "parallel/stage_kinds.hpp"

#include <algorithm>
#include <numeric>

#include "meshwright/parallel/constraints.hpp"

namespace meshwright {
namespace {

/// As equal as whole layers allow; the first and the last chunk, which hold embedding and head, are the last to get one
/// more.
std::vector<int> spread(int layers, int chunks) {
  std::vector<int> result(chunks, layers / chunks);
  int extra = layers % chunks;
  for (int i = 1; i + 1 < chunks && extra > 0; ++i, --extra) ++result[i];
  for (int i = 0; i < chunks && extra > 0; i += std::max(1, chunks - 1), --extra) ++result[i];
  return result;
}

/// nanotron: blocks in order, the head last; a stage is closed by the block that takes the running cost over its share
/// of the whole. Costs as its models state them: 4h^2 + 3hf of a block, Vh of the head.
/// Ref.: https://github.com/huggingface/nanotron, src/nanotron/models/base.py (build_model).
std::vector<int> split_by_cost(const Transformer& model, int stages) {
  const double h = model.hidden;
  const double block = 4 * h * h + 3 * h * model.ffn_hidden, head = h * model.vocab;
  const double share = (model.layers * block + head) / stages;
  std::vector<int> result(stages, 0);
  int stage = 0;
  for (int layer = 0; layer < model.layers; ++layer) {
    ++result[stage];
    if (stage + 1 < stages && (layer + 1) * block > share * (stage + 1)) ++stage;
  }
  return result;
}

StageKind kind_of(int stage, const std::vector<int>& chunks, const std::vector<int>& class_of_layer,
                  std::size_t classes, const Layout& layout) {
  StageKind kind{.first = stage, .stages = 1, .blocks = std::vector<double>(classes, 0)};
  kind.embedding = stage == 0;
  kind.head = stage == layout.pp - 1;
  for (int chunk = stage; chunk < static_cast<int>(chunks.size()); chunk += layout.pp) {
    const int begin = std::accumulate(chunks.begin(), chunks.begin() + chunk, 0);
    for (int layer = begin; layer < begin + chunks[chunk]; ++layer) ++kind.blocks[class_of_layer[layer]];
  }
  kind.all_blocks = std::accumulate(kind.blocks.begin(), kind.blocks.end(), 0.0);
  return kind;
}

}  // namespace

std::vector<int> chunk_layers(const Transformer& model, const Framework& framework, const Layout& layout) {
  const int chunks = layout.pp * layout.vp;
  switch (resolved_split(layout.stage_split, model.layers, framework, layout.pp, layout.vp)) {
    case StageSplit::cost:
      return split_by_cost(model, layout.pp);
    case StageSplit::embedding: {
      std::vector<int> result(chunks, (model.layers + 2) / chunks);
      --result.front(), --result.back();
      return result;
    }
    default:
      return spread(model.layers, chunks);
  }
}

StageKinds stage_kinds(const Transformer& model, const Framework& framework, const std::vector<LayerClass>& classes,
                       const Layout& layout) {
  const std::vector<int> chunks = chunk_layers(model, framework, layout);
  std::vector<int> class_of_layer(model.layers);
  for (int layer = 0; layer < model.layers; ++layer) {
    const LayerShape shape = layer_shape(model, layer);
    const auto found =
        std::find_if(classes.begin(), classes.end(), [&](const LayerClass& c) { return c.shape == shape; });
    class_of_layer[layer] = static_cast<int>(found - classes.begin());
  }
  StageKinds result;
  for (int stage = 0; stage < layout.pp; ++stage) {
    StageKind kind = kind_of(stage, chunks, class_of_layer, classes.size(), layout);
    const auto same = std::find_if(result.kinds.begin(), result.kinds.end(), [&](const StageKind& k) {
      return k.blocks == kind.blocks && k.embedding == kind.embedding && k.head == kind.head;
    });
    if (same != result.kinds.end()) {
      ++same->stages;
    } else {
      result.kinds.push_back(std::move(kind));
    }
  }
  return result;
}

}  // namespace meshwright
