// The fields of a device's memory: one row each, with everything that is said of it.
#include <fmt/format.h>

#include <array>

#include "meshwright/core/units.hpp"
#include "meshwright/parallel/memory.hpp"

namespace meshwright::parallel {
namespace {

/// "2 B x (0.53 G + 3.2 G of experts) over 64 and 8 ranks": a state of the worst stage, sharded from ZeRO stage
/// `least`.
std::string state(const Job& job, const Prediction& p, double bytes, int least) {
  const RankParameters& held = p.placement.stages[static_cast<std::size_t>(p.memory.stage)].parameters;
  const StateRanks& ranks = p.placement.state_ranks;
  const bool sharded = p.layout.zero_stage >= least, experts = job.model.is_moe();
  std::string text = fmt::format("{:.3g} B x {}", bytes, format_count(held.dense));
  if (sharded) text += fmt::format(" / {}", ranks.dense);
  if (experts)
    text += fmt::format(" + {} of experts{}", format_count(held.experts),
                        sharded ? fmt::format(" / {}", ranks.experts) : "");
  return text;
}

constexpr std::array<MemoryField, 9> table = {{
    {.name = "weights",
     .value = &Memory::weights,
     .advice = "more tensor, expert or pipeline ranks, or ZeRO 3, share them",
     .formula = [](const Job& job,
                   const Prediction& p) { return state(job, p, memory_constants(job).parameter_bytes, 3); }},
    {.name = "gradients",
     .value = &Memory::gradients,
     .advice = "ZeRO 2, or more data parallel ranks under it, share them",
     .formula = [](const Job& job,
                   const Prediction& p) { return state(job, p, memory_constants(job).gradient_bytes, 2); }},
    {.name = "optimizer",
     .value = &Memory::optimizer,
     .advice = "ZeRO 1, or more data parallel ranks under it, share its states; fewer bytes or host memory help too",
     .formula = [](const Job& job,
                   const Prediction& p) { return state(job, p, memory_constants(job).optimizer_bytes, 1); }},
    {.name = "activations",
     .value = &Memory::activations,
     .advice = "recompute, a smaller micro-batch, sequence or context parallelism, or fewer stages in flight help",
     .formula =
         [](const Job&, const Prediction& p) {
           const StagePlace& stage = p.placement.stages[static_cast<std::size_t>(p.memory.stage)];
           return fmt::format("{:.3g} micro-batches in flight x {} layers, {} tokens each, recompute {}",
                              stage.in_flight, stage.layers, format_count(p.placement.tokens.all),
                              describe_recompute(p.layout));
         }},
    {.name = "logits",
     .value = &Memory::logits,
     .advice = "a loss in chunks, or logits cut over tp, help",
     .formula =
         [](const Job&, const Prediction& p) {
           return fmt::format("{} tokens x {} of the vocabulary", format_count(p.placement.tokens.all),
                              format_count(p.placement.vocabulary));
         }},
    {.name = "update",
     .value = &Memory::update,
     .advice = "a fused update has no intermediates",
     .formula =
         [](const Job& job, const Prediction&) {
           return fmt::format("{:.3g} B a parameter beyond activations and logits, which are gone by then",
                              memory_constants(job).update_bytes);
         }},
    {.name = "buffers",
     .value = &Memory::buffers,
     .advice = "smaller gather and reduce buckets help",
     .formula = [](const Job& job,
                   const Prediction&) { return "buckets and what is gathered, by " + job.framework.name; }},
    {.name = "start_up",
     .value = &Memory::start_up,
     .advice = "more tensor, expert or pipeline ranks hold less of the model before the first step; a step takes less",
     .formula =
         [](const Job& job, const Prediction&) {
           return "beyond a step's peak, before the first one, by " + job.framework.name;
         }},
    {.name = "context",
     .value = &Memory::context,
     .advice = "",
     .formula = [](const Job& job, const Prediction&) { return "CUDA and NCCL, by " + job.framework.name; }},
}};

}  // namespace

std::span<const MemoryField> memory_fields() { return table; }

const MemoryField& largest_part(const Memory& memory) noexcept {
  const MemoryField* most = &table.front();
  for (const MemoryField& field : table) {
    if (memory.*field.value > memory.*most->value) most = &field;
  }
  return *most;
}

Term explain_memory(const Job& job, const Prediction& p) {
  Term root{.name = "reserved_memory",
            .value = p.memory.reserved.value(),
            .unit = "B",
            .formula = fmt::format("worst stage {}; what comes and goes with its fragmentation", p.memory.stage),
            .source = job.framework.name,
            .parts = {}};
  Bytes parts;
  for (const MemoryField& field : table) {
    const Bytes value = p.memory.*field.value;
    parts += value;
    root.parts.push_back({.name = field.name,
                          .value = value.value(),
                          .unit = "B",
                          .formula = field.formula(job, p),
                          .source = "",
                          .parts = {}});
  }
  root.parts.push_back({.name = "fragmentation",
                        .value = (p.memory.reserved - parts).value(),
                        .unit = "B",
                        .formula = fmt::format("reserved beyond what is allocated: {:.3g} x what comes and goes",
                                               job.framework.memory.fragmentation),
                        .source = job.framework.name,
                        .parts = {}});
  return root;
}

}  // namespace meshwright::parallel
