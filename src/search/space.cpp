#include "meshwright/search/space.hpp"

#include <algorithm>

#include "core/divisors.hpp"
#include "meshwright/parallel/constraints.hpp"
#include "meshwright/parallel/stages.hpp"
#include "meshwright/topology/place.hpp"

namespace meshwright::search {
namespace {

constexpr int most_tensor_parallel = 64, most_context_parallel = 64, most_expert_parallel = 512;
constexpr int most_vp = 16;

bool has_axis(const Job& job, std::string_view axis) {
  const auto found = std::find(axis_names.begin(), axis_names.end(), axis);
  return job.framework.rules.axes.has(static_cast<std::size_t>(found - axis_names.begin()));
}

std::vector<int> powers_of_two(int most) {
  std::vector<int> out;
  for (int p = 1; p <= most; p *= 2) {
    out.push_back(p);
    if (p > most / 2) break;  // twice as much may be beyond an int
  }
  return out;
}

// Ranks that share a fast domain: a tensor-parallel group twice as large is still tried, beyond it is hopeless.
int largest_tensor_parallel(const Job& job) {
  const int domain = std::max(job.cluster.node.scale_up_domain, job.cluster.node.accelerators);
  return std::min({2 * domain, most_tensor_parallel, job.accelerators});
}

/// Groups of `tp` neighbours lie inside one scale-up domain.
bool in_domain(const Job& job, int tp) {
  if (tp <= 1) return true;
  return !place_group(job.cluster, tp, 1).over_network();
}

std::vector<int> tensor_degrees(const Job& job, const Limits& limits) {
  std::vector<int> out =
      limits.filter.tried(Axis::tp, divisors(job.model.heads, has_axis(job, "tp") ? largest_tensor_parallel(job) : 1));
  if (limits.tp_in_domain) std::erase_if(out, [&](int tp) { return !in_domain(job, tp); });
  return out;
}

std::vector<int> context_degrees(const Job& job, const Limits& limits) {
  const int most = has_axis(job, "cp") ? std::clamp(job.seq_len / 2, 1, most_context_parallel) : 1;
  return limits.filter.tried(Axis::cp, powers_of_two(most));
}

std::vector<int> expert_degrees(const Job& job, const Limits& limits) {
  const bool some = job.model.is_moe() && has_axis(job, "ep");
  return limits.filter.tried(
      Axis::ep, some ? divisors(job.model.experts, std::min(most_expert_parallel, job.accelerators)) : std::vector{1});
}

std::vector<int> expert_tensor_degrees(const Job& job, const Limits& limits, int tp) {
  const bool one = !job.model.is_moe() || tp == 1;
  return limits.filter.tried(Axis::etp, one ? std::vector{1} : std::vector{1, tp});
}

/// A choice is tried both ways where the stack has it.
std::vector<int> offered(bool has_it) { return has_it ? std::vector{0, 1} : std::vector{0}; }

}  // namespace

std::vector<ShardChoice> shard_choices(const Job& job, const Limits& limits) {
  const Filter& filter = limits.filter;
  const std::vector<int> eps = expert_degrees(job, limits), cps = context_degrees(job, limits);
  const std::vector<int> batches =
      filter.tried(Axis::micro_batch, powers_of_two(std::min(limits.max_micro_batch, job.global_batch)));
  const bool stated = filter.fixed(Axis::tp) || filter.fixed(Axis::cp);
  std::vector<ShardChoice> out;
  for (const int tp : tensor_degrees(job, limits)) {
    const std::vector<int> etps = expert_tensor_degrees(job, limits, tp);
    for (const int cp : cps) {
      if (job.accelerators % (static_cast<long long>(tp) * cp) != 0 && !stated) continue;
      for (const int ep : eps) {
        for (const int etp : etps) {
          for (const int micro_batch : batches) out.push_back({tp, cp, ep, etp, micro_batch});
        }
      }
    }
  }
  return out;
}

std::vector<int> pipeline_degrees(const Job& job, const Limits& limits, const ShardChoice& shard) {
  const Filter& filter = limits.filter;
  const long long width = static_cast<long long>(shard.tp) * shard.cp;
  const int left = static_cast<int>(std::max(1LL, job.accelerators / width));
  if (const auto dp = filter.fixed(Axis::dp); dp && !filter.fixed(Axis::pp)) {
    return filter.tried(Axis::pp, {std::max(1, left / *dp)});
  }
  std::vector<int> out = filter.tried(Axis::pp, divisors(left, has_axis(job, "pp") ? job.model.layers : 1));
  std::erase_if(out, [&](int pp) { return !filter.admits(Axis::dp, data_degree(job, limits, shard, pp)); });
  return out;
}

int data_degree(const Job& job, const Limits& limits, const ShardChoice& shard, int pp) {
  if (const auto dp = limits.filter.fixed(Axis::dp)) return *dp;
  const long long width = static_cast<long long>(shard.tp) * shard.cp * pp;
  return static_cast<int>(std::max(1LL, job.accelerators / width));
}

std::vector<int> virtual_stages(const Job& job, const Limits& limits, int pp) {
  // Embedding and head may count as a layer each.
  const int most = pp == 1 ? 1 : std::clamp((job.model.layers + 2) / pp, 1, most_vp);
  std::vector<int> usual;
  for (int vp = 1; vp <= most; ++vp) usual.push_back(vp);
  return limits.filter.tried(Axis::vp, std::move(usual));
}

std::vector<PipelineSchedule> schedules(const Framework& framework, const Limits& limits, int pp, int vp) {
  const auto admitted = [&](PipelineSchedule s) {
    return limits.filter.admits(Axis::schedule, static_cast<int>(index_of(s)));
  };
  if (vp > 1 || pp == 1) {
    const PipelineSchedule only = vp > 1 ? PipelineSchedule::interleaved : PipelineSchedule::one_f_one_b;
    return admitted(only) ? std::vector{only} : std::vector<PipelineSchedule>{};
  }
  if (limits.filter.fixed(Axis::schedule)) {
    std::vector<PipelineSchedule> stated(pipeline_schedules().begin(), pipeline_schedules().end());
    std::erase_if(stated, [&](PipelineSchedule s) { return !admitted(s); });
    return stated;
  }
  std::vector<PipelineSchedule> out;
  for (const PipelineSchedule s : framework.rules.schedules.rows) {
    const bool of_virtual_stages = s->without_virtual_stages != nullptr;
    const bool beaten = s->dominated_by != nullptr && runs(framework, *s->dominated_by);
    if (!of_virtual_stages && !beaten && admitted(s)) out.push_back(s);
  }
  return out;
}

namespace {

/// A switch as the stack has it, or the other way where the filter leaves only that.
bool switched(const Filter& filter, Axis axis, bool usual) { return filter.admits(axis, usual ? 1 : 0) == usual; }

/// The overlaps of a ZeRO stage.
Sharding with_overlaps(Sharding s, const Framework& stack, const Filter& filter) {
  s.overlap_grad_reduce = switched(filter, Axis::overlap_grad_reduce, usual_grad_reduce(stack, s.zero_stage));
  s.overlap_param_gather =
      switched(filter, Axis::overlap_param_gather, usual_param_gather(stack, s.zero_stage, s.overlap_grad_reduce));
  return s;
}

}  // namespace

void Sharding::give(Layout& layout) const noexcept {
  layout.zero_stage = zero_stage, layout.hsdp_shard = hsdp_shard;
  layout.overlap_grad_reduce = overlap_grad_reduce, layout.overlap_param_gather = overlap_param_gather;
}

std::vector<Sharding> shardings(const Job& job, const Limits& limits) {
  std::vector<int> stages;
  for (int stage = 0; stage <= job.framework.rules.max_zero_stage; ++stage) stages.push_back(stage);
  const int node = job.cluster.node.accelerators;
  const bool by_node = job.framework.rules.max_zero_stage >= 3 && node > 1 && node < job.accelerators;
  std::vector<Sharding> out;
  for (const int stage : limits.filter.tried(Axis::zero_stage, stages)) {
    const std::vector<int> usual = by_node && stage == 3 ? std::vector{0, node} : std::vector{0};
    for (const int shard : limits.filter.tried(Axis::hsdp_shard, usual))
      out.push_back(with_overlaps({stage, shard}, job.framework, limits.filter));
  }
  return out;
}

std::vector<Overlaps> overlaps(const Job& job, const Limits& limits, const ShardChoice& shard) {
  const Framework& stack = job.framework;
  std::vector<Overlaps> out;
  for (const int tensor :
       limits.filter.tried(Axis::tp_comm_overlap, offered(shard.tp > 1 && stack.rules.can_overlap_tp))) {
    for (const int expert :
         limits.filter.tried(Axis::ep_comm_overlap, offered(shard.ep > 1 && stack.rules.can_overlap_ep))) {
      out.push_back({tensor != 0, expert != 0});
    }
  }
  return out;
}

std::vector<RecomputeChoice> recomputes(const Job& job, const Limits& limits, int deepest) {
  std::vector<int> depths = {0};
  const bool some = limits.some_layers && job.framework.rules.recomputes_some;
  for (int layers = 1; some && layers < deepest; ++layers) depths.push_back(layers);
  depths = limits.filter.tried(Axis::recompute_layers, std::move(depths));
  std::vector<RecomputeChoice> out;
  for (const int tried : limits.filter.tried(Axis::recompute, {0, 1, 2})) {
    const auto mode = static_cast<Recompute>(tried);
    if (mode == Recompute::full) {
      for (const int layers : depths) out.push_back({mode, layers});
    } else if (limits.filter.admits(Axis::recompute_layers, 0)) {
      out.push_back({mode, 0});
    }
  }
  return out;
}

int deepest_chunk(const Job& job, const Layout& layout) {
  return std::ranges::max(pipeline_chunks(job.model, job.framework, layout), {}, &Chunk::layers).layers;
}

Layout plain_layout(const Job& job, const Limits& limits, const ShardChoice& shard, const Overlaps& overlaps) {
  Layout layout{.tp = shard.tp,
                .cp = shard.cp,
                .dp = data_degree(job, limits, shard, 1),
                .ep = shard.ep,
                .etp = shard.etp,
                .micro_batch = shard.micro_batch,
                .sequence_parallel = shard.tp > 1};
  limits.filter.apply(layout);
  with_overlaps({layout.zero_stage, layout.hsdp_shard}, job.framework, limits.filter).give(layout);
  layout.order = limits.order;
  if (layout.recompute != Recompute::full) layout.recompute_layers = 0;
  layout.tp_comm_overlap = overlaps.tensor;
  layout.ep_comm_overlap = overlaps.expert;
  return layout;
}

StageSplit split_of(const Job& job, const Limits& limits, const Layout& layout) {
  if (const auto stated = limits.filter.fixed(Axis::stage_split)) return static_cast<StageSplit>(*stated);
  return usual_stage_split(job.model.layers, job.framework, layout.pp, split_ways(layout) / layout.pp);
}

namespace {

/// The layouts of one shard choice and pipeline.
bool each_choice(Layout layout, const Job& job, const Limits& limits, const std::function<bool(const Layout&)>& visit) {
  for (const PipelineSchedule schedule : schedules(job.framework, limits, layout.pp, layout.vp)) {
    layout.schedule = schedule;
    layout.stage_split = split_of(job, limits, layout);
    for (const Sharding& sharding : shardings(job, limits)) {
      sharding.give(layout);
      for (const auto& [mode, layers] : recomputes(job, limits, limits.some_layers ? deepest_chunk(job, layout) : 0)) {
        layout.recompute = mode, layout.recompute_layers = layers;
        if (limits.filter.admits(layout) && !visit(layout)) return false;
      }
    }
  }
  return true;
}

}  // namespace

void each_layout(const Job& job, const Limits& limits, const std::function<bool(const Layout&)>& visit) {
  for (const ShardChoice& shard : shard_choices(job, limits)) {
    for (const Overlaps& variant : overlaps(job, limits, shard)) {
      Layout layout = plain_layout(job, limits, shard, variant);
      for (const int pp : pipeline_degrees(job, limits, shard)) {
        layout.pp = pp, layout.dp = data_degree(job, limits, shard, pp);
        for (const int vp : virtual_stages(job, limits, pp)) {
          layout.vp = vp;
          if (!each_choice(layout, job, limits, visit)) return;
        }
      }
    }
  }
}

}  // namespace meshwright::search
