#pragma once
// What no shared key says: one function a family, called after the shared keys are read.
#include "meshwright/core/reader.hpp"
#include "meshwright/workload/transformer.hpp"

namespace meshwright::workload {

void learned(const Reader& config, Transformer& model);     ///< learned positions (GPT-2)
void openai_gpt(const Reader& config, Transformer& model);  ///< GPT-1: no final norm
void bigcode(const Reader& config, Transformer& model);     ///< multi-query unless said otherwise
void gpt_neo(const Reader& config, Transformer& model);
void head_bias(const Reader& config, Transformer& model);  ///< the output projection has a bias
void neox(const Reader& config, Transformer& model);
void opt(const Reader& config, Transformer& model);
void bloom(const Reader& config, Transformer& model);
void stablelm(const Reader& config, Transformer& model);
void falcon(const Reader& config, Transformer& model);
void mpt(const Reader& config, Transformer& model);
void phi3small(const Reader& config, Transformer& model);
void phimoe(const Reader& config, Transformer& model);
void chatglm(const Reader& config, Transformer& model);
void hf_olmo(const Reader& config, Transformer& model);
void exaone4(const Reader& config, Transformer& model);
void hunyuan(const Reader& config, Transformer& model);
void deci(const Reader& config, Transformer& model);  ///< per-block configurations of a neural architecture search
void qwen1(const Reader& config, Transformer& model);
void qwen2_window(const Reader& config, Transformer& model);
void latent(const Reader& config, Transformer& model);  ///< multi-head latent attention and its sparse indexer
void llama4(const Reader& config, Transformer& model);
void gpt_oss(const Reader& config, Transformer& model);
void minimax_m2(const Reader& config, Transformer& model);
void mimo_v2(const Reader& config, Transformer& model);
void dbrx(const Reader& config, Transformer& model);
void arctic(const Reader& config, Transformer& model);
// Hybrids of attention and recurrent mixers.
void qwen3_next(const Reader& config, Transformer& model);
void jamba(const Reader& config, Transformer& model);
void nemotron_h(const Reader& config, Transformer& model);
void bamba(const Reader& config, Transformer& model);
void granite_hybrid(const Reader& config, Transformer& model);

}  // namespace meshwright::workload
