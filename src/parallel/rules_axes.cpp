// Rules on degrees, heads, widths, sequences and batches.
#include <fmt/format.h>

#include <algorithm>

#include "meshwright/parallel/placement.hpp"
#include "parallel/rules.hpp"

namespace meshwright::parallel {
namespace {

bool kv_heads_refused(const Job& job, const Layout& l) noexcept {
  if (job.model.attention == AttentionKind::latent) return false;  // latent keys and values are not cut by heads
  const int kv_heads = job.model.kv_heads;
  if (divides(l.tp, kv_heads)) return false;
  return !(job.framework.rules.kv_heads_replicate && l.tp > kv_heads && divides(kv_heads, l.tp));
}

bool has_dense_mlp(const Transformer& model) noexcept { return !model.is_moe() || model.moe_layers() < model.layers; }

/// Heads of a tensor rank are dealt to context ranks; fewer kv heads than ranks are sent to several.
bool context_heads_refused(const Job& job, const Layout& l) noexcept {
  if (l.cp == 1 || !context_kind(l, job.framework)->by_heads) return false;
  const int heads = job.model.heads / l.tp;
  if (!divides(l.cp, heads)) return true;
  if (job.model.attention == AttentionKind::latent) return false;
  const int kv_heads = std::max(1, job.model.kv_heads / l.tp);
  return !divides(l.cp, kv_heads) && !divides(kv_heads, l.cp);
}

constexpr RuleRow table[] = {
    {.name = "tp * cp * pp * dp = accelerators",
     .refuses = [](const Job& job, const Layout& l) noexcept { return l.accelerators() != job.accelerators; },
     .words = [](const Job& job, const Layout& l) -> RuleWords {
       return {fmt::format("{}", l.accelerators()), fmt::format("{}", job.accelerators)};
     },
     .of_stack = false},
    {.name = "axis of the stack",
     .refuses = [](const Job& job,
                   const Layout& l) noexcept { return axis_outside(l, job.framework.rules.axes) < axis_names.size(); },
     .words = [](const Job& job, const Layout& l) -> RuleWords {
       const std::string axis(axis_names[axis_outside(l, job.framework.rules.axes)]);
       return {axis + " 1", fmt::format("no {} in {}", axis, job.framework.name)};
     }},
    {.name = "heads % tp",
     .refuses = [](const Job& job, const Layout& l) noexcept { return !divides(l.tp, job.model.heads); },
     .words = [](const Job& job, const Layout& l) -> RuleWords {
       return {fmt::format("a multiple of tp {}", l.tp), fmt::format("{} heads", job.model.heads)};
     }},
    {.name = "kv_heads against tp",
     .refuses = kv_heads_refused,
     .words = [](const Job& job, const Layout& l) -> RuleWords {
       const bool replicates = job.framework.rules.kv_heads_replicate;
       return {fmt::format("a multiple of tp {}{}", l.tp, replicates ? ", or a tp that is a multiple of kv_heads" : ""),
               fmt::format("{} kv heads", job.model.kv_heads)};
     }},
    {.name = "ffn_hidden % tp",
     .refuses =
         [](const Job& job, const Layout& l) noexcept {
           return has_dense_mlp(job.model) && !divides(l.tp, job.model.ffn_hidden);
         },
     .words = [](const Job& job, const Layout& l) -> RuleWords {
       return {fmt::format("a multiple of tp {}", l.tp), fmt::format("inner width {}", job.model.ffn_hidden)};
     }},
    {.name = "kind of context parallelism",
     .refuses =
         [](const Job& job, const Layout& l) noexcept {
           return l.cp > 1 && !job.framework.rules.cp_kinds.has(context_kind(l, job.framework));
         },
     .words = [](const Job& job, const Layout& l) -> RuleWords {
       std::string has;
       for (const ContextKind kind : job.framework.rules.cp_kinds.rows) {
         has += fmt::format("{}{}", has.empty() ? "" : ", ", kind->name);
       }
       return {fmt::format("cp_kind {}", context_kind(l, job.framework)->name), has.empty() ? "none" : has};
     }},
    {.name = "heads % (tp * cp) (ulysses)",
     .refuses = context_heads_refused,
     .words = [](const Job& job, const Layout& l) -> RuleWords {
       const std::string each = l.tp > 1 ? fmt::format(" on each of tp {}", l.tp) : "";
       return {fmt::format("cp {} to divide heads, and to divide kv heads or be a multiple of them", l.cp),
               fmt::format("{} heads and {} kv heads{}", job.model.heads / l.tp, std::max(1, job.model.kv_heads / l.tp),
                           each)};
     }},
    {.name = "seq_len % (2 * cp)",
     .refuses =
         [](const Job& job, const Layout& l) noexcept {
           return l.cp > 1 && !divides(context_kind(l, job.framework)->pieces * l.cp, job.seq_len);
         },
     .words = [](const Job& job, const Layout& l) -> RuleWords {
       const int pieces = context_kind(l, job.framework)->pieces;
       return {fmt::format("a multiple of {}cp {}", pieces == 2 ? "2 * " : "", pieces * l.cp),
               fmt::format("sequences of {}", job.seq_len)};
     }},
    {.name = "seq_len / cp % tp (sequence_parallel)",
     .refuses =
         [](const Job& job, const Layout& l) noexcept {
           return l.tp > 1 && l.sequence_parallel && !divides(l.tp, job.seq_len / l.cp);
         },
     .words = [](const Job& job, const Layout& l) -> RuleWords {
       return {fmt::format("a multiple of tp {}", l.tp),
               fmt::format("{} tokens a rank (seq_len / cp)", job.seq_len / l.cp)};
     }},
    {.name = "tp_comm_overlap",
     .refuses =
         [](const Job& job, const Layout& l) noexcept {
           return l.tp > 1 && l.tp_comm_overlap && !(job.framework.rules.can_overlap_tp && l.sequence_parallel);
         },
     .words = [](const Job& job, const Layout&) -> RuleWords {
       if (!job.framework.rules.can_overlap_tp) return {"tp_comm_overlap false", "no such overlap in the stack"};
       return {"sequence_parallel true", "sequence_parallel false"};
     }},
    {.name = "global_batch % (dp * micro_batch)",
     .refuses = [](const Job& job,
                   const Layout& l) noexcept { return job.global_batch % (1LL * l.dp * l.micro_batch) != 0; },
     .words = [](const Job& job, const Layout& l) -> RuleWords {
       return {fmt::format("a multiple of dp * micro_batch {}", 1LL * l.dp * l.micro_batch),
               fmt::format("global batch {}", job.global_batch)};
     },
     .of_stack = false},
};

}  // namespace

std::span<const RuleRow> axis_rules() { return table; }

}  // namespace meshwright::parallel
