// Hierarchical algorithms: flat rows, level by level. Their schedules and closed forms are made from the stages.
#include "rows.hpp"

namespace meshwright::collectives::rows {
namespace {

using enum Collective;

constexpr Stage ring_stages[] = {{0, "ring", reduce_scatter}, {1, "ring", all_reduce}, {0, "ring", all_gather}};
constexpr Stage ring_stages_of_three[] = {{0, "ring", reduce_scatter},
                                          {1, "ring", reduce_scatter},
                                          {2, "ring", all_reduce},
                                          {1, "ring", all_gather},
                                          {0, "ring", all_gather}};
constexpr Stage tree_stages[] = {{0, "ring", reduce_scatter}, {1, "double_tree", all_reduce}, {0, "ring", all_gather}};
constexpr Stage nvls_tree_stages[] = {
    {0, "nvls", reduce_scatter}, {1, "double_tree", all_reduce}, {0, "nvls", all_gather}};
constexpr Stage nvls_sharp_stages[] = {{0, "nvls", reduce_scatter}, {1, "sharp", all_reduce}, {0, "nvls", all_gather}};
constexpr Stage collnet_chain_stages[] = {
    {0, "ring", reduce_scatter}, {1, "sharp", all_reduce}, {0, "ring", all_gather}};
constexpr Stage collnet_direct_stages[] = {
    {0, "direct", reduce_scatter}, {1, "sharp", all_reduce}, {0, "direct", all_gather}};
constexpr Stage gather_stages[] = {{1, "ring", all_gather}, {0, "ring", all_gather}};
constexpr Stage scatter_stages[] = {{0, "ring", reduce_scatter}, {1, "ring", reduce_scatter}};
constexpr Stage pat_gather_stages[] = {{1, "pat", all_gather}, {0, "direct", all_gather}};
constexpr Stage pat_scatter_stages[] = {{0, "direct", reduce_scatter}, {1, "pat", reduce_scatter}};

bool two_levels(const Shape& s) { return s.extent[0] >= 2 && s.extent[1] >= 2 && s.extent[2] == 1; }
bool one_or_two_levels(const Shape& s) { return s.ranks() >= 2 && s.extent[2] == 1; }
bool three_levels(const Shape& s) { return s.extent[0] >= 2 && s.extent[1] >= 2 && s.extent[2] >= 2; }

const Algorithm table[] = {
    {.name = "two_level",
     .collective = all_reduce,
     .citation = "Jia et al. 2018 (arXiv 1807.11205), hierarchical all-reduce: RS inside, ring between, AG inside",
     .closed_form = "2(m-1) alpha_i + 2(m-1)/m n beta_i + 2(N-1) alpha_e + 2(N-1)/(Nm) n beta_e; + gamma",
     .supports = two_levels,
     .stages = ring_stages},
    {.name = "three_level",
     .collective = all_reduce,
     .citation = "the same on three levels (domain, pod, spine); Cho et al. 2019, BlueConnect",
     .closed_form = "two_level, the share of each level divided by the ranks below it",
     .supports = three_levels,
     .stages = ring_stages_of_three},
    {.name = "tree",
     .collective = all_reduce,
     .citation =
         "NCCL Tree (Jeaugey 2019): a chain through the domain for each of its ranks, which together are a ring; "
         "a double binary tree between domains on every rail",
     .closed_form = "2(m-1) alpha_i + 2(m-1)/m n beta_i + double_tree(N) of n/m; segments overlap the levels",
     .supports = one_or_two_levels,
     .pipelined = true,
     .stages = tree_stages,
     .streams = true,
     .traffic = Traffic::tree,
     .domains = Domains::innermost,
     .elsewhere = {"Tree", "Tree", ""}},
    {.name = "nvls_tree",
     .collective = all_reduce,
     .citation = "NCCL NVLSTree: NVLS inside the domain, double binary tree between domains on every rail",
     .closed_form = "2 alpha_i + 2 n beta_i + double_tree(N) of n/m; segments overlap the levels",
     .supports = two_levels,
     .pipelined = true,
     .means = Means::switch_reduction,
     .stages = nvls_tree_stages,
     .streams = true,
     .domains = Domains::innermost,
     .elsewhere = {"NVLSTree", "", ""}},
    {.name = "nvls_sharp",
     .collective = all_reduce,
     .citation = "NCCL NVLS over several nodes with CollNet",
     .closed_form = "2 alpha_i + 2 n beta_i + alpha_e + n/m beta_e",
     .supports = two_levels,
     .means = Means::switch_reduction,
     .stages = nvls_sharp_stages,
     .streams = true,
     .domains = Domains::innermost,
     .elsewhere = {"NVLS", "", ""}},
    {.name = "collnet_chain",
     .collective = all_reduce,
     .citation = "NCCL CollNetChain: chains inside the node, one a rail, SHARP between nodes",
     .closed_form = "2(m-1) alpha_i + 2(m-1)/m n beta_i + alpha_e + n/m beta_e; + (m-1)/m n gamma",
     .supports = two_levels,
     .means = Means::switch_reduction,
     .stages = collnet_chain_stages,
     .streams = true,
     .domains = Domains::innermost,
     .elsewhere = {"CollNetChain", "", ""}},
    {.name = "collnet_direct",
     .collective = all_reduce,
     .citation = "NCCL CollNetDirect: direct exchange inside the node, SHARP between nodes",
     .closed_form = "2 alpha_i + 2(m-1)/m n beta_i + alpha_e + n/m beta_e; + (m-1)/m n gamma",
     .supports = two_levels,
     .means = Means::switch_reduction,
     .stages = collnet_direct_stages,
     .streams = true,
     .domains = Domains::innermost,
     .elsewhere = {"CollNetDirect", "", ""}},
    {.name = "two_level",
     .collective = all_gather,
     .citation = "rails first, then inside (MPI SMP algorithms; PXN-free rail gather)",
     .closed_form = "(N-1) alpha_e + (N-1)/(Nm) n beta_e + (m-1) alpha_i + (m-1)/m n beta_i",
     .supports = two_levels,
     .stages = gather_stages},
    {.name = "pat_two_level",
     .collective = all_gather,
     .citation = "PAT between nodes (arXiv 2506.20252), direct exchange inside",
     .closed_form = "ceil(lg N) alpha_e + (N-1)/(Nm) n beta_e + alpha_i + (m-1)/m n beta_i",
     .supports = two_levels,
     .stages = pat_gather_stages},
    {.name = "two_level",
     .collective = reduce_scatter,
     .citation = "the all-gather backwards",
     .closed_form = "(m-1) alpha_i + (m-1)/m n (beta_i + gamma) + (N-1) alpha_e + (N-1)/(Nm) n (beta_e + gamma)",
     .supports = two_levels,
     .stages = scatter_stages},
    {.name = "pat_two_level",
     .collective = reduce_scatter,
     .citation = "the all-gather backwards",
     .closed_form = "alpha_i + (m-1)/m n (beta_i + gamma) + ceil(lg N) alpha_e + (N-1)/(Nm) n (beta_e + gamma)",
     .supports = two_levels,
     .stages = pat_scatter_stages},
};

}  // namespace

std::span<const Algorithm> hierarchical() { return table; }

}  // namespace meshwright::collectives::rows
