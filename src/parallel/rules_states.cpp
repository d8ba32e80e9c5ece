// Rules on sharded states, and on memory.
#include <fmt/format.h>

#include "meshwright/core/units.hpp"
#include "meshwright/parallel/memory.hpp"
#include "parallel/rules.hpp"

namespace meshwright::parallel {
namespace {

constexpr RuleRow states[] = {
    {.name = "zero_stage",
     .refuses = [](const Job& job,
                   const Layout& l) noexcept { return l.zero_stage > job.framework.rules.max_zero_stage; },
     .words = [](const Job& job, const Layout& l) -> RuleWords {
       return {fmt::format("at most {}", job.framework.rules.max_zero_stage), fmt::format("{}", l.zero_stage)};
     }},
    {.name = "zero_stage with a pipeline",
     .refuses =
         [](const Job& job, const Layout& l) noexcept {
           return l.pp > 1 && l.zero_stage > job.framework.rules.max_zero_stage_pipeline;
         },
     .words = [](const Job& job, const Layout& l) -> RuleWords {
       return {fmt::format("at most {} with pp > 1", job.framework.rules.max_zero_stage_pipeline),
               fmt::format("{}", l.zero_stage)};
     }},
    {.name = "zero_stage with graphs",
     .refuses =
         [](const Job& job, const Layout& l) noexcept {
           return l.zero_stage > 1 && !job.framework.rules.graphs_with_sharding &&
                  job.recipe.kernels.cuda_graphs != CudaGraphs::none;
         },
     .words = [](const Job& job, const Layout& l) -> RuleWords {
       const auto graphs = static_cast<std::size_t>(job.recipe.kernels.cuda_graphs);
       return {fmt::format("recipe kernels cuda_graphs none for zero_stage {}", l.zero_stage),
               fmt::format("cuda_graphs {}", cuda_graph_names[graphs])};
     }},
    {.name = "zero_stage with ep_comm_overlap",
     .refuses =
         [](const Job& job, const Layout& l) noexcept {
           return l.zero_stage > 1 && l.ep_comm_overlap && l.ep > 1 && !job.framework.rules.ep_overlap_with_sharding;
         },
     .words = [](const Job&, const Layout& l) -> RuleWords {
       return {fmt::format("ep_comm_overlap false for zero_stage {}", l.zero_stage), "ep_comm_overlap true"};
     }},
    {.name = "hsdp_shard",
     .refuses =
         [](const Job&, const Layout& l) noexcept {
           return l.hsdp_shard > 0 && (l.zero_stage != 3 || !divides(l.hsdp_shard, l.dp * l.cp));
         },
     .words = [](const Job&, const Layout& l) -> RuleWords {
       return {fmt::format("zero_stage 3 and a multiple of hsdp_shard {}", l.hsdp_shard),
               fmt::format("zero_stage {}, dp * cp {}", l.zero_stage, l.dp * l.cp)};
     }},
    {.name = "offload of shards",
     .refuses =
         [](const Job& job, const Layout& l) noexcept {
           const RecipeOffload& host = job.recipe.offload;
           return (host.parameters && l.zero_stage < 3) || (host.gradients && l.zero_stage < 2);
         },
     .words = [](const Job& job, const Layout& l) -> RuleWords {
       return {fmt::format("zero_stage {} for {} on the host", job.recipe.offload.parameters ? 3 : 2,
                           job.recipe.offload.parameters ? "parameters" : "gradients"),
               fmt::format("zero_stage {}", l.zero_stage)};
     }},
    {.name = "overlap_param_gather",
     .refuses =
         [](const Job& job, const Layout& l) noexcept {
           return job.framework.rules.gathers_beside_reduces && l.zero_stage > 0 && l.overlap_param_gather &&
                  !l.overlap_grad_reduce;
         },
     .words = [](const Job&, const Layout&) -> RuleWords {
       return {"overlap_grad_reduce true, or overlap_param_gather false", "overlap_grad_reduce false"};
     }},
};

bool host_refuses(const Job& job, const Layout& layout) noexcept {
  return job.recipe.offload.any() && more_than_host(job.cluster.node.host_memory, memory(job, layout));
}

bool device_refuses(const Job& job, const Layout& layout) noexcept {
  return fit(job, memory(job, layout)) == Fit::does_not_fit;
}

// The host's first: what it cannot hold fits nowhere, and the device would be told for it.
constexpr RuleRow memories[] = {
    {.name = "host memory",
     .refuses = host_refuses,
     .words = [](const Job& job, const Layout& layout) -> RuleWords {
       return {fmt::format("{} a node", format(memory(job, layout).host)), format(job.cluster.node.host_memory)};
     },
     .of_stack = false},
    {.name = "device memory",
     .refuses = device_refuses,
     .words = [](const Job& job, const Layout& layout) -> RuleWords {
       return {format(memory(job, layout).reserved), format(usable_memory(job))};
     },
     .of_stack = false},
};

}  // namespace

std::span<const RuleRow> state_rules() { return states; }
std::span<const RuleRow> memory_rules() { return memories; }

}  // namespace meshwright::parallel
