#pragma once
// Jobs that the search tests share.
#include "meshwright/parallel/job_recipe.hpp"

namespace meshwright::search {

inline Job test_job(const char* model, const char* node, int nodes, int seq_len, int global_batch,
                    const char* stack = "megatron-core", int accelerators = 0) {
  Job job;
  job.model = load_model(model);
  job.cluster = make_cluster(builtin_catalog(), node, nodes);
  job.accelerators = accelerators > 0 ? accelerators : job.cluster.accelerators();
  job.seq_len = seq_len;
  job.global_batch = global_batch;
  job.precision = precision("bf16", "test");
  job.framework = framework(stack, "test");
  complete_recipe(job);
  return job;
}

/// Small enough to enumerate: dense models and experts, several stacks, one odd number of accelerators.
inline std::vector<Job> small_jobs() {
  return {test_job("llama-3.2-1b", "dgx-h100", 1, 4096, 32),
          test_job("llama-3.2-1b", "dgx-h100", 1, 4096, 32, "torchtitan"),
          test_job("llama-3.2-1b", "dgx-h100", 2, 4096, 32, "nanotron"),
          test_job("llama-3.2-3b", "dgx-a100", 2, 8192, 64, "deepspeed"),
          test_job("llama-3.1-8b", "dgx-h100", 2, 8192, 36, "megatron-core", 12),
          test_job("bloom-7b1", "dgx-a100", 2, 2048, 64, "megatron-deepspeed"),
          test_job("mixtral-8x7b", "dgx-h100", 2, 4096, 64),
          test_job("deepseek-moe-16b", "dgx-h100", 2, 4096, 64),
          test_job("moonlight-16b-a3b", "dgx-h100", 2, 4096, 32, "hai-llm"),
          test_job("deepseek-v2-lite", "dgx-h100", 1, 4096, 64, "torchtitan")};
}

}  // namespace meshwright::search
