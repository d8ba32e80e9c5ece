// Rules on mixtures of experts.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "meshwright/parallel/placement.hpp"
#include "parallel/rules.hpp"

namespace meshwright::parallel {
namespace {

/// Ranks that experts are spread over, and how many of them hold one whole set.
struct Fold {
  int ranks, group;
  Fold(const Job& job, const Layout& l) noexcept {
    const ExpertFold fold = expert_fold(job.framework);
    ranks = (fold.over_tp ? l.tp : 1) * (fold.over_cp ? l.cp : 1) * l.dp;
    group = l.ep * (fold.over_tp ? expert_tensor_parallel(l, fold) : 1);
  }
};

/// Another micro-batch's kernels come between those of a layer, which is therefore no graph of its own; where parts of
/// it are, the stack must replay them apart (Megatron Core, transformer_config.py, since 0.16).
bool overlap_refuses_graphs(const Job& job) noexcept {
  const CudaGraphs graphs = job.recipe.kernels.cuda_graphs;
  if (graphs == CudaGraphs::per_layer) return true;
  if (graphs != CudaGraphs::partial) return false;
  const auto mlp = static_cast<std::size_t>(GraphPart::mlp);
  return !job.framework.rules.ep_overlap_with_graphs || job.recipe.kernels.graph_parts.has(mlp);
}

/// Overlap of dispatch and combine with another micro-batch needs two of them on a stage at once (interleaving) and no
/// full recompute, and leaves nothing to put shared experts beside (Megatron Core, transformer_config.py,
/// overlap_moe_expert_parallel_comm).
bool overlap_refused(const Job& job, const Layout& l) noexcept {
  if (!l.ep_comm_overlap || l.ep == 1) return false;
  if (!job.framework.rules.can_overlap_ep || job.recipe.kernels.shared_expert_overlap) return true;
  if (overlap_refuses_graphs(job)) return true;
  return (l.pp > 1 && l.vp == 1) || l.recompute == Recompute::full;
}

/// Megatron Core, parallel_state.py: stages of attention and of experts are the same ranks.
bool order_refused(const Job& job, const Layout& l) noexcept {
  if (!job.model.is_moe() || l.pp == 1) return false;
  if (expert_data_parallel(l, expert_fold(job.framework)) == l.dp) return false;
  // Stages are the outermost but for axes of one rank.
  const std::array<int, axis_names.size()> ranks = {l.tp, l.cp, 1, l.dp, l.pp};
  const auto& axes = rank_order(l, job.framework).axes;
  const auto outer =
      std::find_if(axes.rbegin(), axes.rend(), [&](Axis axis) { return ranks[static_cast<std::size_t>(axis)] > 1; });
  return *outer != Axis::pp;
}

constexpr RuleRow table[] = {
    {.name = "experts % ep",
     .refuses =
         [](const Job& job, const Layout& l) noexcept {
           return job.model.is_moe() ? !divides(l.ep, job.model.experts) : l.ep != 1;
         },
     .words = [](const Job& job, const Layout& l) -> RuleWords {
       if (!job.model.is_moe()) return {fmt::format("experts for ep {}", l.ep), "a dense model"};
       return {fmt::format("a multiple of ep {}", l.ep), fmt::format("{} experts", job.model.experts)};
     }},
    {.name = "moe_ffn_hidden % etp",
     .refuses =
         [](const Job& job, const Layout& l) noexcept {
           return job.model.is_moe() && !divides(expert_tensor_parallel(l, job.framework), job.model.moe_ffn_hidden);
         },
     .words = [](const Job& job, const Layout& l) -> RuleWords {
       return {fmt::format("a multiple of etp {}", expert_tensor_parallel(l, job.framework)),
               fmt::format("an expert's inner width {}", job.model.moe_ffn_hidden)};
     }},
    {.name = "ep * etp divides tp * cp * dp",
     .refuses =
         [](const Job& job, const Layout& l) noexcept {
           const Fold fold(job, l);
           return job.model.is_moe() && !divides(fold.group, fold.ranks);
         },
     .words = [](const Job& job, const Layout& l) -> RuleWords {
       const Fold fold(job, l);
       const ExpertFold stack = expert_fold(job.framework);
       return {fmt::format("a multiple of {} {}", stack.over_tp ? "ep * etp" : "ep", fold.group),
               fmt::format("{}{}dp {}", stack.over_tp ? "tp * " : "", stack.over_cp ? "cp * " : "", fold.ranks)};
     }},
    {.name = "experts with sequence_parallel",
     .refuses =
         [](const Job& job, const Layout& l) noexcept {
           return job.framework.rules.experts_need_sequence_parallel && job.model.is_moe() && l.tp > 1 &&
                  !l.sequence_parallel;
         },
     .words = [](const Job&, const Layout& l) -> RuleWords {
       return {fmt::format("sequence_parallel true for experts with tp {}", l.tp), "sequence_parallel false"};
     }},
    {.name = "ep_comm_overlap",
     .refuses = overlap_refused,
     .words = [](const Job& job, const Layout& l) -> RuleWords {
       if (!job.framework.rules.can_overlap_ep) return {"ep_comm_overlap false", "no such overlap in the stack"};
       if (job.recipe.kernels.shared_expert_overlap)
         return {"recipe kernels shared_expert_overlap false", "shared experts beside dispatch and combine"};
       if (overlap_refuses_graphs(job)) {
         const CudaGraphs graphs = job.recipe.kernels.cuda_graphs;
         if (graphs == CudaGraphs::partial && job.framework.rules.ep_overlap_with_graphs)
           return {"recipe kernels graph_parts without mlp", "mlp among them"};
         return {"recipe kernels cuda_graphs none",
                 fmt::format("cuda_graphs {}", cuda_graph_names[static_cast<std::size_t>(graphs)])};
       }
       if (l.recompute == Recompute::full) return {"recompute none or selective", "recompute full"};
       return {"vp > 1 with a pipeline: two micro-batches on a stage at once", fmt::format("pp {}, vp 1", l.pp)};
     }},
    {.name = "delay_wgrad",
     .refuses =
         [](const Job& job, const Layout& l) noexcept {
           return job.recipe.kernels.delay_wgrad && job.model.is_moe() && !(l.ep_comm_overlap && l.ep > 1);
         },
     .words = [](const Job&, const Layout& l) -> RuleWords {
       return {"ep_comm_overlap true for recipe kernels delay_wgrad",
               l.ep > 1 ? "ep_comm_overlap false" : "ep 1: nothing to overlap"};
     }},
    {.name = "order with experts",
     .refuses = order_refused,
     .words = [](const Job& job, const Layout& l) -> RuleWords {
       return {"pp last in the order, or as many replicas of experts as dp",
               fmt::format("order {}, {} replicas of experts, dp {}", describe_order(rank_order(l, job.framework)),
                           expert_data_parallel(l, expert_fold(job.framework)), l.dp)};
     }},
};

}  // namespace

std::span<const RuleRow> expert_rules() { return table; }

}  // namespace meshwright::parallel
