#pragma once
// What a training stack does: a profile per framework (data/frameworks, compiled in). Never a factor for a run or
// model.
#include <string>
#include <string_view>
#include <vector>

#include "meshwright/core/quantity.hpp"
#include "meshwright/core/reader.hpp"

namespace meshwright {

/// Facts and fitted parameters of one stack, each with its source in the data file.
struct Framework {
  std::string name;                  ///< "megatron-core"
  std::vector<std::string> aliases;  ///< framework names in records that this profile stands for
  std::string title;

  // numerics and memory
  double gradient_bytes = 4;    ///< per parameter, accumulation buffer
  double optimizer_bytes = 12;  ///< fp32 master + two moments
  double parameter_bytes = 2;
  double reduce_bytes = 4;                    ///< per parameter on the wire in gradient reduction
  double logits_bytes = 4;                    ///< per logit kept (fp32 cross-entropy)
  double ddp_bucket_bytes_per_parameter = 0;  ///< extra contiguous buffers
  Bytes context{};                            ///< CUDA context, NCCL and workspace outside the allocator
  double fragmentation = 1.05;                ///< reserved over allocated
  double usable_memory = 0.95;                ///< of the device's capacity

  // kernels
  bool fused_attention = true;
  bool fused_norms = true;       ///< false: unfused_bytes of operators count
  double memory_traffic = 1.0;   ///< traffic of its memory-bound kernels over the operators' bytes
  double gemm_efficiency = 1.0;  ///< what the stack's GEMM path reaches of the device's sustained rate
  Seconds host_per_layer{};      ///< floor of one layer's forward + backward (+ recompute), launches of an eager host
  Seconds host_per_layer_tp{};   ///< more of it for each doubling of tp
  Seconds kernel_launch{};       ///< host time of one launch; 0 = CUDA graphs or compiled
  Seconds layer_overhead{};      ///< GPU idle per layer and pass
  Seconds step_overhead{};       ///< data loader, logging, scheduler once a step
  Seconds pipeline_send_host{};  ///< blocking host work of each pipeline send

  // communication
  bool overlap_grad_reduce = true, overlap_param_gather = true, tp_comm_overlap = false;  ///< usual defaults
  double tp_overlap_exposed = 0.2;  ///< share of overlapped TP communication that stays exposed
  double overlap_slowdown = 0.1;    ///< stretch of compute while communication runs beside it
  double fsdp_overlap_penalty = 0;  ///< exposed = max(c, k) + penalty * min(c, k) for gathered layers
  double bucket_parameters = 40e6;  ///< gradient bucket
  double optimizer_traffic = 30;    ///< HBM bytes per parameter held by one rank in the optimizer step

  // rules (parallel/constraints)
  bool kv_heads_replicate = false;          ///< Megatron: tp may exceed kv_heads
  bool uneven_stages = true;                ///< layers % (pp * vp) may be non-zero
  bool interleaving_needs_multiple = true;  ///< micro-batches % pp == 0 with vp > 1
  int vocab_multiple = 128;                 ///< vocabulary padded to vocab_multiple * tp
  std::vector<std::string> flags;           ///< which launcher_flags dialect: "megatron", "torchtitan", ...
  std::string notes;
};

const std::vector<Framework>& frameworks();
/// By name or alias; Error(where, ...) with the nearest spelling.
const Framework& framework(std::string_view name, const std::string& where);

}  // namespace meshwright
