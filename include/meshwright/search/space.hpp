#pragma once
// The space of layouts that a job could run, as loops over degrees and choices. What a Filter fixes is tried whether it
// is usual or not: the stack's rules then say why it does not run.
#include <functional>
#include <optional>
#include <vector>

#include "meshwright/parallel/job.hpp"
#include "meshwright/search/axes.hpp"

namespace meshwright::search {

/// What a caller states about the space.
struct Limits {
  Filter filter{};
  int max_micro_batch = 16;          ///< largest power of two that is tried, at least 1
  bool tp_in_domain = false;         ///< tensor-parallel groups stay inside one scale-up domain
  bool some_layers = false;          ///< full recompute of some layers of a chunk is tried too, where the stack has it
  std::optional<RankOrder> order{};  ///< in which ranks are numbered; unset = the stack's default
};

/// Degrees that share the slow part of the step tables, and so the unit of work of a search thread.
struct ShardChoice {
  int tp = 1, cp = 1, ep = 1, etp = 1, micro_batch = 1;
};

/// What is tried: tp divides heads and stays within twice the scale-up domain and 64 ranks; cp is a power of two; ep
/// divides the experts; the micro-batch is a power of two.
std::vector<ShardChoice> shard_choices(const Job& job, const Limits& limits);
/// Pipeline degrees that divide what tp and cp leave of the accelerators, up to the number of layers.
std::vector<int> pipeline_degrees(const Job& job, const Limits& limits, const ShardChoice& shard);
/// Data-parallel degree of a pipeline degree: what the others leave, at least 1.
int data_degree(const Job& job, const Limits& limits, const ShardChoice& shard, int pp);
/// Virtual stages that are tried with `pp` stages: 1, and up to the layers a stage has, at most 16.
std::vector<int> virtual_stages(const Job& job, const Limits& limits, int pp);
/// Schedules that differ in time for this many stages and virtual stages.
std::vector<PipelineSchedule> schedules(const Framework& framework, const Limits& limits, int pp, int vp);

/// ZeRO stages and HSDP shards of the stack, with the overlaps that it has there unless the filter says otherwise.
struct Sharding {
  int zero_stage = 0, hsdp_shard = 0;
  bool overlap_grad_reduce = true, overlap_param_gather = true;
  void give(Layout& layout) const noexcept;
};
std::vector<Sharding> shardings(const Job& job, const Limits& limits);

/// Communication that the stack can put beside compute on request, tried with and without.
struct Overlaps {
  bool tensor = false, expert = false;
};
std::vector<Overlaps> overlaps(const Job& job, const Limits& limits, const ShardChoice& shard);

/// What is computed again: of which activations, and under full recompute in how many layers of a chunk.
struct RecomputeChoice {
  Recompute mode = Recompute::none;
  int layers = 0;  ///< 0 = all
};
/// None, selective, full; and on request, where the stack has it, full of 1, 2, ... of the `deepest` layers of a chunk.
std::vector<RecomputeChoice> recomputes(const Job& job, const Limits& limits, int deepest);
/// Layers of the deepest chunk of a layout.
int deepest_chunk(const Job& job, const Layout& layout);

/// The layout of a shard choice on one stage, with the stack's defaults and what the filter fixes.
Layout plain_layout(const Job& job, const Limits& limits, const ShardChoice& shard, const Overlaps& overlaps);
/// The stage split that a layout of these stages and virtual stages is given.
StageSplit split_of(const Job& job, const Limits& limits, const Layout& layout);

/// Calls visit() for every layout of the space until it says false: for looking at them, not for speed.
void each_layout(const Job& job, const Limits& limits, const std::function<bool(const Layout&)>& visit);

}  // namespace meshwright::search
