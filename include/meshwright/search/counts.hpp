#pragma once
// How many of its accelerators a job could take.
#include <vector>

#include "meshwright/parallel/job.hpp"

namespace meshwright::search {

/// Counts that a planner would consider, ascending, the job's own last: 2^i, 3 2^i, 5 2^i and 7 2^i whole nodes or
/// scale-up domains, and powers of two inside a node.
std::vector<int> accelerator_counts(const Job& job);

/// `job` on the first `accelerators` of its cluster; Error where it has fewer.
Job with_accelerators(const Job& job, int accelerators);
/// `job` on a cluster with so many times the nodes that it uses, all of them used.
Job with_more_nodes(const Job& job, int times);
Job with_global_batch(const Job& job, int global_batch);

}  // namespace meshwright::search
