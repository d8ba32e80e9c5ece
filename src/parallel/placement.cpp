#include "meshwright/parallel/placement.hpp"

#include <algorithm>
#include <array>
#include <iterator>

#include "meshwright/parallel/pipeline.hpp"
#include "parallel/communication.hpp"
#include "parallel/rank_operators.hpp"
#include "parallel/stage_kinds.hpp"

namespace meshwright::parallel {
namespace {

/// Sizes and strides of the axes when ranks are numbered in `order`.
struct Grid {
  std::array<int, 5> size{}, stride{};

  Grid(const RankOrder& order, const std::array<int, 5>& sizes) noexcept : size(sizes) {
    int step = 1;
    for (const Axis axis : order.axes) {
      stride[static_cast<std::size_t>(axis)] = step;
      step *= size[static_cast<std::size_t>(axis)];
    }
  }
  Group of(Axis axis) const noexcept {
    return {size[static_cast<std::size_t>(axis)], stride[static_cast<std::size_t>(axis)]};
  }
};

/// The first `part` ranks of `inner` x `outer`, and the groups of ranks that are alike over the rest.
struct Cut {
  Group part, rest;
};
Cut cut(const Group& inner, const Group& outer, int part) noexcept {
  const int all = inner.size * outer.size, left = std::max(1, all / part);
  if (inner.size == 1) return {{part, outer.stride}, {left, outer.stride * part}};
  if (outer.size == 1 || outer.stride == inner.stride * inner.size) {
    return {{part, inner.stride}, {left, inner.stride * part}};
  }
  const int whole = part / inner.size;  // inner blocks in the part
  if (whole == 0) {
    return {{part, inner.stride}, {left, inner.stride * part, inner.size / part, outer.stride}};
  }
  return {{part, inner.stride, inner.size, outer.stride}, {left, outer.stride * whole}};
}

/// dp * cp ranks, the axis of the nearer neighbours inside.
Cut data_groups(const Grid& grid, int shard) noexcept {
  const Group context = grid.of(Axis::cp), data = grid.of(Axis::dp);
  const bool context_inside = context.stride <= data.stride;
  return cut(context_inside ? context : data, context_inside ? data : context, shard);
}

}  // namespace

int expert_tensor_parallel(const Layout& layout, ExpertFold fold) noexcept {
  return layout.etp > 0 ? layout.etp : fold.cut_by_tp ? layout.tp : 1;
}

int expert_data_parallel(const Layout& l, ExpertFold fold) noexcept {
  const long long ranks = (fold.over_tp ? 1LL * l.tp : 1LL) * l.cp * l.dp;
  const long long copies = ranks / (1LL * l.ep * (fold.over_tp ? expert_tensor_parallel(l, fold) : 1));
  return static_cast<int>(std::clamp(copies, 1LL, 1LL * largest_data_degree));
}

StateRanks state_ranks(const Layout& l, ExpertFold fold) noexcept {
  StateRanks ranks{l.dp * l.cp, expert_data_parallel(l, fold)};
  if (l.zero_stage == 3 && l.hsdp_shard > 0) {
    ranks.dense = std::min(ranks.dense, l.hsdp_shard);
    ranks.experts = std::min(ranks.experts, l.hsdp_shard);
  }
  return ranks;
}

std::optional<int> data_shard(const Layout& l) noexcept {
  if (l.hsdp_shard == 0) return l.dp;
  if (l.hsdp_shard % l.cp != 0) return std::nullopt;
  return l.hsdp_shard / l.cp;
}

ContextKind context_kind(const Layout& layout, const Framework& stack) noexcept {
  if (layout.cp_kind.set()) return layout.cp_kind;
  return stack.rules.cp_kinds.rows.empty() ? ContextKind::ring : stack.rules.cp_kinds.rows.front();
}

Groups groups(const Layout& l, const Framework& stack) noexcept {
  const RankOrder& order = rank_order(l, stack);
  const ExpertFold fold = expert_fold(stack);
  const int etp = expert_tensor_parallel(l, fold);
  const Grid dense(order, {l.tp, l.cp, 1, l.dp, l.pp});
  const int copies = expert_data_parallel(l, fold);
  // Context ranks beside their experts' ranks, or among them.
  const Grid experts(order, {fold.over_tp ? etp : l.tp, fold.over_cp ? 1 : l.cp, l.ep,
                             fold.over_cp ? copies : std::max(1, copies / l.cp), l.pp});
  const Cut states = data_groups(dense, state_ranks(l, fold).dense);
  return {.tensor = dense.of(Axis::tp),
          .context = dense.of(Axis::cp),
          .pipeline = dense.of(Axis::pp),
          .data = data_groups(dense, l.dp * l.cp).part,
          .shard = states.part,
          .replica = states.rest,
          .expert = experts.of(Axis::ep),
          .expert_tensor = {etp, experts.of(Axis::tp).stride},
          .expert_data = data_groups(experts, copies).part};
}

int pipeline_stage(const Layout& layout, const Framework& framework, int rank) noexcept {
  const Group pipeline = groups(layout, framework).pipeline;
  return rank / std::max(1, pipeline.stride) % std::max(1, pipeline.size);
}

const RankOrder& rank_order(const Layout& layout, const Framework& stack) noexcept {
  return layout.order ? *layout.order : stack.defaults.order;
}

Layout complete(const Job& job, const Layout& given) {
  Layout layout = given;
  layout.etp = job.model.is_moe() ? expert_tensor_parallel(given, job.framework) : 1;
  if (layout.cp > 1) layout.cp_kind = context_kind(given, job.framework);
  layout.schedule = effective_schedule(given);
  return layout;
}

Shard shard_of(const Job& job, const Layout& layout) noexcept {
  return {.tp = layout.tp,
          .cp = layout.cp,
          .ep = layout.ep,
          .etp = expert_tensor_parallel(layout, job.framework),
          .sequence_parallel = layout.sequence_parallel && layout.tp > 1,
          .imbalance = job.moe_imbalance};
}

RankTokens rank_tokens(const Job& job, const Layout& layout) noexcept {
  const double all = static_cast<double>(layout.micro_batch) * job.seq_len / layout.cp;
  return {all, layout.sequence_parallel ? all / layout.tp : all};
}

Bytes boundary_bytes(const Job& job, const Layout& layout) noexcept {
  // With sequence parallelism, or Megatron's scatter-gather of sends, each tensor rank sends its own part.
  const double values = rank_tokens(job, layout).all * job.model.hidden / layout.tp;
  return Bytes::base(values * bytes_per_element(job.precision.rest));
}

double rank_vocabulary(const Job& job, const Layout& layout) noexcept {
  return padded_vocab(job.model.vocab, job.framework.rules.vocab_multiple * layout.tp) / static_cast<double>(layout.tp);
}

RankParameters parameters_of(std::span<const Operator> operators) noexcept {
  RankParameters parameters;
  for (const Operator& op : operators) (op.expert ? parameters.experts : parameters.dense) += op.weight_elements;
  return parameters;
}

namespace {

std::vector<StagePlace> place_stages(const Job& job, const Layout& layout) {
  std::vector<RankParameters> sections;
  for (const ModelSection& section : model_sections(job.model)) {
    sections.push_back(parameters_of(rank_operators(job, layout, section, job.precision)));
  }
  const int batches = micro_batches(job.global_batch, layout);
  std::vector<StagePlace> stages(static_cast<std::size_t>(layout.pp));
  for (const StageKind& stage : all_stages(job.model, job.framework, layout)) {
    StagePlace& place = stages[static_cast<std::size_t>(stage.first)];
    for (const StageSection& held : stage.sections) {
      place.parameters.dense += held.held * sections[held.section].dense;
      place.parameters.experts += held.held * sections[held.section].experts;
    }
    place.in_flight = in_flight(effective_schedule(layout), layout.pp, layout.vp, batches, stage.first);
  }
  for (const Chunk& chunk : pipeline_chunks(job.model, job.framework, layout)) {
    StagePlace& stage = stages[static_cast<std::size_t>(chunk.stage)];
    stage.layers += chunk.layers;
    stage.chunks.push_back(chunk);
  }
  return stages;
}

}  // namespace

GroupPlace place_of(const Cluster& cluster, const Group& group) {
  const bool whole = group.block <= 0 || group.block >= group.size;
  GroupPlace place = place_group(cluster, whole ? group.size : group.block, group.stride);
  if (!whole)
    std::ranges::move(place_group(cluster, group.size / group.block, group.jump).levels,
                      std::back_inserter(place.levels));
  return place;
}

bool over_network(const Cluster& cluster, const Group& group) { return place_of(cluster, group).over_network(); }
bool over_network(const Job& job) { return over_network(job.cluster, {job.accelerators, 1}); }

Placement placement(const Job& job, const Layout& given) {
  const Layout layout = complete(job, given);
  const Transformer& model = job.model;
  const Groups g = groups(layout, job.framework);
  Placement p{.layout = layout,
              .order = rank_order(layout, job.framework),
              .groups = g,
              .shard = shard_of(job, layout),
              .tokens = rank_tokens(job, layout),
              .heads = static_cast<double>(model.heads) / layout.tp,
              .kv_heads = std::max(1.0, static_cast<double>(model.kv_heads) / layout.tp),
              .experts = static_cast<double>(model.experts) / layout.ep,
              .vocabulary = rank_vocabulary(job, layout),
              .state_ranks = state_ranks(layout, expert_fold(job.framework)),
              .axes = {},
              .stages = place_stages(job, layout),
              .boundary = boundary_bytes(job, layout)};
  Communication communication(job.cluster);
  const Grid dense(p.order, {layout.tp, layout.cp, 1, layout.dp, layout.pp});
  for (const Axis axis : p.order.axes) {
    const Group group = axis == Axis::ep ? g.expert : dense.of(axis);
    if (group.size > 1) p.axes.push_back({axis, group, communication.place(group)});
  }
  return p;
}

}  // namespace meshwright::parallel
