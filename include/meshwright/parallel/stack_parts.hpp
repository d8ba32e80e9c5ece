#pragma once
// The parts of a stack's profile that a person can name: what it refuses, what it does unasked, what it keeps in
// memory, what it hides, what its host costs, and how its kernels run. Each part has one field list (`describe`), from
// which files are read, overlays merged and names checked.
#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "meshwright/core/quantity.hpp"
#include "meshwright/parallel/choices.hpp"
#include "meshwright/parallel/layout.hpp"
#include "meshwright/parallel/recipe.hpp"

namespace meshwright::parallel {

using AxisSet = NameSet<axis_names>;

/// The degrees in the order of Axis; dp, which every stack and launcher has, as 1.
constexpr std::array<int, axis_names.size()> degrees_beside_dp(const Layout& l) noexcept {
  return {l.tp, l.cp, l.ep, 1, l.pp};
}
/// The first axis that the layout uses and that is not among `axes`; their number if there is none.
constexpr std::size_t axis_outside(const Layout& layout, AxisSet axes) noexcept {
  const std::array degrees = degrees_beside_dp(layout);
  std::size_t axis = 0;
  while (axis < degrees.size() && (degrees[axis] == 1 || axes.has(axis))) ++axis;
  return axis;
}

/// Rows of a table (pipeline schedules, kinds of context parallelism). Read from a list of their names.
template <class Row>
struct RowSet {
  std::vector<Row> rows;
  bool has(Row row) const noexcept { return std::find(rows.begin(), rows.end(), row) != rows.end(); }
};
using ScheduleSet = RowSet<PipelineSchedule>;
using ContextKindSet = RowSet<ContextKind>;

/// What the stack can run (parallel/constraints).
struct StackRules {
  AxisSet axes{0b11111};  ///< parallel axes that it has; dp in any case
  ScheduleSet schedules{{PipelineSchedule::one_f_one_b, PipelineSchedule::interleaved}};  ///< that it has
  ContextKindSet cp_kinds{{ContextKind::ring}};  ///< that it has, its default first
  bool kv_heads_replicate = false;               ///< Megatron: tp may exceed kv_heads
  bool uneven_stages = true;                     ///< an explicit layout of layers over stages can be given
  bool uneven_by_default = false;                ///< and is made without asking (layers % (pp * vp) may be non-zero)
  bool splits_by_cost = false;                   ///< stages by parameter cost of the blocks (nanotron)
  bool recomputes_some = false;                  ///< full recompute can be limited to some layers of a chunk
  bool interleaving_needs_multiple = true;       ///< micro-batches % pp == 0 with vp > 1
  bool micro_batches_cover_pipeline = false;     ///< micro-batches >= pp - 1
  bool experts_fold_over_tp = true;              ///< ep * etp divides tp * cp * dp; false: ep divides dp * cp
  bool experts_fold_over_cp = true;              ///< context ranks hold unlike experts too; false: ep divides dp
  bool experts_need_sequence_parallel = false;   ///< no MoE with tp > 1 and whole sequences on every tensor rank
  int max_zero_stage = 3;                        ///< the highest it has
  int max_zero_stage_pipeline = 3;               ///< the highest it has with pp > 1
  int vocab_multiple = 128;                      ///< vocabulary padded to vocab_multiple * tp; 0 = as it is
  bool can_overlap_tp = false;                   ///< has TP communication inside the GEMMs, on request
  std::vector<std::string> precisions;           ///< that it trains in; empty: nothing is known of them
  std::vector<RankOrder> orders;                 ///< in which it can number ranks; empty: only its default
  NameSet<recompute_module_names> recompute_modules{};  ///< of which selective recompute can be told
  bool can_overlap_ep = false;           ///< has dispatch and combine behind another micro-batch's compute, on request
  bool gathers_beside_reduces = false;   ///< parameter gathers overlap only where gradient reduction does
  bool graphs_with_sharding = true;      ///< CUDA graphs run with zero_stage 2 and 3
  bool ep_overlap_with_sharding = true;  ///< and so does ep_comm_overlap
  bool ep_overlap_with_graphs = true;    ///< CUDA graphs of parts of a layer run with ep_comm_overlap
};

/// What it does where a job does not say.
struct StackDefaults {
  bool overlap_grad_reduce = true, overlap_param_gather = true, tp_comm_overlap = false;
  bool experts_cut_by_tp = true;  ///< etp is tp; false: 1
  bool any_stack = false;         ///< stands for stacks that no profile describes: nothing of it was measured
  bool splits_with_ends = false;  ///< embedding and loss count as a layer each in the split over stages (torchtitan)
  RankOrder order;                ///< in which ranks are numbered
};

/// What it keeps on the device, in bytes of each parameter, token or logit.
struct StackMemory {
  double gathered_layers = 2;            ///< layers gathered at a time: the running and the prefetched one
  double gathered_parameters_least = 0;  ///< parameters a stack keeps live anyway (DeepSpeed's max_live_parameters)
  double saved_extra_hidden = 0;         ///< bytes per token and hidden unit kept beyond the operators' fused inventory
  double saved_extra_ffn = 0;            ///< the same per inner MLP unit (an activation function that is not fused)
  double saved_whole_hidden = 0;         ///< bytes per token and hidden unit that every tensor rank keeps whole
  double working_whole_hidden = 0;  ///< the same of what one block's backward pass, or the head's, has live at once
  double run_ahead_hidden =
      0;  ///< bytes per token and hidden unit of gathered inputs that a host ahead of the GPU holds
  double run_ahead_blocks = 0;     ///< blocks by which such a host is ahead at most: its queue of launches is full
  double selective_share = 0;      ///< of a layer's other activations that selective recompute drops too (op-level AC)
  double cached_weight_bytes = 0;  ///< per linear parameter: low-precision copies kept through a step
  double weight_gradient_bytes = 0;  ///< per parameter of one block (and the head) that backward allocates beside the
                                     ///< accumulation buffer
  bool low_precision_inputs = true;  ///< GEMM inputs are kept in the recipe's format (Transformer Engine)
  bool keeps_gathered_with_pipeline = false;  ///< ZeRO-3: the stage stays gathered over its micro-batches
  Bytes communication_buffers{};              ///< flat reduce and gather buckets
  Bytes context{};                            ///< CUDA context, NCCL and workspace outside the allocator
  double fragmentation = 1.05;    ///< reserved over allocated, for what comes and goes: activations, logits, buffers
  double usable = 0.95;           ///< of the device's capacity
  bool logs_allocated = false;    ///< its log shows allocated memory, not reserved
  bool logs_first_stage = false;  ///< its log shows the memory of rank 0 only
};

/// What it holds before the first step and lets go of; 0 = nothing.
struct StackStartUp {
  double weight_copies = 0;  ///< of a rank's trained weights, while they go into the buffers of a sharded optimizer
                             ///< (ZeRO 1), which stand beside them with the gradients'
  double zero_gradient_bytes = 0;  ///< of a parameter of a rank's share under ZeRO 3: gradients of zero with which the
                                   ///< optimizer is made to allocate its states
  double zero_gradients_most = 0;  ///< of so many parameters at a time; 0 = of all
  double host_weight_bytes = 0;  ///< of a parameter before ZeRO, in host memory of every rank that builds the model or
                                 ///< its buffers there
  int host_stages = 3;           ///< below this ZeRO stage; from it on, weights are sharded as they are built
};

/// What it hides behind compute.
struct StackOverlap {
  bool tp_backward = true;          ///< input gradients' reduction runs beside weight-gradient GEMMs
  double tp_exposed = 0.2;          ///< share of overlapped TP communication that stays exposed
  double slowdown = 0.1;            ///< stretch of compute while communication runs beside it
  double fsdp_penalty = 0;          ///< exposed = max(c, k) + penalty * min(c, k) for gathered layers
  double bucket_parameters = 40e6;  ///< gradient bucket
  double bucket_per_rank = 0;       ///< or so many parameters for each data-parallel rank, where that is more
  /// With a sharded optimizer, gradients are all-reduced in one message after the backward pass.
  bool sharded_all_reduce = false;
  bool dispatch_low_precision = false;  ///< expert tokens are quantised to the GEMMs' format before they are sent
};

/// What its host costs apart from launches.
struct StackHost {
  Seconds per_layer{};         ///< floor of one layer's forward + backward (+ recompute), launches of an eager host
  Seconds per_layer_tp{};      ///< more of it for each further node that a tensor group spans
  Seconds pipeline_send{};     ///< more of it for each further tensor rank where the pipeline crosses nodes: sends that
                               ///< exchange metadata block the host
  Seconds pipeline_wait{};     ///< of a micro-batch for each neighbour in the pipeline, where a tensor group spans more
                               ///< than two nodes
  Seconds softmax_fallback{};  ///< more of it where micro_batch * heads / tp is no multiple of 4 and the fused softmax
                               ///< refuses (stacks without fused attention)
  Seconds gather_slice{};      ///< copy of one rank's slice of one parameter tensor that a sharded optimizer gathered
  double jitter = 0;           ///< mean delay of one node in a step over the step; the slowest of all nodes counts
  Seconds step{};              ///< data loader, logging, scheduler once a step
};

/// How its kernels reach the device.
struct StackLaunch {
  Seconds kernel{};        ///< host time of an operator that an eager host launches: interpreter, autograd, allocation
  Seconds inside{};        ///< and of each further launch inside one: an expert's product, a cast
  double compiled = 0.25;  ///< share of those operators that is left where blocks are compiled
  double drained = 0;   ///< where the host waits for the device in every layer, the two no longer run side by side in
                        ///< the passes in which it does: share of the shorter that is added
  Seconds layer_gap{};  ///< GPU idle per layer and pass
};

/// How well its kernels run there.
struct StackKernels {
  std::vector<std::string> attention = {"vendor", "flash-2", "unfused"};  ///< kernels that it has, best first
  double gemm_efficiency = 1.0;          ///< what the stack's GEMM path reaches of the device's sustained rate
  double grouped_gemm_efficiency = 1.0;  ///< what its GEMMs of several experts reach of one of the same work
  double attention_efficiency = 1.0;     ///< what its fused attention kernels reach of the device's best
  double memory_traffic = 1.0;           ///< traffic of its memory-bound kernels over the operators' bytes
  double accumulation_traffic = 0;  ///< HBM bytes per parameter and micro-batch where gradients are added in a pass of
                                    ///< their own, from bf16 into fp32; other formats move their share of it.
                                    ///< 0 = inside the weight-gradient GEMM
};

/// visit(key, field) for each field of a part.
template <class V>
constexpr void describe(PartOf<StackRules> auto& p, V&& visit) {
  visit("axes", p.axes);
  visit("schedules", p.schedules);
  visit("cp_kinds", p.cp_kinds);
  visit("kv_heads_replicate", p.kv_heads_replicate);
  visit("uneven_stages", p.uneven_stages);
  visit("uneven_by_default", p.uneven_by_default);
  visit("splits_by_cost", p.splits_by_cost);
  visit("recomputes_some", p.recomputes_some);
  visit("interleaving_needs_multiple", p.interleaving_needs_multiple);
  visit("micro_batches_cover_pipeline", p.micro_batches_cover_pipeline);
  visit("experts_fold_over_tp", p.experts_fold_over_tp);
  visit("experts_fold_over_cp", p.experts_fold_over_cp);
  visit("experts_need_sequence_parallel", p.experts_need_sequence_parallel);
  visit("max_zero_stage", p.max_zero_stage);
  visit("max_zero_stage_pipeline", p.max_zero_stage_pipeline);
  visit("vocab_multiple", p.vocab_multiple);
  visit("can_overlap_tp", p.can_overlap_tp);
  visit("can_overlap_ep", p.can_overlap_ep);
  visit("gathers_beside_reduces", p.gathers_beside_reduces);
  visit("graphs_with_sharding", p.graphs_with_sharding);
  visit("ep_overlap_with_sharding", p.ep_overlap_with_sharding);
  visit("ep_overlap_with_graphs", p.ep_overlap_with_graphs);
  visit("precisions", p.precisions);
  visit("orders", p.orders);
  visit("recompute_modules", p.recompute_modules);
}
template <class V>
constexpr void describe(PartOf<StackDefaults> auto& p, V&& visit) {
  visit("overlap_grad_reduce", p.overlap_grad_reduce);
  visit("overlap_param_gather", p.overlap_param_gather);
  visit("tp_comm_overlap", p.tp_comm_overlap);
  visit("experts_cut_by_tp", p.experts_cut_by_tp);
  visit("any_stack", p.any_stack);
  visit("splits_with_ends", p.splits_with_ends);
  visit("order", p.order);
}
template <class V>
constexpr void describe(PartOf<StackMemory> auto& p, V&& visit) {
  visit("gathered_layers", p.gathered_layers);
  visit("gathered_parameters_least", p.gathered_parameters_least);
  visit("saved_extra_hidden", p.saved_extra_hidden);
  visit("saved_extra_ffn", p.saved_extra_ffn);
  visit("saved_whole_hidden", p.saved_whole_hidden);
  visit("working_whole_hidden", p.working_whole_hidden);
  visit("run_ahead_hidden", p.run_ahead_hidden);
  visit("run_ahead_blocks", p.run_ahead_blocks);
  visit("selective_share", p.selective_share);
  visit("cached_weight_bytes", p.cached_weight_bytes);
  visit("weight_gradient_bytes", p.weight_gradient_bytes);
  visit("low_precision_inputs", p.low_precision_inputs);
  visit("keeps_gathered_with_pipeline", p.keeps_gathered_with_pipeline);
  visit("communication_buffers", p.communication_buffers);
  visit("context", p.context);
  visit("fragmentation", p.fragmentation);
  visit("usable", p.usable);
  visit("logs_allocated", p.logs_allocated);
  visit("logs_first_stage", p.logs_first_stage);
}
template <class V>
constexpr void describe(PartOf<StackStartUp> auto& p, V&& visit) {
  visit("weight_copies", p.weight_copies);
  visit("zero_gradient_bytes", p.zero_gradient_bytes);
  visit("zero_gradients_most", p.zero_gradients_most);
  visit("host_weight_bytes", p.host_weight_bytes);
  visit("host_stages", p.host_stages);
}
template <class V>
constexpr void describe(PartOf<StackOverlap> auto& p, V&& visit) {
  visit("tp_backward", p.tp_backward);
  visit("tp_exposed", p.tp_exposed);
  visit("slowdown", p.slowdown);
  visit("fsdp_penalty", p.fsdp_penalty);
  visit("bucket_parameters", p.bucket_parameters);
  visit("bucket_per_rank", p.bucket_per_rank);
  visit("sharded_all_reduce", p.sharded_all_reduce);
  visit("dispatch_low_precision", p.dispatch_low_precision);
}
template <class V>
constexpr void describe(PartOf<StackHost> auto& p, V&& visit) {
  visit("per_layer", p.per_layer);
  visit("per_layer_tp", p.per_layer_tp);
  visit("pipeline_send", p.pipeline_send);
  visit("pipeline_wait", p.pipeline_wait);
  visit("gather_slice", p.gather_slice);
  visit("softmax_fallback", p.softmax_fallback);
  visit("jitter", p.jitter);
  visit("step", p.step);
}
template <class V>
constexpr void describe(PartOf<StackLaunch> auto& p, V&& visit) {
  visit("kernel", p.kernel);
  visit("inside", p.inside);
  visit("compiled", p.compiled);
  visit("drained", p.drained);
  visit("layer_gap", p.layer_gap);
}
template <class V>
constexpr void describe(PartOf<StackKernels> auto& p, V&& visit) {
  visit("attention", p.attention);
  visit("gemm_efficiency", p.gemm_efficiency);
  visit("grouped_gemm_efficiency", p.grouped_gemm_efficiency);
  visit("attention_efficiency", p.attention_efficiency);
  visit("memory_traffic", p.memory_traffic);
  visit("accumulation_traffic", p.accumulation_traffic);
}
}  // namespace meshwright::parallel
