#include "meshwright/parallel/tables.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "parallel/block_cost.hpp"
#include "parallel/communication.hpp"
#include "parallel/stage_kinds.hpp"

namespace meshwright {
namespace {

using ShardKey = std::tuple<int, int, int, int, int, bool, bool, bool>;
using StageKey = std::tuple<int, int, StageSplit, PipelineSchedule>;
using GroupKey = std::pair<int, int>;

ShardKey shard_key(const Layout& l) {
  return {l.tp,
          l.cp,
          l.ep,
          expert_tensor_parallel(l),
          l.micro_batch,
          l.sequence_parallel,
          l.tp_comm_overlap,
          l.ep_comm_overlap || effective_schedule(l) == PipelineSchedule::dual_pipe};
}

ShardCosts shard_costs(const BlockContext& context, const std::vector<LayerClass>& classes) {
  ShardCosts costs;
  for (const LayerClass& c : classes) costs.blocks.push_back(layer_cost(context, c.shape));
  costs.embedding = embedding_cost(context);
  costs.head = head_cost(context);
  costs.mtp = mtp_cost(context);
  costs.boundary = boundary_bytes(context);
  return costs;
}

/// Updates on the host: parameters and gradients cross PCIe in 16 bits, Adam streams its states from host memory.
/// ZeRO-Offload (Ren et al. 2021, table 4): CPU-Adam updates 10^9 parameters in about 0.25 s on one socket.
Seconds offloaded_update(const Job& job) {
  const double pcie = 20e9, cpu_adam = 0.25e-9;
  const double sharing = static_cast<double>(job.cluster.node.accelerators) / std::max(1, job.cluster.node.sockets);
  return Seconds::base(4 / pcie + cpu_adam * sharing);
}

StepConstants constants_of(const Job& job) {
  const Framework& f = job.framework;
  const BytesPerSecond hbm =
      job.cluster.accelerator.memory_bandwidth * job.cluster.accelerator.efficiency.memory.fraction;
  return {.global_batch = job.global_batch,
          .mtp_layers = job.model.mtp_layers,
          .tied_embeddings = job.model.tied_embeddings,
          .optimizer_per_parameter = Bytes::base(f.optimizer_traffic) / hbm,
          .offload_per_parameter = offloaded_update(job),
          .reduce_bytes = f.reduce_bytes,
          .parameter_bytes = f.gathered_parameter_bytes,
          .bucket_parameters = f.bucket_parameters,
          .overlap_slowdown = f.overlap_slowdown,
          .fsdp_overlap_penalty = f.fsdp_overlap_penalty,
          .layer_overhead = f.layer_overhead,
          .step_overhead = f.step_overhead,
          .pipeline_send_host = f.pipeline_send_host,
          .crosses_nodes = job.accelerators > job.cluster.node.accelerators,
          .keeps_gathered_with_pipeline = f.keeps_gathered_with_pipeline};
}

}  // namespace

struct Tables::Impl {
  explicit Impl(const Job& j)
      : job(j),
        classes(layer_classes(j.model)),
        communication(job.cluster, job.accelerators),
        constants(constants_of(j)) {}

  const GroupCosts* group(const Group& g, Bytes typical) {
    const GroupKey key{g.size, g.stride};
    const auto found = group_costs.find(key);
    if (found != group_costs.end()) return &found->second;
    return &group_costs.emplace(key, communication.costs(g, typical)).first->second;
  }

  const Job job;
  const std::vector<LayerClass> classes;
  Communication communication;
  StepConstants constants;
  std::map<ShardKey, ShardCosts> shards;
  std::map<StageKey, StageKinds> stages;
  std::map<GroupKey, GroupCosts> group_costs, pipelines;
};

Tables::Tables(const Job& job) : impl_(std::make_unique<Impl>(job)) {}
Tables::~Tables() = default;
Tables::Tables(Tables&&) noexcept = default;
Tables& Tables::operator=(Tables&&) noexcept = default;

const StepConstants& Tables::constants() const noexcept { return impl_->constants; }

Entries Tables::entries(const Layout& l) {
  Impl& t = *impl_;
  Entries e;
  auto shard = t.shards.find(shard_key(l));
  if (shard == t.shards.end()) {
    shard = t.shards.emplace(shard_key(l), shard_costs({t.job, l, t.communication}, t.classes)).first;
  }
  e.shard = &shard->second;
  const StageKey stage_key{l.pp, l.vp, l.stage_split, effective_schedule(l)};
  auto stages = t.stages.find(stage_key);
  if (stages == t.stages.end()) {
    stages = t.stages.emplace(stage_key, stage_kinds(t.job.model, t.job.framework, t.classes, l)).first;
  }
  e.stages = &stages->second;
  const Groups g = groups(l);
  // Gradients go out in buckets; several are in flight, so that the message behind a rate is some buckets long.
  const Bytes bucket = Bytes::base(4 * t.constants.bucket_parameters * t.constants.reduce_bytes);
  e.shards = t.group(g.shard, bucket);
  e.replicas = t.group(g.replica, bucket);
  e.expert_data = t.group(g.expert_data, bucket);
  const GroupKey pipeline_key{g.pipeline.size, g.pipeline.stride};
  auto pipeline = t.pipelines.find(pipeline_key);
  if (pipeline == t.pipelines.end()) {
    pipeline = t.pipelines.emplace(pipeline_key, t.communication.costs(g.pipeline, Bytes::base(64e6))).first;
  }
  e.pipeline = &pipeline->second;
  return e;
}

}  // namespace meshwright
