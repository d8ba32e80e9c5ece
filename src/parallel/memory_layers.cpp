// The slow part of the memory model: what one block keeps, by its operators.
#include <algorithm>
#include <set>
#include <span>
#include <utility>

#include "meshwright/parallel/job_recipe.hpp"
#include "meshwright/parallel/memory.hpp"
#include "parallel/rank_operators.hpp"
#include "parallel/trainable.hpp"

namespace meshwright::parallel {
namespace {

/// Bytes of an activation outside the GEMM format.
double element_of(const Job& job) { return bytes_per_element(job.precision.rest); }

/// Inner MLP units of one token that this rank computes: the dense MLP, or its share of the routed experts.
double inner_units(const Job& job, const LayerShape& shape, const Layout& layout) {
  const Transformer& model = job.model;
  if (shape.feed == FeedForward::none) return 0;
  if (shape.feed == FeedForward::moe) {
    const double routed = static_cast<double>(model.top_k) * model.moe_ffn_hidden * job.moe_imbalance;
    return (routed + model.shared_expert_ffn_hidden) / layout.tp;
  }
  const int inner = shape.ffn_hidden > 0 ? shape.ffn_hidden : model.ffn_hidden;
  return static_cast<double>(inner) / layout.tp;
}

BlockMemory weights_of(std::span<const Operator> operators, const Job& job) {
  const RankParameters held = parameters_of(operators);
  BlockMemory block;
  block.parameters = held.dense, block.expert_parameters = held.experts;
  for (const Operator& op : operators) {
    if (is_linear_layer(op)) block.gemm_parameters += op.weight_elements;
    (op.expert ? block.expert_trained : block.trained) += training_of(op, job).trained;
  }
  return block;
}

/// What autograd keeps of weights that elementwise operators unpacked: what their products read, for the backward pass.
double kept_unpacked(const BlockMemory& block, const Job& job) {
  return unpacks_elementwise(job.recipe.trainable) ? element_of(job) * block.gemm_parameters : 0;
}

/// Activations of a block: what the operators keep, and what the stack keeps beyond them.
BlockMemory block_memory(std::span<const Operator> operators, const Job& job, const Layout& layout,
                         double inner_per_token) {
  const Framework& stack = job.framework;
  const RankTokens tokens = rank_tokens(job, layout);
  BlockMemory block = weights_of(operators, job);
  const bool fused = attention_kernel(job).fused;
  double all = 0, core = 0;
  for (const Operator& op : operators) {
    const bool unfused = op.kind == OperatorKind::attention && !fused && op.unfused_saved_bytes > 0;
    all += unfused ? op.unfused_saved_bytes : op.saved_bytes;
    if (unfused) core += op.unfused_saved_bytes - op.saved_bytes;
    core += dropped_selectively(op, job).value();
  }
  const double hidden = job.model.hidden;
  all += stack.memory.saved_whole_hidden * (tokens.all - tokens.all / layout.tp) * hidden;
  all += stack.memory.saved_extra_hidden * tokens.sharded * hidden +
         stack.memory.saved_extra_ffn * tokens.all * inner_per_token;
  block.run_ahead = Bytes::base(stack.memory.run_ahead_hidden * tokens.all * hidden * (1 - 1.0 / layout.tp));
  const double input = block_input(job, layout).value();
  const double dropped = core + stack.memory.selective_share * (all - core - input);
  const double unpacked = kept_unpacked(block, job);
  block.kept = {Bytes::base(all + unpacked), Bytes::base(all - dropped + unpacked), Bytes::base(std::min(input, all))};
  block.redone = {Bytes{}, Bytes::base(dropped), Bytes::base(all - std::min(input, all) + unpacked)};
  // Where parts are done again, the input of the block goes (MaxText's decoder_layer_input, llm.q's residuals).
  block.movable = {block.kept[0], std::min(block.kept[1], Bytes::base(input)), block.kept[2]};
  return block;
}

/// The recipe with the format in which the stack keeps GEMM inputs.
Precision kept_recipe(const Job& job) {
  Precision recipe = job.precision;
  if (!job.framework.memory.low_precision_inputs) recipe.stored_input_bytes = bytes_per_element(recipe.rest);
  const RecipeActivations& kept = job.recipe.activations;
  recipe.stored_activation_bytes = bytes_of(kept.activation_input, recipe.rest);
  if (kept.attention_output != StateFormat::compute) {
    recipe.stored_attention_bytes = bytes_of(kept.attention_output, recipe.rest);
  }
  return recipe;
}

void add_shapes(std::set<std::pair<double, double>>& shapes, std::span<const Operator> operators) {
  for (const Operator& op : operators) {
    if (is_gemm(op) && op.weight_elements > 0) shapes.insert({op.n, op.k});
  }
}

/// Indices and, with dropout, a mask.
void keep_of_embedding(BlockMemory& block, const Job& job, const Layout& layout) {
  const RankTokens tokens = rank_tokens(job, layout);
  const Bytes kept = Bytes::base(8 * tokens.all + (job.model.dropout ? tokens.sharded * job.model.hidden : 0));
  block.kept = {kept, kept, kept};
}

Bytes logits_of(const Job& job, const Layout& layout) {
  const RecipeLoss& loss = job.recipe.loss;
  const double tokens = rank_tokens(job, layout).all;
  const double live = loss.chunk_tokens > 0 ? std::min<double>(loss.chunk_tokens, tokens) : tokens;
  const double vocabulary = rank_vocabulary(job, layout) * (loss.vocabulary_parallel ? 1 : layout.tp);
  return Bytes::base(loss.copies * bytes_of(loss.width, job.precision.rest) * live * vocabulary);
}

/// The final norm and the projection's input; logits are counted apart.
void keep_of_head(BlockMemory& block, const Job& job, const Layout& layout) {
  const Bytes kept = 2 * block_input(job, layout);
  block.at_loss = {kept, kept, kept};
  block.logits = logits_of(job, layout);
}

BlockMemory section_memory(const ModelSection& section, std::span<const Operator> operators, const Job& job,
                           const Layout& layout) {
  if (is_recomputed(section)) {
    BlockMemory block = block_memory(operators, job, layout, inner_units(job, section.shape, layout));
    if (section.kind == SectionKind::block) return block;
    block.at_loss = block.kept;
    block.kept = block.movable = block.redone = {};
    block.run_ahead = {};
    return block;
  }
  BlockMemory block = weights_of(operators, job);
  section.kind == SectionKind::embedding ? keep_of_embedding(block, job, layout) : keep_of_head(block, job, layout);
  return block;
}

}  // namespace

std::array<Bytes, 3> movable_activations(const Job& job, const Layout& layout, const ModelSection& section) {
  return section_memory(section, rank_operators(job, layout, section, kept_recipe(job)), job, layout).movable;
}

LayerMemory layer_memory(const Job& job, const Layout& layout) {
  const RankTokens tokens = rank_tokens(job, layout);
  const Precision recipe = kept_recipe(job);
  LayerMemory memory;
  std::set<std::pair<double, double>> shapes;
  double widest = 0;
  for (const ModelSection& section : model_sections(job.model)) {
    const auto operators = rank_operators(job, layout, section, recipe);
    memory.sections.push_back(section_memory(section, operators, job, layout));
    if (section.kind != SectionKind::block) continue;
    add_shapes(shapes, operators);
    widest = std::max(widest, inner_units(job, section.shape, layout));
  }
  for (const auto& [n, k] : shapes) memory.distinct_weights += n * k;
  memory.boundary = block_input(job, layout);
  // Backward of the MLP has the gradients of its inner tensors live (both halves of a gated one) beside its input's.
  const double halves = job.model.gated_mlp ? 3 : 2;
  if (layout.tp > 1)
    memory.whole = Bytes::base(job.framework.memory.working_whole_hidden * tokens.all * job.model.hidden);
  memory.working = Bytes::base(element_of(job) * (halves * tokens.all * widest + 2 * tokens.all * job.model.hidden));
  return memory;
}

}  // namespace meshwright::parallel
