#pragma once
// Times that no layout of a part of the space goes below, from table entries alone.
#include <algorithm>
#include <array>

#include "meshwright/parallel/tables.hpp"
#include "meshwright/workload/sections.hpp"

namespace meshwright::search {

/// One micro-batch through every stage, by Recompute: forward, backward and what is done again of all blocks, embedding
/// and heads; or what the host needs to launch them, if that is more.
///
/// Why it is a bound. A stage's slot is at least the passes of its blocks and at least its host time (step.cpp), so the
/// slots of all stages sum to at least this; the slowest stage is at least the mean.
struct LeastPass {
  std::array<Seconds, 3> all{};  ///< by Recompute
  Seconds kept;                  ///< without any recompute, and without the host
  Seconds redone;                ///< of one block under full recompute, the least of all kinds
  Seconds of(Recompute mode) const { return all[static_cast<std::size_t>(mode)]; }
  /// Where full recompute does `layers` blocks again.
  Seconds partly(double layers) const { return std::max(all.front(), kept + layers * redone); }
};
LeastPass least_pass(const ShardCosts& costs, const std::vector<ModelSection>& sections);

/// The least step of `pass` with these degrees: m (pass / pp), and with 1F1B, interleaving or GPipe the bubble of equal
/// stages, (1 - 1 / pp) pass / vp. With a slowest stage w and a sum S of all, m w + (S - w) / vp falls in neither w >=
/// S / pp nor S >= pass, so that both may be put at their least. Other schedules may hide all of their bubble. Gradient
/// reduction, sends, optimizer and step overhead only add to it.
Seconds least_step(Seconds pass, const Layout& layout, int global_batch);

/// The least step of a shard choice whatever its pipeline: m / pp is global_batch tp cp / (accelerators micro_batch)
/// where data-parallel degree and micro-batch divide the batch, and layouts where they don't are refused.
Seconds least_step_of_shard(Seconds pass, const Layout& layout, int global_batch, int accelerators);

}  // namespace meshwright::search
