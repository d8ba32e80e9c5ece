#pragma once
// What a training stack does: a profile per framework (data/frameworks, compiled in). Never a factor for a run or
// model.
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "meshwright/core/quantity.hpp"
#include "meshwright/core/reader.hpp"
#include "meshwright/hardware/catalog.hpp"
#include "meshwright/parallel/layout.hpp"

namespace meshwright::parallel {

/// The axes that a stack may lack; every stack has dp.
inline constexpr std::array<std::string_view, 4> axis_names = {"tp", "cp", "pp", "ep"};

/// Facts and fitted parameters of one stack, each with its source in the data file.
struct Framework {
  std::string name;                  ///< "megatron-core"
  std::vector<std::string> aliases;  ///< framework names in records that this profile stands for
  std::string title;

  // numerics and memory
  double parameter_bytes = 2;                 ///< at rest
  double gradient_bytes = 4;                  ///< per parameter, accumulation buffer
  double optimizer_bytes = 12;                ///< fp32 master + two moments
  double reduce_bytes = 4;                    ///< per parameter on the wire in gradient reduction
  double logits_bytes = 4;                    ///< live at the peak per logit (fp32 copy, softmax, gradient)
  double ddp_bucket_bytes_per_parameter = 0;  ///< extra contiguous buffers
  double gathered_parameter_bytes = 2;        ///< of a parameter while gathered for compute (ZeRO-3, FSDP)
  double gathered_gradient_bytes = 2;         ///< of its gradient until it is reduced and scattered
  double gathered_layers = 2;                 ///< layers gathered at a time: the running and the prefetched one
  double gathered_parameters_least = 0;  ///< parameters a stack keeps live anyway (DeepSpeed's max_live_parameters)
  double saved_extra_hidden = 0;         ///< bytes per token and hidden unit kept beyond the operators' fused inventory
  double saved_extra_ffn = 0;            ///< the same per inner MLP unit (an activation function that is not fused)
  double run_ahead_hidden =
      0;  ///< bytes per token and hidden unit of gathered inputs that a host ahead of the GPU holds
  double selective_share = 0;      ///< of a layer's other activations that selective recompute drops too (op-level AC)
  double cached_weight_bytes = 0;  ///< per linear parameter: low-precision copies kept through a step
  double weight_gradient_bytes = 0;  ///< per parameter of one block (and the head) that backward allocates beside the
                                     ///< accumulation buffer
  bool low_precision_inputs = true;  ///< GEMM inputs are kept in the recipe's format (Transformer Engine)
  bool keeps_gathered_with_pipeline = false;  ///< ZeRO-3: the stage stays gathered over its micro-batches
  double fp16_gradient_bytes = 0;             ///< with fp16 in place of bf16; 0 = the same
  double fp16_optimizer_bytes = 0;            ///< with fp16 in place of bf16; 0 = the same
  Bytes communication_buffers{};              ///< flat reduce and gather buckets
  Bytes context{};                            ///< CUDA context, NCCL and workspace outside the allocator
  double fragmentation = 1.05;  ///< reserved over allocated, for what comes and goes: activations, logits, buffers
  double usable_memory = 0.95;  ///< of the device's capacity

  // kernels
  bool fused_attention = true;
  bool fused_norms = true;              ///< false: unfused_bytes of operators count
  double memory_traffic = 1.0;          ///< traffic of its memory-bound kernels over the operators' bytes
  double gemm_efficiency_hopper = 1.0;  ///< on Hopper besides: releases before its libraries were tuned
  double accumulation_traffic = 0;  ///< HBM bytes per parameter and micro-batch where gradients are added in a pass of
                                    ///< their own; 0 = inside the weight-gradient GEMM
  double grouped_gemm_efficiency = 1.0;  ///< what its expert GEMMs reach of one GEMM of the same work
  double attention_efficiency = 1.0;     ///< what its fused attention kernels reach of the device's best
  double gemm_efficiency = 1.0;          ///< what the stack's GEMM path reaches of the device's sustained rate
  Seconds host_per_layer{};      ///< floor of one layer's forward + backward (+ recompute), launches of an eager host
  Seconds host_per_layer_tp{};   ///< more of it for each further node that a tensor group spans
  Seconds kernel_launch{};       ///< host time of one launch; 0 = CUDA graphs or compiled
  Seconds layer_overhead{};      ///< GPU idle per layer and pass
  Seconds step_overhead{};       ///< data loader, logging, scheduler once a step
  Seconds pipeline_send_host{};  ///< more of host_per_layer for each further tensor rank where the pipeline crosses
                                 ///< nodes: sends that exchange metadata block the host
  Seconds host_softmax_fallback{};  ///< more of it where micro_batch * heads / tp is no multiple of 4 and the fused
                                    ///< softmax refuses (stacks without fused attention)

  // communication
  bool overlap_grad_reduce = true, overlap_param_gather = true, tp_comm_overlap = false;  ///< usual defaults
  bool can_overlap_tp = false;      ///< has TP communication inside the GEMMs, on request
  bool can_overlap_ep = false;      ///< has dispatch and combine behind another micro-batch's compute, on request
  bool tp_backward_overlap = true;  ///< input gradients' reduction runs beside weight-gradient GEMMs
  double tp_overlap_exposed = 0.2;  ///< share of overlapped TP communication that stays exposed
  double overlap_slowdown = 0.1;    ///< stretch of compute while communication runs beside it
  double fsdp_overlap_penalty = 0;  ///< exposed = max(c, k) + penalty * min(c, k) for gathered layers
  bool dispatch_by_node = false;  ///< expert dispatch sends a token once to a node and copies there (DeepEP, HybridEP)
  bool dispatch_low_precision = false;  ///< expert tokens are quantised to the GEMMs' format before they are sent
  double bucket_parameters = 40e6;  ///< gradient bucket
  double optimizer_traffic = 30;    ///< HBM bytes per parameter held by one rank in the optimizer step

  // rules (parallel/constraints)
  bool kv_heads_replicate = false;            ///< Megatron: tp may exceed kv_heads
  bool uneven_stages = true;                  ///< an explicit layout of layers over stages can be given
  bool uneven_by_default = false;             ///< and is made without asking (layers % (pp * vp) may be non-zero)
  bool splits_by_cost = false;                ///< stages by parameter cost of the blocks (nanotron)
  bool interleaving_needs_multiple = true;    ///< micro-batches % pp == 0 with vp > 1
  bool micro_batches_cover_pipeline = false;  ///< micro-batches >= pp - 1
  bool experts_fold_over_tp = true;           ///< ep * etp divides tp * cp * dp; false: ep divides dp * cp
  int max_zero_stage = 3;                     ///< the highest it has
  int max_zero_stage_pipeline = 3;            ///< the highest it has with pp > 1
  std::uint32_t axes = 0b1111;                ///< bit per axis_names entry: parallel axes beside dp that it has
  std::uint32_t schedules = 0b110;            ///< bit per PipelineSchedule that it can run
  int vocab_multiple = 128;                   ///< vocabulary padded to vocab_multiple * tp
  bool logs_allocated = false;                ///< its log shows allocated memory, not reserved
  bool logs_first_stage = false;              ///< its log shows the memory of rank 0 only
  std::vector<std::string> flags;             ///< which launcher_flags dialect: "megatron", "torchtitan", ...
  std::string notes;
};

/// True where the stack can run the schedule.
constexpr bool runs(const Framework& framework, PipelineSchedule schedule) {
  return (framework.schedules >> static_cast<unsigned>(schedule) & 1U) != 0;
}

/// One profile from its file, or `base` with the fields that an overlay states; unknown keys are refused.
Framework read_framework(const Reader& reader, Framework base = {});
/// The compiled-in profiles (data/frameworks) with what was fitted to runs (data/fitted), read once.
const std::vector<Framework>& frameworks();
/// The profiles of data/frameworks with the entries of the catalogue's overlays; new names are added.
std::vector<Framework> frameworks(const Catalog& catalog);
/// By name or alias, forgiving case and dashes; Error(where, ...) with the nearest spelling.
const Framework& framework(std::string_view name, const std::string& where);
/// The same among frameworks(catalog).
Framework framework(std::string_view name, const std::string& where, const Catalog& catalog);

}  // namespace meshwright::parallel
