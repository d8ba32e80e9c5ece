#pragma once
// Phase 0: everything slow of a step (kernel models, collectives, placements), once per key. Phase 1 (step.hpp) is
// arithmetic on what stands here. `predict` and the search use the same tables, so they agree bit for bit.
#include <array>
#include <memory>
#include <vector>

#include "meshwright/collectives/message_times.hpp"
#include "meshwright/parallel/job.hpp"
#include "meshwright/parallel/kernel_times.hpp"
#include "meshwright/parallel/placement.hpp"

namespace meshwright::parallel {

/// One pass (forward, backward or a repeated forward) of one block on one rank for one micro-batch.
struct Pass {
  Seconds compute;                       ///< kernels on the GPU
  Seconds tensor, context, expert;       ///< exposed communication
  Seconds tensor_hidden, expert_hidden;  ///< behind the pass's own kernels
  Seconds stretched;  ///< of what is exposed, by how much it outlasts the kernels that it runs beside
  constexpr Seconds total() const { return compute + tensor + context + expert; }
  /// The time during which kernels run, beside which other transfers can.
  constexpr Seconds computing() const { return compute + stretched; }
  constexpr Pass& operator+=(const Pass& b) {
    compute += b.compute, tensor += b.tensor, context += b.context, expert += b.expert;
    tensor_hidden += b.tensor_hidden, expert_hidden += b.expert_hidden, stretched += b.stretched;
    return *this;
  }
  friend constexpr Pass operator+(Pass a, const Pass& b) { return a += b; }
  friend constexpr Pass operator*(double n, const Pass& p) {
    return {n * p.compute,       n * p.tensor,        n * p.context,  n * p.expert,
            n * p.tensor_hidden, n * p.expert_hidden, n * p.stretched};
  }
};

/// One section of the model (a block, the embedding, the head, ...) on one rank.
struct BlockCost {
  Pass forward, backward;
  std::array<Pass, 3> recompute;   ///< by Recompute: what is done again before the backward pass
  Seconds weight_gradient;         ///< part of backward.compute that zero-bubble schedules can move
  std::array<Seconds, 3> host;     ///< by Recompute: least time of all passes, launches of an eager host
  std::array<Seconds, 3> awaited;  ///< by Recompute: of `host`, the passes in which it waits for the device
  KernelTimes forward_kernels, backward_kernels;  ///< of `forward.compute` and `backward.compute`
  KernelTimes selective_kernels, again_kernels;   ///< of what selective and full recompute do again
  double parameters = 0;                          ///< held by a rank, without routed experts
  double expert_parameters = 0;                   ///< routed experts held by a rank
  double packed = 0, expert_packed = 0;           ///< of both, those at rest in 4 or 8 bits
  double tensors = 0;                             ///< parameter tensors with gradients
  std::array<Seconds, 3> moved;                   ///< by Recompute: what is kept, over the link to host memory, one way
  double trained = 0, expert_trained = 0;         ///< of those, or beside them (adapters): what has gradients
};

/// Key: (tp, cp, ep, etp, micro_batch, sequence_parallel, tp_comm_overlap, expert exchange beside compute).
struct ShardCosts {
  std::vector<BlockCost> sections;  ///< as model_sections() orders them
  Bytes boundary;                   ///< activations of one micro-batch that a rank sends to the next stage
};

/// What a stage has of one section of the model.
struct StageSection {
  std::size_t section = 0;  ///< index in model_sections()
  double runs = 0;          ///< passes of a micro-batch through it; of a stage that is there twice, of half of them
  double held = 0;          ///< copies of its parameters
  bool kept = false;        ///< layers that a partial recompute leaves out
  friend bool operator==(const StageSection&, const StageSection&) = default;
};

/// What is computed again of a section's layers.
constexpr Recompute recompute_of(const StageSection& section, const Layout& layout) noexcept {
  return section.kept ? Recompute::none : layout.recompute;
}

/// Pipeline stages that are alike. Key: (pp, vp, stage_split, schedule, stages, recompute_layers).
struct StageKind {
  int first = 0;                       ///< index of the first such stage
  int stages = 0;                      ///< how many
  std::vector<StageSection> sections;  ///< those that it has, in model order
  double blocks = 0;                   ///< passes of a micro-batch through blocks
  double kept = 0;                     ///< of those, through layers that a partial recompute leaves out
};
struct StageKinds {
  std::vector<StageKind> kinds;
  double parameter_copies = 1;  ///< DualPipe holds every section on two stages
};

/// Key: (size, stride) of a group. What it does not do (a pipeline gathers nothing) takes no time.
struct GroupCosts {
  int size = 1;
  MessageTimes all_gather, reduce_scatter, all_reduce, send;
};

/// What step_time() needs of the tables for one layout. Pointers stay valid as long as the Tables.
struct Entries {
  const ShardCosts* shard = nullptr;
  const StageKinds* stages = nullptr;
  const GroupCosts *shards = nullptr, *replicas = nullptr, *expert_data = nullptr, *pipeline = nullptr;
};

class LayoutErrors;

/// Numbers of the job that hold for every layout.
struct StepConstants {
  int global_batch = 0;
  bool tied_embeddings = false;
  Seconds optimizer_per_parameter;  ///< of the update: HBM traffic, or the host's with its PCIe traffic
  double reduce_bytes = 4, parameter_bytes = 2, packed_bytes = 0, bucket_parameters = 40e6;
  double bucket_per_rank = 0;
  bool sharded_all_reduce = false;
  Seconds gather_slice;
  double slowest_node = 0;  ///< expected delay of the slowest node over the step
  int moved_layers = 0;     ///< blocks of a stage whose activations go to the host; 0 = all that say so
  double overlap_slowdown = 0, fsdp_overlap_penalty = 0;
  Seconds layer_overhead, step_overhead, pipeline_send_host, pipeline_wait;
  int node_accelerators = 1;
  double passes = 3;   ///< of a block: forward and the gradients of its input and, unless frozen, of its weights
  double drained = 0;  ///< share of the shorter of host and device, where one waits for the other, that is added
  bool crosses_nodes = false;                 ///< the job is larger than a node
  bool keeps_gathered_with_pipeline = false;  ///< ZeRO-3 gathers once a step where there is a pipeline
  double work_time = 1;                       ///< every term of a step over what figures say (Framework::work_time)
  const LayoutErrors* errors = nullptr;       ///< what own runs told of layouts alike; the tables'
};

/// Every term of a layout's step over what figures say: what own runs told of the job, and of layouts alike.
double times_of(const StepConstants& constants, const Layout& layout) noexcept;
/// The least of any layout.
double least_times(const StepConstants& constants) noexcept;

/// The tables of a job. Not thread-safe while entries() still adds; fill them first, then read from any thread.
class Tables {
 public:
  explicit Tables(const Job& job);
  ~Tables();
  Tables(Tables&&) noexcept;
  Tables& operator=(Tables&&) noexcept;

  /// The entries of a layout, computed where they are missing.
  Entries entries(const Layout& layout);
  /// The part of them that does not depend on stages and data parallelism.
  const ShardCosts& shard(const Layout& layout);
  const StepConstants& constants() const noexcept;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace meshwright::parallel
