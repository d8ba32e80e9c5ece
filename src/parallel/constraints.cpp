#include "meshwright/parallel/constraints.hpp"

#include <fmt/format.h>

#include <array>

#include "meshwright/parallel/stages.hpp"

namespace meshwright::parallel {
namespace {

bool divides(int divisor, int number) noexcept { return divisor > 0 && number % divisor == 0; }

bool kv_heads_refused(const Job& job, const Layout& layout) noexcept {
  if (job.model.attention == AttentionKind::latent) return false;  // latent keys and values are not cut by heads
  const int kv_heads = job.model.kv_heads;
  if (divides(layout.tp, kv_heads)) return false;
  return !(job.framework.rules.kv_heads_replicate && layout.tp > kv_heads && divides(kv_heads, layout.tp));
}

/// Index into axis_names of the first axis that the layout uses and the stack does not have; their number if there is
/// none.
std::size_t missing_axis(const Framework& framework, const Layout& layout) noexcept {
  const std::array degrees = {layout.tp, layout.cp, layout.pp, layout.ep};
  std::size_t axis = 0;
  while (axis < degrees.size() && (degrees[axis] == 1 || framework.rules.axes.has(axis))) ++axis;
  return axis;
}

int expert_ranks(const Job& job, const Layout& layout) noexcept {
  return (job.framework.rules.experts_fold_over_tp ? layout.tp : 1) * layout.cp * layout.dp;
}

Rule expert_rule(const Job& job, const Layout& layout) noexcept {
  const Transformer& model = job.model;
  if (!model.is_moe()) return layout.ep == 1 ? Rule::none : Rule::experts_ep;
  const int etp = expert_tensor_parallel(layout);
  if (!divides(layout.ep, model.experts)) return Rule::experts_ep;
  if (!divides(etp, model.moe_ffn_hidden)) return Rule::expert_tensor;
  const int group = job.framework.rules.experts_fold_over_tp ? layout.ep * etp : layout.ep;
  return divides(group, expert_ranks(job, layout)) ? Rule::none : Rule::expert_fold;
}

Rule sequence_rule(const Job& job, const Layout& layout) noexcept {
  if (layout.cp > 1 && !divides(2 * layout.cp, job.seq_len)) return Rule::sequence_cp;
  if (layout.tp > 1 && layout.sequence_parallel && !divides(layout.tp, job.seq_len / layout.cp)) {
    return Rule::sequence_tp;
  }
  return divides(layout.dp * layout.micro_batch, job.global_batch) ? Rule::none : Rule::batch;
}

/// Without these many the hand-made orders of the folded schedules have nothing to fill their ramps with.
int least_micro_batches(PipelineSchedule schedule, int pp) noexcept {
  if (schedule == PipelineSchedule::dual_pipe) return 2 * pp;
  return schedule == PipelineSchedule::zero_bubble_v ? 2 * pp - 1 : 1;
}

/// ZB-V and DualPipe place two chunks on every stage by themselves.
Rule schedule_rule(const Layout& layout, int batches) noexcept {
  const PipelineSchedule schedule = effective_schedule(layout);
  if (schedule == PipelineSchedule::interleaved || schedule == PipelineSchedule::one_f_one_b) return Rule::none;
  if (layout.vp > 1) return Rule::schedule_shape;
  const bool dual = schedule == PipelineSchedule::dual_pipe;
  if (dual && (layout.pp % 2 != 0 || batches % 2 != 0)) return Rule::schedule_shape;
  return batches < least_micro_batches(schedule, layout.pp) ? Rule::pipeline_batches : Rule::none;
}

Rule pipeline_rule(const Job& job, const Layout& layout) noexcept {
  const Framework& framework = job.framework;
  if (layout.pp == 1) return layout.vp > 1 ? Rule::virtual_stages : Rule::none;
  const int ways = split_ways(layout);
  const StageSplit split = resolved_split(layout.stage_split, job.model.layers, framework, layout.pp, ways / layout.pp);
  if (ways > job.model.layers + (split == StageSplit::embedding ? 2 : 0)) return Rule::layers_least;
  if (split == StageSplit::automatic) return Rule::layers_split;
  if (split == StageSplit::cost && stages_used_by_cost(job.model, ways) < ways) return Rule::stages_empty;
  if (layout.vp > 1 && layout.pp == 2 && !layout.overlap_p2p) return Rule::virtual_stages;
  if (!runs(framework, effective_schedule(layout))) return Rule::schedule_missing;
  const int batches = micro_batches(job.global_batch, layout);
  if (layout.vp > 1 && framework.rules.interleaving_needs_multiple && !divides(layout.pp, batches)) {
    return Rule::interleaved_batches;
  }
  if (framework.rules.micro_batches_cover_pipeline && batches < layout.pp - 1) return Rule::pipeline_batches;
  return schedule_rule(layout, batches);
}

Rule sharding_rule(const Framework& framework, const Layout& layout) noexcept {
  if (layout.zero_stage > framework.rules.max_zero_stage) return Rule::zero_missing;
  if (layout.pp > 1 && layout.zero_stage > framework.rules.max_zero_stage_pipeline) return Rule::zero_pipeline;
  if (layout.hsdp_shard == 0) return Rule::none;
  return layout.zero_stage == 3 && divides(layout.hsdp_shard, layout.dp * layout.cp) ? Rule::none : Rule::hsdp_shard;
}

constexpr std::array<std::string_view, rule_count> rule_names = {"none",
                                                                 "tp * cp * pp * dp = accelerators",
                                                                 "axis of the stack",
                                                                 "heads % tp",
                                                                 "kv_heads against tp",
                                                                 "ffn_hidden % tp",
                                                                 "experts % ep",
                                                                 "moe_ffn_hidden % etp",
                                                                 "ep * etp divides tp * cp * dp",
                                                                 "seq_len % (2 * cp)",
                                                                 "seq_len / cp % tp (sequence_parallel)",
                                                                 "global_batch % (dp * micro_batch)",
                                                                 "layers >= pp * vp",
                                                                 "layers % (pp * vp)",
                                                                 "stages by cost",
                                                                 "virtual stages",
                                                                 "micro-batches % pp (interleaving)",
                                                                 "micro-batches for the pipeline",
                                                                 "pipeline schedule",
                                                                 "shape of the pipeline schedule",
                                                                 "zero_stage",
                                                                 "zero_stage with a pipeline",
                                                                 "hsdp_shard"};

struct Words {
  std::string needed, available;
};

Words expert_words(const Job& job, const Layout& layout, Rule rule) {
  const Transformer& model = job.model;
  const int etp = expert_tensor_parallel(layout);
  if (rule == Rule::experts_ep) {
    if (!model.is_moe()) return {fmt::format("experts for ep {}", layout.ep), "a dense model"};
    return {fmt::format("a multiple of ep {}", layout.ep), fmt::format("{} experts", model.experts)};
  }
  if (rule == Rule::expert_tensor) {
    return {fmt::format("a multiple of etp {}", etp), fmt::format("an expert's inner width {}", model.moe_ffn_hidden)};
  }
  const bool folds = job.framework.rules.experts_fold_over_tp;
  return {fmt::format("a multiple of {} {}", folds ? "ep * etp" : "ep", folds ? layout.ep * etp : layout.ep),
          fmt::format("{} {}", folds ? "tp * cp * dp" : "cp * dp", expert_ranks(job, layout))};
}

Words sequence_words(const Job& job, const Layout& layout, Rule rule) {
  if (rule == Rule::sequence_cp) {
    return {fmt::format("a multiple of 2 * cp {}", 2 * layout.cp), fmt::format("sequences of {}", job.seq_len)};
  }
  if (rule == Rule::sequence_tp) {
    return {fmt::format("a multiple of tp {}", layout.tp),
            fmt::format("{} tokens a rank (seq_len / cp)", job.seq_len / layout.cp)};
  }
  return {fmt::format("a multiple of dp * micro_batch {}", layout.dp * layout.micro_batch),
          fmt::format("global batch {}", job.global_batch)};
}

Words layer_words(const Job& job, const Layout& layout, Rule rule) {
  const int chunks = split_ways(layout), layers = job.model.layers;
  if (rule == Rule::stages_empty) {
    return {fmt::format("a block for each of {} stages", chunks),
            fmt::format("{} stages filled by cost", stages_used_by_cost(job.model, chunks))};
  }
  if (rule == Rule::layers_least) return {fmt::format("{} layers, one a chunk", chunks), fmt::format("{}", layers)};
  std::string other;
  if (divides(chunks, layers + 2)) other = "; stage_split 'embedding' counts 2 more";
  if (other.empty() && job.framework.rules.uneven_stages) other = "; stage_split 'uneven' gives an explicit layout";
  return {fmt::format("a multiple of pp * vp {}", chunks),
          fmt::format("{} layers, {} left over{}", layers, layers % chunks, other)};
}

Words pipeline_words(const Job& job, const Layout& layout, Rule rule) {
  const int batches = micro_batches(job.global_batch, layout);
  const PipelineSchedule schedule = effective_schedule(layout);
  switch (rule) {
    case Rule::virtual_stages:
      if (layout.pp == 1) return {fmt::format("pp > 1 for vp {}", layout.vp), "pp 1"};
      return {"pp > 2 where sends do not overlap (overlap_p2p)", fmt::format("pp {}", layout.pp)};
    case Rule::interleaved_batches:
      return {fmt::format("a multiple of pp {}", layout.pp), fmt::format("{} micro-batches", batches)};
    case Rule::pipeline_batches: {
      const int least = least_micro_batches(schedule, layout.pp);
      if (batches < least) return {fmt::format("{} or more for {}", least, name(schedule)), fmt::format("{}", batches)};
      return {fmt::format("pp - 1 = {} or more", layout.pp - 1), fmt::format("{} micro-batches", batches)};
    }
    case Rule::schedule_missing:
      return {fmt::format("schedule {}", name(schedule)), fmt::format("none in {}", job.framework.name)};
    default:
      if (layout.vp > 1) return {fmt::format("vp 1 for {}", name(schedule)), fmt::format("vp {}", layout.vp)};
      return {"even pp and micro-batches", fmt::format("pp {}, {} micro-batches", layout.pp, batches)};
  }
}

Words sharding_words(const Job& job, const Layout& layout, Rule rule) {
  const Framework& framework = job.framework;
  if (rule == Rule::hsdp_shard) {
    return {fmt::format("zero_stage 3 and a multiple of hsdp_shard {}", layout.hsdp_shard),
            fmt::format("zero_stage {}, dp * cp {}", layout.zero_stage, layout.dp * layout.cp)};
  }
  const bool pipeline = rule == Rule::zero_pipeline;
  const int most = pipeline ? framework.rules.max_zero_stage_pipeline : framework.rules.max_zero_stage;
  return {fmt::format("at most {}{}", most, pipeline ? " with pp > 1" : ""), fmt::format("{}", layout.zero_stage)};
}

Words words(const Job& job, const Layout& layout, Rule rule) {
  const Transformer& model = job.model;
  switch (rule) {
    case Rule::accelerators:
      return {fmt::format("{}", layout.accelerators()), fmt::format("{}", job.accelerators)};
    case Rule::heads_tp:
      return {fmt::format("a multiple of tp {}", layout.tp), fmt::format("{} heads", model.heads)};
    case Rule::kv_heads_tp:
      return {fmt::format("a multiple of tp {}{}", layout.tp,
                          job.framework.rules.kv_heads_replicate ? ", or a tp that is a multiple of kv_heads" : ""),
              fmt::format("{} kv heads", model.kv_heads)};
    case Rule::ffn_tp:
      return {fmt::format("a multiple of tp {}", layout.tp), fmt::format("inner width {}", model.ffn_hidden)};
    case Rule::experts_ep:
    case Rule::expert_tensor:
    case Rule::expert_fold:
      return expert_words(job, layout, rule);
    case Rule::axis_missing: {
      const std::string axis(axis_names[missing_axis(job.framework, layout)]);
      return {axis + " 1", fmt::format("no {} in {}", axis, job.framework.name)};
    }
    case Rule::sequence_cp:
    case Rule::sequence_tp:
    case Rule::batch:
      return sequence_words(job, layout, rule);
    case Rule::layers_least:
    case Rule::layers_split:
    case Rule::stages_empty:
      return layer_words(job, layout, rule);
    case Rule::zero_missing:
    case Rule::zero_pipeline:
    case Rule::hsdp_shard:
      return sharding_words(job, layout, rule);
    default:
      return pipeline_words(job, layout, rule);
  }
}

}  // namespace

Rule refused_by(const Job& job, const Layout& layout) noexcept {
  const Transformer& model = job.model;
  if (layout.accelerators() != job.accelerators) return Rule::accelerators;
  if (missing_axis(job.framework, layout) < axis_names.size()) return Rule::axis_missing;
  if (!divides(layout.tp, model.heads)) return Rule::heads_tp;
  if (kv_heads_refused(job, layout)) return Rule::kv_heads_tp;
  const bool has_dense_mlp = !model.is_moe() || model.moe_layers() < model.layers;
  if (has_dense_mlp && !divides(layout.tp, model.ffn_hidden)) return Rule::ffn_tp;
  if (const Rule rule = expert_rule(job, layout); rule != Rule::none) return rule;
  if (const Rule rule = sequence_rule(job, layout); rule != Rule::none) return rule;
  if (const Rule rule = pipeline_rule(job, layout); rule != Rule::none) return rule;
  return sharding_rule(job.framework, layout);
}

std::string_view name(Rule rule) { return rule_names[static_cast<std::size_t>(rule)]; }

Violation violation_of(const Job& job, const Layout& layout, Rule rule) {
  const Words said = words(job, layout, rule);
  const bool of_the_stack = rule != Rule::accelerators && rule != Rule::batch;
  return {.rule = of_the_stack ? fmt::format("{} ({})", name(rule), job.framework.name) : std::string(name(rule)),
          .needed = said.needed,
          .available = said.available};
}

std::optional<Violation> constraint(const Job& job, const Layout& layout) {
  const Rule rule = refused_by(job, layout);
  if (rule == Rule::none) return std::nullopt;
  return violation_of(job, layout, rule);
}

StageSplit resolved_split(StageSplit split, int layers, const Framework& framework, int pp, int vp) noexcept {
  const int chunks = pp * vp;
  const bool even = divides(chunks, layers), with_ends = divides(chunks, layers + 2);
  switch (split) {
    case StageSplit::even:
      return even ? StageSplit::even : StageSplit::automatic;
    case StageSplit::embedding:
      return with_ends ? StageSplit::embedding : StageSplit::automatic;
    case StageSplit::uneven:
      return framework.rules.uneven_stages || framework.rules.uneven_by_default ? StageSplit::uneven
                                                                                : StageSplit::automatic;
    case StageSplit::cost:
      return StageSplit::cost;
    case StageSplit::automatic:
      break;
  }
  if (framework.rules.splits_by_cost) return StageSplit::cost;
  if (even) return StageSplit::even;
  if (framework.rules.uneven_by_default) return StageSplit::uneven;
  return framework.rules.uneven_stages && with_ends ? StageSplit::embedding : StageSplit::automatic;
}

StageSplit usual_stage_split(int layers, const Framework& framework, int pp, int vp) noexcept {
  const StageSplit split = resolved_split(StageSplit::automatic, layers, framework, pp, vp);
  return split == StageSplit::automatic && framework.rules.uneven_stages ? StageSplit::uneven : split;
}

}  // namespace meshwright::parallel
