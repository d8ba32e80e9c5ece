#pragma once
// Which layouts a training stack refuses, and by which rule. Memory is a matter of parallel/memory.
#include <optional>
#include <string_view>

#include "meshwright/core/error.hpp"
#include "meshwright/parallel/job.hpp"
#include "meshwright/parallel/layout.hpp"

namespace meshwright::parallel {

/// The rules in the order in which they are tried.
enum class Rule {
  none,
  accelerators,         ///< tp * cp * pp * dp = accelerators
  axis_missing,         ///< the stack has no such axis (context parallelism, a pipeline, ...)
  heads_tp,             ///< heads % tp
  kv_heads_tp,          ///< kv_heads % tp, or tp % kv_heads where the stack replicates them
  ffn_tp,               ///< inner MLP width % tp
  experts_ep,           ///< experts % ep; a dense model has no ep
  expert_tensor,        ///< expert width % etp
  expert_fold,          ///< ep * etp divides tp * cp * dp
  sequence_cp,          ///< seq_len % (2 * cp): the causal halves
  sequence_tp,          ///< seq_len / cp % tp with sequence parallelism
  batch,                ///< global_batch % (dp * micro_batch)
  layers_least,         ///< a layer for every chunk
  layers_split,         ///< layers % (pp * vp)
  stages_empty,         ///< the split by cost leaves the last stages without a block (nanotron)
  virtual_stages,       ///< vp > 1 needs a pipeline, and more than two stages without overlapped sends
  interleaved_batches,  ///< micro-batches % pp with vp > 1
  pipeline_batches,     ///< micro-batches >= pp - 1 (nanotron), 2 pp - 1 (ZB-V), 2 pp (DualPipe)
  schedule_missing,     ///< the stack does not have the schedule
  schedule_shape,       ///< stages, chunks or micro-batches that the schedule does not take
  zero_missing,         ///< the stack does not have the ZeRO stage
  zero_pipeline,        ///< not together with a pipeline
  hsdp_shard,           ///< hsdp_shard divides dp * cp, with ZeRO-3
};
inline constexpr std::size_t rule_count = static_cast<std::size_t>(Rule::hsdp_shard) + 1;

/// What refuses `layout`, first rule first; Rule::none where nothing does. Arithmetic only: no allocation, no throw.
Rule refused_by(const Job& job, const Layout& layout) noexcept;
/// "heads % tp", "layers % (pp * vp)", ...
std::string_view name(Rule rule);
/// The refusal in words, with what is needed and what is there. `rule` is what refused_by said.
Violation violation_of(const Job& job, const Layout& layout, Rule rule);
/// refused_by as an answer for people.
std::optional<Violation> constraint(const Job& job, const Layout& layout);

/// The split that a stack would be given for `chunks` = pp * vp: automatic where that is allowed, else uneven where the
/// stack takes an explicit layout, else automatic (which is refused).
StageSplit usual_stage_split(int layers, const Framework& framework, int pp, int vp) noexcept;
/// What `automatic` stands for: cost, even, embedding or uneven; automatic where nothing is allowed.
StageSplit resolved_split(StageSplit split, int layers, const Framework& framework, int pp, int vp) noexcept;

}  // namespace meshwright::parallel
