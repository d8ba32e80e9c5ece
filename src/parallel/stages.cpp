#include "meshwright/parallel/stages.hpp"

#include <algorithm>

#include "meshwright/parallel/constraints.hpp"

namespace meshwright::parallel {
namespace {

/// Deals the blocks by cost and calls put(stage) for every layer, then once for the head.
template <class Put>
void deal_by_cost(const Transformer& model, int ways, Put put) noexcept {
  const double hidden = model.hidden;
  const double layer = 4 * hidden * model.heads * model.head_dim + 3 * hidden * model.ffn_hidden;
  const double head = hidden * model.vocab;
  const double total = model.layers * layer + head;
  int stage = 0;
  double sum = 0;
  for (int block = 0; block <= model.layers; ++block) {
    sum += block < model.layers ? layer : head;
    put(stage, block == model.layers);
    if (sum > total * (stage + 1) / ways) stage = std::min(stage + 1, ways - 1);
  }
}

std::vector<int> as_equal_as_possible(int layers, int ways) {
  std::vector<int> parts(static_cast<std::size_t>(ways), layers / ways);
  int left = layers % ways;
  // The inner parts take what is left over: the first has the embedding beside it, the last the head.
  for (int part = 1; part + 1 < ways && left > 0; ++part, --left) ++parts[static_cast<std::size_t>(part)];
  if (left > 0) ++parts.front();
  return parts;
}

/// Modules that predict further tokens stand beside the loss: every part takes as many layers as equal parts need, the
/// last what is left (Megatron-Bridge, recipes/deepseek, set_deepseek_v3_pipeline_model_parallel_layout). Where less
/// than nothing is left, the first parts are relieved of one ("Et|(tt|)*30mL", scripts/performance/run_script.py at
/// v0.1.0rc4).
std::vector<int> split_with_modules(int layers, int ways) {
  const int each = (layers + ways - 1) / ways;
  std::vector<int> parts(static_cast<std::size_t>(ways), each);
  parts.back() = layers - each * (ways - 1);
  for (std::size_t part = 0; parts.back() < 0; ++part) --parts[part], ++parts.back();
  return parts;
}

std::vector<int> split_by_cost(const Transformer& model, int ways) {
  std::vector<int> parts(static_cast<std::size_t>(ways));
  deal_by_cost(model, ways, [&](int stage, bool head) { parts[static_cast<std::size_t>(stage)] += head ? 0 : 1; });
  return parts;
}

/// Embedding and loss count as a layer each; what is left over goes to the first parts (torchtitan,
/// distributed/pipeline_parallel.py, _generate_llm_fqn_per_model_part).
std::vector<int> split_with_ends(int layers, int ways) {
  const int all = layers + 2;
  std::vector<int> parts(static_cast<std::size_t>(ways), all / ways);
  for (int part = 0; part < all % ways; ++part) ++parts[static_cast<std::size_t>(part)];
  --parts.front(), --parts.back();
  return parts;
}

}  // namespace

std::vector<int> stage_layers(const Transformer& model, StageSplit split, int ways) {
  if (split == StageSplit::cost) return split_by_cost(model, ways);
  if (split == StageSplit::embedding && ways > 1) return split_with_ends(model.layers, ways);
  if (model.mtp_layers > 0 && model.layers % ways != 0) return split_with_modules(model.layers, ways);
  return as_equal_as_possible(model.layers, ways);
}

std::vector<int> stated_layers(const Layout& layout) {
  const auto ways = static_cast<std::size_t>(split_ways(layout));
  if (layout.stages.size() == ways) return layout.stages;
  const PipelineSchedule schedule = effective_schedule(layout);
  const int parts = split_ways(layout) / layout.pp;
  std::vector<int> layers;
  for (std::size_t part = 0; part < ways; ++part) {
    const int stage = stage_of(schedule, static_cast<int>(part), layout.pp);
    layers.push_back(layout.stages[static_cast<std::size_t>(stage)] / parts);
  }
  return layers;
}

int stages_used_by_cost(const Transformer& model, int ways) noexcept {
  int last = 0;
  deal_by_cost(model, ways, [&](int stage, bool) { last = stage; });
  return last + 1;
}

std::vector<Chunk> pipeline_chunks(const Transformer& model, const Framework& framework, const Layout& layout) {
  const PipelineSchedule schedule = effective_schedule(layout);
  const int ways = split_ways(layout);
  const StageSplit split = resolved_split(layout.stage_split, model.layers, framework, layout.pp, ways / layout.pp);
  const bool stated = !layout.stages.empty();
  const std::vector<int> parts = stated ? stated_layers(layout) : stage_layers(model, split, ways);
  const int head = !stated && split == StageSplit::cost ? stages_used_by_cost(model, ways) - 1 : ways - 1;
  std::vector<Chunk> chunks;
  int first = 0;
  for (int part = 0; part < ways; ++part) {
    const int layers = parts[static_cast<std::size_t>(part)];
    chunks.push_back({.stage = stage_of(schedule, part, layout.pp),
                      .first = first,
                      .layers = layers,
                      .embedding = part == 0,
                      .head = part == head});
    first += layers;
  }
  if (schedule->weight_copies == 2) {
    for (int part = 0; part < ways; ++part) {
      chunks.push_back(chunks[static_cast<std::size_t>(part)]);
      chunks.back().stage = layout.pp - 1 - part;
    }
  }
  return chunks;
}

}  // namespace meshwright::parallel
