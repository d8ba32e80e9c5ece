// The explanation of a prediction: the fields of StepTime as a tree, each leaf with formula, parameters and source.
#include <fmt/format.h>

#include "meshwright/core/units.hpp"
#include "meshwright/hardware/platform.hpp"
#include "meshwright/parallel/step.hpp"

namespace meshwright::parallel {
namespace {

struct View {
  const Job& job;
  const Layout& layout;
  Entries entries;
  Step step;
  const StageKind* stage = nullptr;  ///< the worst
};

Term leaf(std::string name, Seconds value, std::string formula, std::string source) {
  return {.name = std::move(name),
          .value = value.value(),
          .unit = "s",
          .formula = std::move(formula),
          .source = std::move(source),
          .parts = {}};
}

std::string class_name(const LayerShape& shape) {
  const char* feed = shape.feed == FeedForward::moe ? "moe" : shape.feed == FeedForward::dense ? "dense" : "mixer";
  return fmt::format("{}{}_blocks", feed, shape.full_attention ? "" : "_window");
}

/// Compute (or recompute) of the worst stage by class of block; `pick` takes the seconds of one block.
template <class Pick>
std::vector<Term> by_block(const View& v, const char* what, Pick&& pick) {
  std::vector<Term> parts;
  const GemmEfficiency& gemm = v.job.cluster.accelerator.efficiency.of(v.job.precision.gemm);
  const std::string source = fmt::format("{} {}: {:.3g} of peak, sustained {:.3g} [{}]", v.job.cluster.accelerator.name,
                                         name(v.job.precision.gemm), gemm.ceiling, gemm.sustained, gemm.source);
  const auto add = [&](const std::string& block, double count, const BlockCost& cost) {
    const Seconds one = pick(cost);
    if (count <= 0 || one.value() <= 0) return;
    parts.push_back(leaf(
        block, v.step.micro_batches * (count * one),
        fmt::format("{} micro-batches x {:.3g} x {} of {}", v.step.micro_batches, count, format(one), what), source));
  };
  const auto classes = layer_classes(v.job.model);
  for (std::size_t i = 0; i < classes.size(); ++i) {
    add(class_name(classes[i].shape), v.stage->blocks[i], v.entries.shard->blocks[i]);
  }
  add("embedding", v.stage->embedding, v.entries.shard->embedding);
  add("head", v.stage->head * (1 + v.job.model.mtp_layers), v.entries.shard->head);
  add("mtp", v.stage->head * v.job.model.mtp_layers, v.entries.shard->mtp);
  return parts;
}

std::string formula_of(const View& v, std::string_view field) {
  const Layout& l = v.layout;
  const int m = v.step.micro_batches;
  if (field == "tensor_parallel") {
    return l.tp == 1 ? "tp = 1"
                     : fmt::format("{} micro-batches x {} of activations over tp {}{}", m,
                                   l.sequence_parallel ? "all-gathers and reduce-scatters" : "all-reduces", l.tp,
                                   l.tp_comm_overlap ? ", beside the GEMMs" : "");
  }
  if (field == "context_parallel")
    return l.cp == 1 ? "cp = 1" : fmt::format("keys and values round a ring of {}", l.cp);
  if (field == "expert_parallel") {
    return l.ep == 1 ? "ep = 1" : fmt::format("dispatch and combine, forward and backward, over ep {}", l.ep);
  }
  if (field == "pipeline")
    return l.pp == 1 ? "pp = 1" : fmt::format("sends of {} between stages", format(v.entries.shard->boundary));
  if (field == "data_parallel") {
    return fmt::format("ZeRO {}: what gradient reduction and gathers over {} ranks leave outside their windows",
                       l.zero_stage, v.entries.shards->size);
  }
  if (field == "bubble")
    return fmt::format("{} over {} stages, vp {}, {} micro-batches", name(effective_schedule(l)), l.pp, l.vp, m);
  if (field == "optimizer")
    return fmt::format("{:.3g} B of HBM traffic per parameter held",
                       state_bytes(v.job.recipe.states, v.job.precision.rest).traffic);
  return "max(GPU, launches of the host) per slot, plus what a step costs once";
}

std::string source_of(const View& v, std::string_view field) {
  const std::string& profile = v.job.framework.name;
  if (field == "tensor_parallel")
    return fmt::format("links: {}; exposed share {:.3g} [{}]", platform_of(v.job.cluster).name,
                       v.job.framework.overlap.tp_exposed, profile);
  if (field == "data_parallel")
    return fmt::format("links: {}; slowdown {:.3g} [{}]", platform_of(v.job.cluster).name,
                       v.job.framework.overlap.slowdown, profile);
  if (field == "bubble") return "closed form of the schedule (docs/models-step.md)";
  if (field == "optimizer" || field == "host") return profile;
  return platform_of(v.job.cluster).name;
}

}  // namespace

Term explain(const Job& job, const Prediction& prediction) {
  Tables tables(job);
  View v{job, prediction.layout, tables.entries(prediction.layout), {}, nullptr};
  v.step = step_time(tables.constants(), v.entries, prediction.layout);
  for (const StageKind& kind : v.entries.stages->kinds) {
    if (kind.first == v.step.worst_stage) v.stage = &kind;
  }
  Term root{.name = "step_time",
            .value = total(v.step.time).value(),
            .unit = "s",
            .formula = fmt::format("sum of disjoint terms on the critical path; worst stage {}", v.step.worst_stage),
            .source = "",
            .parts = {}};
  const auto mode = static_cast<std::size_t>(prediction.layout.recompute);
  describe(v.step.time, [&](const char* field, Seconds value) {
    Term term = leaf(field, value, "", "");
    if (std::string_view(field) == "compute") {
      term.formula = "kernels of the worst stage, forward and backward";
      term.parts = by_block(v, "forward and backward",
                            [](const BlockCost& b) { return b.forward.compute + b.backward.compute; });
    } else if (std::string_view(field) == "recompute") {
      term.formula = fmt::format("recompute {}", name(prediction.layout.recompute));
      term.parts = by_block(v, "repeated forward", [mode](const BlockCost& b) { return b.recompute[mode].compute; });
    } else {
      term.formula = formula_of(v, field);
      term.source = source_of(v, field);
    }
    root.parts.push_back(std::move(term));
  });
  return root;
}

}  // namespace meshwright::parallel
