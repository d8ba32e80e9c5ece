#pragma once
// How a model's layers are dealt to pipeline stages.
#include <vector>

#include "meshwright/parallel/framework.hpp"
#include "meshwright/parallel/layout.hpp"
#include "meshwright/workload/transformer.hpp"

namespace meshwright::parallel {

/// A run of layers that one stage computes in one go: [first, first + layers).
struct Chunk {
  int stage = 0;
  int first = 0, layers = 0;
  bool embedding = false;  ///< the input embedding comes before it
  bool head = false;       ///< output head and loss come after it
  friend bool operator==(const Chunk&, const Chunk&) = default;
};

/// Parts that the layers are cut into: pp * vp, and 2 * pp for ZB-V, which folds two of them onto each stage.
inline int split_ways(const Layout& layout) noexcept {
  const PipelineSchedule schedule = effective_schedule(layout);
  return layout.pp * chunks_of(schedule, layout.vp) / schedule->weight_copies;
}

/// Layers of each part in model order; they sum to model.layers. `even` without divisibility and `automatic` that
/// nothing resolves give the `uneven` split; `embedding` without divisibility gives what is left to the first parts.
/// Parts may be empty under `embedding` and `cost`.
/// `cost` is nanotron's: blocks in order go to a stage until its share of the total cost is exceeded; a layer costs
/// 4 h (heads * head_dim) + 3 h f, the head V h (src/nanotron/models/llama.py, get_block_compute_costs).
std::vector<int> stage_layers(const Transformer& model, StageSplit split, int ways);

/// The same where the layout states its stages: their counts, dealt equally to the parts of each stage where it gives
/// one count a stage. The layout must satisfy refused_by().
std::vector<int> stated_layers(const Layout& layout);

/// The chunks of a layout in model order. Chunk k of an interleaved pipeline is on stage k % pp; ZB-V goes down the
/// stages and up again; DualPipe has every part twice: chunks [0, pp) go down, [pp, 2 pp) are the same layers on the
/// stages in opposite order.
std::vector<Chunk> pipeline_chunks(const Transformer& model, const Framework& framework, const Layout& layout);

/// Stages that hold a layer or the head under the `cost` split; fewer than `ways` leave the last ones empty.
int stages_used_by_cost(const Transformer& model, int ways) noexcept;

}  // namespace meshwright::parallel
