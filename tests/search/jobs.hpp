#pragma once
// Jobs that the search tests share.
#include "meshwright/parallel/job.hpp"

namespace meshwright::search {

inline Job test_job(const char* model, const char* node, int nodes, int seq_len, int global_batch,
                    const char* stack = "megatron-core") {
  JobSpec spec{.model = model, .seq_len = seq_len, .global_batch = global_batch, .framework = stack};
  spec.cluster = {.of = node, .nodes = nodes};
  return make_job(spec, builtin_catalog());
}

/// Small enough to enumerate: dense models and experts, several stacks, one number of nodes that is no power of two.
inline std::vector<Job> small_jobs() {
  return {test_job("llama-3.2-1b", "dgx-h100", 1, 4096, 32),
          test_job("llama-3.2-1b", "dgx-h100", 1, 4096, 32, "torchtitan"),
          test_job("llama-3.2-1b", "dgx-h100", 2, 4096, 32, "nanotron"),
          test_job("llama-3.2-3b", "dgx-a100", 2, 8192, 64, "deepspeed"),
          test_job("llama-3.1-8b", "dgx-h100", 3, 8192, 36),
          test_job("bloom-7b1", "dgx-a100", 2, 2048, 64, "megatron-deepspeed"),
          test_job("mixtral-8x7b", "dgx-h100", 2, 4096, 64),
          test_job("deepseek-moe-16b", "dgx-h100", 2, 4096, 64),
          test_job("moonlight-16b-a3b", "dgx-h100", 2, 4096, 32, "hai-llm"),
          test_job("deepseek-v2-lite", "dgx-h100", 1, 4096, 64, "torchtitan")};
}

}  // namespace meshwright::search
