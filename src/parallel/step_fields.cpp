// The fields of a step: one row each, with everything that is said of it.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "meshwright/core/units.hpp"
#include "meshwright/hardware/platform.hpp"
#include "meshwright/workload/sections.hpp"
#include "parallel/explained.hpp"

namespace meshwright::parallel {
namespace {

std::string section_name(const ModelSection& section) {
  if (section.kind == SectionKind::embedding) return "embedding";
  if (section.kind == SectionKind::head) return "head";
  if (section.kind == SectionKind::prediction_module) return "mtp";
  const LayerShape& shape = section.shape;
  const char* feed = shape.feed == FeedForward::moe ? "moe" : shape.feed == FeedForward::dense ? "dense" : "mixer";
  return fmt::format("{}{}_blocks", feed, shape.full_attention ? "" : "_window");
}

/// Compute (or recompute) of the worst stage by section of the model; `pick` takes the seconds of one block, given what
/// of it is computed again.
template <class Pick>
std::vector<Term> by_section(const Explained& e, const char* what, Pick&& pick) {
  std::vector<Term> parts;
  const GemmEfficiency& gemm = e.job.cluster.accelerator.efficiency.of(e.job.precision.gemm);
  const std::string source = fmt::format("{} {}: {:.3g} of peak, sustained {:.3g} [{}]", e.job.cluster.accelerator.name,
                                         name(e.job.precision.gemm), gemm.ceiling, gemm.sustained, gemm.source);
  const auto of_model = model_sections(e.job.model);
  for (const StageSection& held : e.stage->sections) {
    const Seconds one = pick(e.entries.shard->sections[held.section], recompute_of(held, e.layout));
    if (one.value() <= 0) continue;
    parts.push_back({.name = section_name(of_model[held.section]) + (held.kept ? "_kept" : ""),
                     .value = (e.times * (e.step.micro_batches * (held.runs * one))).value(),
                     .unit = "s",
                     .formula = fmt::format("{} micro-batches x {:.3g} x {} of {}", e.step.micro_batches, held.runs,
                                            format(one), what),
                     .source = source,
                     .parts = {}});
  }
  return parts;
}

std::string links(const Explained& e) { return platform_of(e.job.cluster).name; }
std::string stack(const Explained& e) { return e.job.framework.name; }
std::string nothing(const Explained&) { return ""; }

std::string exposed_tensor(const Explained& e) {
  if (e.layout.tp == 1) return "tp = 1";
  return fmt::format("{} micro-batches x {} of activations over tp {}{}", e.step.micro_batches,
                     e.layout.sequence_parallel ? "all-gathers and reduce-scatters" : "all-reduces", e.layout.tp,
                     e.layout.tp_comm_overlap ? ", beside the GEMMs" : "");
}

std::string exposed_expert(const Explained& e) {
  const int etp = expert_tensor_parallel(e.layout, e.job.framework);
  if (!e.job.model.is_moe() || (e.layout.ep == 1 && etp == 1)) return "ep = 1";
  const std::string over =
      etp > 1 ? fmt::format("ep {} and etp {}", e.layout.ep, etp) : fmt::format("ep {}", e.layout.ep);
  return fmt::format("dispatch and combine, forward and backward, over {}", over);
}

constexpr std::array<StepField, 10> table = {{
    {.name = "compute",
     .value = &StepTime::compute,
     .advice = "more tensor, expert or data parallel ranks share it; a smaller number format shortens its GEMMs",
     .formula = [](const Explained&) -> std::string { return "kernels of the worst stage, forward and backward"; },
     .parameter = nothing,
     .parts =
         [](const Explained& e) {
           return by_section(e, "forward and backward",
                             [](const BlockCost& b, Recompute) { return b.forward.compute + b.backward.compute; });
         }},
    {.name = "recompute",
     .value = &StepTime::recompute,
     .advice = "selective recompute, or memory for whole activations, saves it",
     .formula = [](const Explained& e) { return "recompute " + describe_recompute(e.layout); },
     .parameter = nothing,
     .parts =
         [](const Explained& e) {
           return by_section(e, "repeated forward", [](const BlockCost& b, Recompute mode) {
             return b.recompute[static_cast<std::size_t>(mode)].compute;
           });
         }},
    {.name = "tensor_parallel",
     .value = &StepTime::tensor_parallel,
     .hidden = &Hidden::tensor_parallel,
     .communication = true,
     .group = &Groups::tensor,
     .advice = "a smaller tp inside the scale-up domain, or communication overlap in the GEMMs, helps",
     .formula = exposed_tensor,
     .parameter =
         [](const Explained& e) {
           return fmt::format("links: {}; exposed share {:.3g} [{}]", links(e), e.job.framework.overlap.tp_exposed,
                              stack(e));
         }},
    {.name = "context_parallel",
     .value = &StepTime::context_parallel,
     .communication = true,
     .group = &Groups::context,
     .advice = "a smaller cp, longer sequences per rank, or another cp_kind, helps",
     .formula = [](const Explained& e) -> std::string {
       if (e.layout.cp == 1) return "cp = 1";
       return fmt::format("{} over cp {}", context_kind(e.layout, e.job.framework)->what, e.layout.cp);
     },
     .parameter = links},
    {.name = "expert_parallel",
     .value = &StepTime::expert_parallel,
     .hidden = &Hidden::expert_parallel,
     .communication = true,
     .group = &Groups::expert,
     .advice = "ep inside the scale-up domain, or overlap with another micro-batch, helps",
     .formula = exposed_expert,
     .parameter = links},
    {.name = "pipeline",
     .value = &StepTime::pipeline,
     .communication = true,
     .group = &Groups::pipeline,
     .advice = "fewer stages, or overlapped sends, help",
     .formula = [](const Explained& e) -> std::string {
       if (e.layout.pp == 1) return "pp = 1";
       return fmt::format("sends of {} between stages", format(e.entries.shard->boundary));
     },
     .parameter = links},
    {.name = "data_parallel",
     .value = &StepTime::data_parallel,
     .hidden = &Hidden::data_parallel,
     .communication = true,
     .group = &Groups::data,
     .advice = "more micro-batches per step, overlap, or a lower ZeRO stage help",
     .formula =
         [](const Explained& e) {
           return fmt::format("ZeRO {}: what gradient reduction and gathers over {} ranks leave outside their windows",
                              e.layout.zero_stage, e.entries.shards->size);
         },
     .parameter =
         [](const Explained& e) {
           return fmt::format("links: {}; slowdown {:.3g} [{}]", links(e), e.job.framework.overlap.slowdown, stack(e));
         }},
    {.name = "bubble",
     .value = &StepTime::bubble,
     .advice = "more micro-batches, virtual stages, fewer stages or a zero-bubble schedule help",
     .formula =
         [](const Explained& e) {
           return fmt::format("{} over {} stages, vp {}, {} micro-batches", name(effective_schedule(e.layout)),
                              e.layout.pp, e.layout.vp, e.step.micro_batches);
         },
     .parameter = [](const Explained& e) -> std::string {
       if (e.layout.pp == 1) return "";
       return fmt::format("closed form of the schedule [{}]", effective_schedule(e.layout)->citation);
     }},
    {.name = "optimizer",
     .value = &StepTime::optimizer,
     .advice = "sharding its states (ZeRO), or fewer bytes of them, shortens it",
     .formula =
         [](const Explained& e) {
           return fmt::format("{:.3g} B of HBM traffic per parameter held",
                              state_bytes(e.job.recipe.states, e.job.precision.rest).traffic);
         },
     .parameter = stack},
    {.name = "host",
     .value = &StepTime::host,
     .advice = "CUDA graphs, compiled blocks, or larger micro-batches help",
     .formula = [](const Explained&) -> std::string {
       return "max(GPU, launches of the host) per slot, plus what a step costs once";
     },
     .parameter = stack},
}};
static_assert(std::ranges::all_of(table, [](const StepField& f) { return f.communication == (f.group != nullptr); }));
static_assert(sizeof(StepTime) == table.size() * sizeof(Seconds), "a field of StepTime needs its row");

}  // namespace

std::span<const StepField> step_fields() { return table; }

Seconds total(const StepTime& t) noexcept {
  Seconds sum;
  for (const StepField& field : table) sum += t.*field.value;
  return sum;
}

Seconds communication(const StepTime& t) noexcept {
  Seconds sum;
  for (const StepField& field : table) {
    if (field.communication) sum += t.*field.value;
  }
  return sum;
}

Seconds total(const Hidden& h) noexcept {
  Seconds sum;
  for (const StepField& field : table) {
    if (field.hidden != nullptr) sum += h.*field.hidden;
  }
  return sum;
}

const StepField& largest_communication(const StepTime& t) noexcept {
  const auto size = [&](const StepField& field) { return field.communication ? t.*field.value : Seconds::base(-1); };
  return *std::max_element(table.begin(), table.end(),
                           [&](const StepField& a, const StepField& b) { return size(a) < size(b); });
}

}  // namespace meshwright::parallel
