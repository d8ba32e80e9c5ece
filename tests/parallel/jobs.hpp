#pragma once
// Small jobs for the tests of parallel/.
#include <functional>
#include <string>

#include "meshwright/parallel/job.hpp"

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

/// `job` with another memory capacity of its device.
inline Job with_capacity(const Job& job, double bytes) {
  return with_figures(job, [bytes](Figures& figures) { figures.accelerator.memory_capacity = Bytes::base(bytes); });
}
/// `job` on the first accelerators of another machine.
inline Job on_cluster(const Job& job, const char* name, int accelerators) {
  return with(job, [&](JobSpec& spec) { spec.cluster = {.of = name, .accelerators = accelerators}; });
}
/// `job` with something else of its stack.
inline Job with_stack(const Job& job, const std::function<void(Framework&)>& edit) {
  return with_figures(job, [edit](Figures& figures) { edit(figures.framework); });
}
/// `job` with a "recipe" object.
inline Job with_recipe(const Job& job, const char* recipe) {
  return with(job, [&](JobSpec& spec) { spec.recipe = Reader::text(recipe, "recipe.json"); });
}
inline Job with_precision(const Job& job, const char* format) {
  return with(job, [&](JobSpec& spec) { spec.precision = format; });
}

/// On nodes of eight H100 with 80 GiB (of one, where that does not divide).
inline Job test_job(Transformer model, int accelerators, int seq_len, int global_batch,
                    const std::string& stack = "megatron-core") {
  JobSpec spec{.shape = std::move(model), .seq_len = seq_len, .global_batch = global_batch, .framework = stack};
  spec.cluster = {.of = "dgx-h100", .accelerators = accelerators};
  if (accelerators % 8 != 0 && accelerators > 8) spec.cluster.node.accelerators = 1;
  return make_job(spec, builtin_catalog());
}

}  // namespace meshwright::parallel
