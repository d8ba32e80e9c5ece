#pragma once
// Small jobs for the tests of parallel/.
#include <string>

#include "meshwright/parallel/job_recipe.hpp"

namespace meshwright::parallel {

inline Transformer llama(int layers, int hidden, int ffn, int heads, int kv_heads, int vocab = 128256) {
  Transformer m;
  m.name = "test", m.family = "llama";
  m.layers = layers, m.hidden = hidden, m.ffn_hidden = ffn;
  m.heads = heads, m.kv_heads = kv_heads, m.head_dim = hidden / heads, m.vocab = vocab;
  return m;
}
inline Transformer llama_405b() { return llama(126, 16384, 53248, 128, 8); }
inline Transformer llama_8b() { return llama(32, 4096, 14336, 32, 8); }

inline Transformer mixture(int layers, int experts, int top_k) {
  Transformer m = llama(layers, 2048, 6144, 32, 4, 151936);
  m.experts = experts, m.top_k = top_k, m.moe_ffn_hidden = 768;
  return m;
}

/// GPT with biases, LayerNorm and dropout, as Megatron's papers have it.
inline Transformer gpt(int layers, int hidden, int heads, int vocab = 51200) {
  Transformer m = llama(layers, hidden, 4 * hidden, heads, heads, vocab);
  m.family = "gpt", m.gated_mlp = false, m.tied_embeddings = true, m.dropout = true, m.rotary = false;
  m.qkv_bias = m.attention_output_bias = m.mlp_bias = m.layer_norm_bias = true;
  return m;
}

inline Job test_job(Transformer model, int accelerators, int seq_len, int global_batch,
                    const std::string& stack = "megatron-core") {
  Job job;
  job.model = std::move(model);
  job.accelerators = accelerators, job.seq_len = seq_len, job.global_batch = global_batch;
  job.precision = precision("bf16", "test");
  job.framework = framework(stack, "test");
  job.cluster.accelerator.memory_capacity = Bytes::base(80 * 1073741824.0);
  complete_recipe(job);
  return job;
}

}  // namespace meshwright::parallel
