#include "parallel/block_cost.hpp"

#include <algorithm>
#include <cmath>

#include "meshwright/cost/kernel.hpp"
#include "meshwright/parallel/job_recipe.hpp"
#include "meshwright/parallel/overlap.hpp"
#include "parallel/host_link.hpp"
#include "parallel/launches.hpp"
#include "parallel/rank_operators.hpp"
#include "parallel/section_kernels.hpp"
#include "parallel/trainable.hpp"

namespace meshwright::parallel {
namespace {

/// Bytes that a gradient added in a pass of its own moves, over those of bf16 added to fp32 (10), which profiles state:
/// it is read, and the sum is read and written; in fp16 autograd adds to the gradients that there are.
double adding_share(const Job& job) {
  const RecipeStates& s = job.recipe.states;
  const double gradient = bytes_of(s.gradients, job.precision.rest);
  const double sum = s.accumulation == StateFormat::none ? gradient : bytes_of(s.accumulation, job.precision.rest);
  return (gradient + 2 * sum) / 10;
}

/// Sums the operators' kernels into `cost` and collects the windows.
Windows add_kernels(BlockCost& cost, std::span<const Operator> operators, const Job& job) {
  Windows windows;
  const bool packs = is_packed(job.recipe.trainable);
  for (const Operator& op : operators) {
    Kernels t = kernels(op, job);
    const Training training = training_of(op, job);
    if (!training.gradients) t.weight_gradient = {};
    t.forward += training.added.forward, t.data_gradient += training.added.data_gradient;
    t.weight_gradient += training.added.weight_gradient;
    (op.expert ? cost.expert_trained : cost.trained) += training.trained;
    if (training.trained > 0) ++cost.tensors;
    if (packs && is_linear_layer(op)) (op.expert ? cost.expert_packed : cost.packed) += op.weight_elements;
    cost.forward.compute += t.forward;
    cost.backward.compute += t.data_gradient + t.weight_gradient;
    cost.weight_gradient += t.weight_gradient;
    cost.forward_kernels.of(op.kind) += t.forward;
    cost.backward_kernels.of(op.kind) += t.data_gradient + t.weight_gradient;
    if (redone_selectively(op, job)) {
      cost.recompute[1].compute += t.forward;
      cost.selective_kernels.of(op.kind) += t.forward;
    }
    windows.add(op, t, training.gradients);
  }
  const RankParameters held = parameters_of(operators);
  cost.parameters = held.dense, cost.expert_parameters = held.experts;
  const double traffic = job.framework.kernels.accumulation_traffic * adding_share(job);
  const Bytes added = Bytes::base((cost.trained + cost.expert_trained) * traffic);
  const Seconds adding = memory_bound_time(added, job.cluster.accelerator);
  cost.backward.compute += adding;
  cost.backward_kernels.memory_bound += adding;
  return windows;
}

/// PyTorch's checkpoints without reentrance stop once every saved tensor exists again (torch.utils.checkpoint,
/// set_checkpoint_early_stop, on by default since 2.1): the last product of what is checkpointed saves none, and
/// neither its sum over tensor ranks. A mixture weighs its experts' outputs, which it keeps.
void stop_early(BlockCost& cost, const BlockContext& x, std::span<const Operator> operators) {
  const EarlyStop stop = x.job.recipe.activations.early_stop;
  if (stop == EarlyStop::none) return;
  Pass& again = cost.recompute[2];
  const auto rows =
      std::ranges::count_if(operators, [](const Operator& op) { return op.cut == Cut::row && !op.expert; });
  const double sums = static_cast<double>(rows) * (x.layout.sequence_parallel ? 2 : 1);  // beside as many gathers
  for (const Operator& op : operators) {
    const bool last = op.part == OperatorPart::mlp || (stop == EarlyStop::modules && op.part == OperatorPart::mixer);
    if (!last || op.cut != Cut::row || op.expert) continue;
    const Seconds product = kernels(op, x.job).forward;
    again.compute -= product, cost.again_kernels.of(op.kind) -= product;
    again.tensor -= cost.forward.tensor / sums, again.tensor_hidden -= cost.forward.tensor_hidden / sums;
    again.stretched -= std::min(again.stretched, cost.forward.stretched / sums);
  }
}

/// What the block keeps for its backward pass, once over the link to host memory.
void add_moved(BlockCost& cost, const BlockContext& x, const ModelSection& section) {
  if (!x.job.recipe.offload.activations) return;
  const BytesPerSecond link = host_link(x.job.cluster);
  const std::array<Bytes, 3> moved = movable_activations(x.job, x.layout, section);
  for (std::size_t mode = 0; mode < moved.size(); ++mode) cost.moved[mode] = moved[mode] / link;
}

BlockCost block_cost(const BlockContext& x, const ModelSection& section, const SectionKernels& kernels) {
  BlockCost cost = kernels.cost;
  add_tensor(cost, x, kernels.windows);
  add_context(cost, x, kernels.windows);
  if (section.shape.feed == FeedForward::moe) add_expert(cost, x, kernels.windows);
  cost.recompute[2] = cost.forward, cost.again_kernels = cost.forward_kernels;
  stop_early(cost, x, kernels.operators);
  add_host(cost, x, kernels.operators);
  add_moved(cost, x, section);
  return cost;
}

BlockCost embedding_cost(const BlockContext& x, const SectionKernels& kernels) {
  BlockCost cost = kernels.cost;
  if (x.layout.tp > 1) {
    const auto run = [&](Collective c) {
      return x.communication.time(c, activation_bytes(x, x.job.model.hidden), groups(x.layout, x.job.framework).tensor);
    };
    const bool scatter = x.layout.sequence_parallel;
    cost.forward.tensor = run(scatter ? Collective::reduce_scatter : Collective::all_reduce);
    if (scatter) cost.backward.tensor = run(Collective::all_gather);
  }
  return cost;
}

BlockCost head_cost(const BlockContext& x, const SectionKernels& kernels) {
  BlockCost cost = kernels.cost;
  const Windows& windows = kernels.windows;
  if (x.layout.tp > 1) {
    const auto run = [&](Collective c) {
      return x.communication.time(c, activation_bytes(x, windows.column.width),
                                  groups(x.layout, x.job.framework).tensor);
    };
    const Seconds back = run(x.layout.sequence_parallel ? Collective::reduce_scatter : Collective::all_reduce);
    const Overlap o = x.job.framework.overlap.tp_backward
                          ? overlap(windows.column.weight, back, x.job.framework.overlap.tp_exposed)
                          : Overlap{back, {}};
    if (x.layout.sequence_parallel) cost.forward.tensor = run(Collective::all_gather);
    cost.backward.tensor = o.exposed, cost.backward.tensor_hidden = o.hidden;
    if (x.job.framework.overlap.tp_backward) cost.backward.stretched = o.exposed;
  }
  return cost;
}

}  // namespace

SectionKernels section_kernels(const Job& job, const Layout& layout, const ModelSection& section) {
  SectionKernels kernels{.operators = rank_operators(job, layout, section, job.precision), .cost = {}, .windows = {}};
  kernels.windows = add_kernels(kernels.cost, kernels.operators, job);
  return kernels;
}

BlockCost section_cost(const BlockContext& x, const ModelSection& section, const SectionKernels& kernels) {
  switch (section.kind) {
    case SectionKind::embedding:
      return embedding_cost(x, kernels);
    case SectionKind::block:
    case SectionKind::prediction_module:
      return block_cost(x, section, kernels);
    case SectionKind::head:
      break;
  }
  return head_cost(x, kernels);
}

Seconds least_section(const BlockContext& x, const ModelSection& section) {
  BlockCost cost;
  if (section.shape.feed == FeedForward::moe) {
    Windows windows;
    for (const Operator& op : rank_operators(x.job, x.layout, section, x.job.precision)) {
      // The cut of experts says how rows are sorted and cast, but not how much is multiplied.
      const bool varies = op.part == OperatorPart::experts || op.cast;
      Kernels t = varies ? Kernels{least_time(op, x.job), {}, {}} : kernels(op, x.job);
      const bool gradients = training_of(op, x.job).gradients;
      if (!gradients) t.weight_gradient = {};
      cost.forward.compute += t.forward;
      cost.backward.compute += t.data_gradient + t.weight_gradient;
      if (!varies) windows.add(op, t, gradients);
    }
    add_tensor(cost, x, windows);
    add_context(cost, x, windows);
  } else {
    cost = section_cost(x, section, section_kernels(x.job, x.layout, section));
  }
  return cost.forward.total() + cost.backward.total();
}

}  // namespace meshwright::parallel
