#pragma once
// The space of layouts that a job could run, as loops over degrees and choices.
#include <vector>

#include "meshwright/parallel/job.hpp"

namespace meshwright::search {

/// Degrees that share one key of the step tables' slow part, and so the unit of work of a search thread.
struct ShardChoice {
  int tp = 1, cp = 1, ep = 1, etp = 1, micro_batch = 1;
  bool tp_comm_overlap = false, ep_comm_overlap = false;
};

/// What is tried: tp divides heads and stays within 64 ranks; cp is a power of two; ep divides the experts; the
/// micro-batch is a power of two. Stacks that can overlap TP or EP communication are tried with and without.
std::vector<ShardChoice> shard_choices(const Job& job, int max_micro_batch);
/// Pipeline degrees that divide what tp and cp leave of the accelerators, up to the number of layers.
std::vector<int> pipeline_degrees(const Job& job, const ShardChoice& shard);
/// Virtual stages that are tried with `pp` stages: 1, and up to the layers a stage has, at most 16.
int most_virtual_stages(const Job& job, int pp);
/// Overlap of dispatch and combine with another micro-batch needs two of them on a stage at once (interleaving) and no
/// full recompute (megatron/training/arguments.py, overlap_moe_expert_parallel_comm).
bool can_overlap_experts(const Layout& layout);
/// ZeRO stages and HSDP shards of the stack.
struct Sharding {
  int zero_stage = 0, hsdp_shard = 0;
};
std::vector<Sharding> shardings(const Job& job);
/// Schedules that differ in time for this many stages and virtual stages.
std::vector<PipelineSchedule> schedules(const Framework& framework, int pp, int vp);

}  // namespace meshwright::search
