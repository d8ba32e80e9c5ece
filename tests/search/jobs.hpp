#pragma once
// Jobs that the search tests share.
#include "meshwright/parallel/job.hpp"

namespace meshwright::search {

inline Job test_job(const char* model, const char* node, int nodes, int seq_len, int global_batch,
                    const char* stack = "megatron-core") {
  Job job;
  job.model = load_model(model);
  job.cluster = make_cluster(builtin_catalog(), node, nodes);
  job.accelerators = job.cluster.accelerators();
  job.seq_len = seq_len;
  job.global_batch = global_batch;
  job.precision = precision("bf16", "test");
  job.framework = framework(stack, "test");
  return job;
}

}  // namespace meshwright::search
