// The table of kinds of context parallelism.
#include <algorithm>
#include <array>

#include "meshwright/parallel/context_kind.hpp"
#include "meshwright/parallel/overlap.hpp"

namespace meshwright::parallel {
namespace {

/// Keys and values pass round once in forward, twice (with their gradients) in backward, beside all but one of the
/// ring's attention steps.
ContextExposed ring_exposed(const AttentionTraffic& a, const ContextLinks& links) {
  const Seconds round = links.gather(a.key_value);
  const double beside = (links.ranks - 1.0) / links.ranks;
  return {overlap(beside * a.forward, round, links.slowdown).exposed,
          overlap(beside * a.backward, 2 * round, links.slowdown).exposed};
}

/// Keys and values of the whole sequence are gathered before attention, again before its backward, and their gradients
/// scattered after it: nothing runs beside.
ContextExposed all_gather_exposed(const AttentionTraffic& a, const ContextLinks& links) {
  const Seconds gather = links.gather(a.key_value);
  return {gather, 2 * gather};
}

/// Queries, keys and values are exchanged into heads before attention and the output back after it, and their gradients
/// the other way round. Fewer kv heads than ranks are sent to each rank that has their queries.
ContextExposed ulysses_exposed(const AttentionTraffic& a, const ContextLinks& links) {
  const double copies = std::max(1.0, links.ranks / a.kv_heads);
  const Seconds both = links.exchange(a.query + copies * a.key_value) + links.exchange(a.output);
  return {both, both};
}

}  // namespace

namespace context_rows {

constinit const ContextRow ring{.name = "ring",
                                .citation = "Liu et al. 2023, Ring Attention with Blockwise Transformers",
                                .what = "keys and values round a ring",
                                .pieces = 2,
                                .beside = true,
                                .exposed = ring_exposed,
                                .megatron = "p2p",
                                .maxtext = "ring"};
constinit const ContextRow all_gather{.name = "all-gather",
                                      .citation = "Llama Team 2024, The Llama 3 Herd of Models, section 3.3.2",
                                      .what = "gathers of keys and values",
                                      .pieces = 2,
                                      .exposed = all_gather_exposed,
                                      .megatron = "all_gather",
                                      .maxtext = "all_gather"};
constinit const ContextRow ulysses{.name = "ulysses",
                                   .citation = "Jacobs et al. 2023, DeepSpeed Ulysses",
                                   .what = "exchanges of tokens for heads",
                                   .by_heads = true,
                                   .exposed = ulysses_exposed,
                                   .megatron = "a2a",
                                   .maxtext = "ulysses"};

}  // namespace context_rows

std::span<const ContextKind> context_kinds() {
  using namespace context_rows;
  static constexpr std::array<ContextKind, 3> table = {{ring, all_gather, ulysses}};
  return table;
}

std::span<const std::string_view> context_kind_names() {
  static const std::vector<std::string_view> names = [] {
    std::vector<std::string_view> all;
    for (const ContextKind kind : context_kinds()) all.push_back(kind->name);
    return all;
  }();
  return names;
}

}  // namespace meshwright::parallel
