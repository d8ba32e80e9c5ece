#include "meshwright/parallel/tables.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <tuple>

#include "meshwright/hardware/gemm_format.hpp"
#include "meshwright/parallel/band.hpp"
#include "parallel/block_cost.hpp"
#include "parallel/communication.hpp"
#include "parallel/host_link.hpp"
#include "parallel/section_kernels.hpp"
#include "parallel/stage_kinds.hpp"

namespace meshwright::parallel {
namespace {

/// The groups say where ranks are: under another order of axes the same degrees cost something else.
using DenseKey = std::tuple<Group, Group, ContextKind, int, bool, bool>;
using ShardKey = std::tuple<DenseKey, Group, Group, bool, bool>;
using KernelKey = std::tuple<int, int, int, int, int, bool>;  // of the shard and the micro-batch
using StageKey = std::tuple<int, int, StageSplit, PipelineSchedule, std::vector<int>, int>;

DenseKey dense_key(const Layout& l, const Groups& g, const Framework& stack) {
  return {g.tensor, g.context, context_kind(l, stack), l.micro_batch, l.sequence_parallel, l.tp_comm_overlap};
}
ShardKey shard_key(const Layout& l, const Groups& g, const Framework& stack) {
  return {dense_key(l, g, stack), g.expert, g.expert_tensor, l.ep_comm_overlap,
          effective_schedule(l)->overlaps_experts};
}

/// Updates on the host: parameters and gradients cross its link in the format of compute, the optimizer streams its
/// states from host memory; the accelerators of a socket share it.
Seconds offloaded_update(const Job& job) {
  const Cluster& cluster = job.cluster;
  const double sharing = static_cast<double>(cluster.node.accelerators) / std::max(1, cluster.node.sockets);
  return Bytes::base(2 * bytes_per_element(job.precision.rest)) / host_link(cluster) + sharing * host_update();
}

/// Newton-Schulz iterations over matrices of m x n, m the shorter side: X X', its square, and their sum times X are
/// 4 m + 2 m^2 / n operations a parameter and iteration (Liu et al. 2025, arXiv 2502.16982, sec. 2.1).
Seconds orthogonalised(const Job& job) {
  const double steps = optimizer(job.recipe.states.optimizer, "recipe").orthogonal_steps;
  if (steps <= 0) return {};
  const Transformer& model = job.model;
  const double inner = model.is_moe() ? model.moe_ffn_hidden : model.ffn_hidden, hidden = model.hidden;
  const double m = std::min(hidden, inner), n = std::max(hidden, inner);
  const Accelerator& device = job.cluster.accelerator;
  const GemmEfficiency& e = efficiency_of(device.efficiency, {job.precision.rest});
  return Flops::base(steps * (4 * m + 2 * m * m / n)) / (device.peak(job.precision.rest) * e.ceiling * e.sustained);
}

Seconds update_per_parameter(const Job& job) {
  if (job.recipe.offload.optimizer) return offloaded_update(job);
  const BytesPerSecond hbm =
      job.cluster.accelerator.memory_bandwidth * job.cluster.accelerator.efficiency.memory.fraction;
  return Bytes::base(state_bytes(job.recipe.states, job.precision.rest).traffic) / hbm + orthogonalised(job);
}

/// The slowest of n nodes whose delays are independent and exponential waits so many times as long as one.
double harmonic(double n) {
  double sum = 0;
  for (double i = 1; i <= n; ++i) sum += 1 / i;
  return sum;
}

StepConstants constants_of(const Job& job) {
  const Framework& f = job.framework;
  const Recipe& r = job.recipe;
  const DType compute = job.precision.rest;
  const double nodes = static_cast<double>(job.accelerators) / job.cluster.node.accelerators;
  return {.global_batch = job.global_batch,
          .tied_embeddings = job.model.tied_embeddings,
          .optimizer_per_parameter = update_per_parameter(job),
          .reduce_bytes = bytes_of(r.states.reduce, compute),
          .parameter_bytes = bytes_of(r.precision.gather, compute),
          .packed_bytes = gathered_packed_bytes(r.trainable, compute),
          .bucket_parameters = f.overlap.bucket_parameters,
          .bucket_per_rank = f.overlap.bucket_per_rank,
          .sharded_all_reduce = f.overlap.sharded_all_reduce,
          .gather_slice = f.host.gather_slice,
          .slowest_node = f.host.jitter * harmonic(std::ceil(nodes)),
          .moved_layers = r.offload.activations ? r.offload.activation_layers : 0,
          .overlap_slowdown = f.overlap.slowdown,
          .fsdp_overlap_penalty = f.overlap.fsdp_penalty,
          .layer_overhead = f.launch.layer_gap,
          .step_overhead = f.host.step,
          .pipeline_send_host = f.host.pipeline_send,
          .pipeline_wait = f.host.pipeline_wait,
          .node_accelerators = job.cluster.node.accelerators,
          .passes = r.trainable.kind == TrainableKind::all ? 3.0 : 2.0,
          .drained = f.launch.drained,
          .crosses_nodes = job.accelerators > job.cluster.node.accelerators,
          .keeps_gathered_with_pipeline = f.memory.keeps_gathered_with_pipeline,
          .work_time = f.work_time};
}

/// A map that remembers its last answer: layouts come in order, and most keys are those of the layout before.
template <class Key, class Value>
class Memo {
 public:
  template <class Make>
  const Value* get(const Key& key, Make&& make) {
    if (last_ != nullptr && last_->first == key) return &last_->second;
    auto found = values_.find(key);
    if (found == values_.end()) found = values_.emplace(key, make()).first;
    last_ = &*found;
    return &last_->second;
  }

 private:
  std::map<Key, Value> values_;
  const std::pair<const Key, Value>* last_ = nullptr;
};

}  // namespace

double times_of(const StepConstants& c, const Layout& layout) noexcept {
  return c.errors != nullptr ? c.work_time * c.errors->times(layout) : c.work_time;
}

double least_times(const StepConstants& c) noexcept {
  return c.errors != nullptr ? c.work_time * c.errors->least() : c.work_time;
}

struct Tables::Impl {
  explicit Impl(const Job& j)
      : job(j),
        sections(model_sections(j.model)),
        communication(job.cluster, job.collectives),
        constants(constants_of(j)),
        kernels(sections.size()) {
    const std::optional<Reader> own = own_runs_of(job);
    if (!own || !own->has("discrepancy")) return;
    constants.errors = &errors.emplace(own->at("discrepancy"), job);
  }

  const GroupCosts* group(Memo<Group, GroupCosts>& memo, const Group& g) {
    return memo.get(g, [&] { return *groups.get(g, [&] { return communication.costs(g); }); });
  }

  const ShardCosts* shard(const Layout& layout, const Groups& g) {
    return shards.get(shard_key(layout, g, job.framework), [&] { return shard_costs(layout, g); });
  }

  const SectionKernels& section(const Layout& l, std::size_t i) {
    const Shard s = shard_of(job, l);
    const KernelKey key{s.tp, s.cp, s.ep, s.etp, l.micro_batch, s.sequence_parallel};
    return *kernels[i].get(key, [&] { return section_kernels(job, l, sections[i]); });
  }

  /// Sections without routed experts cost the same however experts are spread.
  ShardCosts shard_costs(const Layout& layout, const Groups& g) {
    const BlockContext context{job, layout, communication};
    ShardCosts costs{.sections = {}, .boundary = boundary_bytes(job, layout)};
    for (std::size_t i = 0; i < sections.size(); ++i) {
      const auto make = [&] { return section_cost(context, sections[i], section(layout, i)); };
      const bool experts = sections[i].shape.feed == FeedForward::moe;
      costs.sections.push_back(experts ? make() : *dense.get({dense_key(layout, g, job.framework), i}, make));
    }
    return costs;
  }

  const Job job;
  const std::vector<ModelSection> sections;
  Communication communication;
  std::optional<LayoutErrors> errors;
  StepConstants constants;
  std::vector<Memo<KernelKey, SectionKernels>> kernels;  // by section
  Memo<std::pair<DenseKey, std::size_t>, BlockCost> dense;
  Memo<ShardKey, ShardCosts> shards;
  Memo<StageKey, StageKinds> stages;
  Memo<Group, GroupCosts> groups, pipelines;
  Memo<Group, GroupCosts> data, replicas, expert_data;  // of `groups`, each with its own last answer
};

Tables::Tables(const Job& job) : impl_(std::make_unique<Impl>(job)) {}
Tables::~Tables() = default;
Tables::Tables(Tables&&) noexcept = default;
Tables& Tables::operator=(Tables&&) noexcept = default;

const StepConstants& Tables::constants() const noexcept { return impl_->constants; }

const ShardCosts& Tables::shard(const Layout& l) { return *impl_->shard(l, groups(l, impl_->job.framework)); }

Entries Tables::entries(const Layout& l) {
  Impl& t = *impl_;
  const Groups g = groups(l, t.job.framework);
  Entries e;
  e.shard = t.shard(l, g);
  const int recomputed = l.recompute == Recompute::full ? l.recompute_layers : 0;
  e.stages = t.stages.get({l.pp, l.vp, l.stage_split, effective_schedule(l), l.stages, recomputed},
                          [&] { return stage_kinds(t.job.model, t.job.framework, l); });
  e.shards = t.group(t.data, g.shard);
  e.replicas = t.group(t.replicas, g.replica);
  e.expert_data = t.group(t.expert_data, g.expert_data);
  e.pipeline = t.pipelines.get(g.pipeline, [&] { return t.communication.sends(g.pipeline); });
  return e;
}

}  // namespace meshwright::parallel
