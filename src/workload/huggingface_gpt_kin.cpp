// Families that descend from GPT-2, with biases, LayerNorm or two-matrix MLPs, and the Phi line.
// Source of every row: configuration_*.py and modeling_*.py of that model type in Hugging Face transformers
// (https://github.com/huggingface/transformers), or in the model's own repository where it ships its code.
#include "workload/huggingface.hpp"
#include "workload/huggingface_quirks.hpp"

namespace meshwright::workload {

std::vector<Family> gpt_kin() {
  // Biases everywhere, LayerNorm with bias, two-matrix MLP.
  const Transformer plain = {
      .gated_mlp = false, .qkv_bias = true, .attention_output_bias = true, .mlp_bias = true, .layer_norm_bias = true};
  const auto with = [&](auto change) {
    Transformer traits = plain;
    change(traits);
    return traits;
  };
  const auto learned_positions = [&](int positions) {
    return with([=](Transformer& m) {
      m.tied_embeddings = true;
      m.rotary = false;
      m.dropout = true;
      m.position_embeddings = positions;
    });
  };
  const Transformer parallel_head_bias = with([](Transformer& m) {
    m.norms_per_layer = 1;
    m.parallel_block = true;
  });
  const Transformer gptj = with([](Transformer& m) {
    m.qkv_bias = m.attention_output_bias = false;
    m.norms_per_layer = 1;
    m.parallel_block = true;
  });
  const Transformer tied = with([](Transformer& m) {
    m.tied_embeddings = true;
    m.rotary = false;
  });
  return {
      {.name = "gpt2",
       .model_types = {"gpt2"},
       .architectures = {"GPT2"},
       .traits = learned_positions(1024),
       .ffn_over_hidden = 4,
       .multi_head = true,
       .adjust = learned},
      {.name = "openai-gpt",
       .model_types = {"openai-gpt"},
       .architectures = {"OpenAIGPT"},
       .traits = learned_positions(512),
       .ffn_over_hidden = 4,
       .multi_head = true,
       .adjust = openai_gpt},
      {.name = "gpt_bigcode",
       .model_types = {"gpt_bigcode"},
       .architectures = {"GPTBigCode"},
       .traits = learned_positions(1024),
       .ffn_over_hidden = 4,
       .multi_head = true,
       .adjust = bigcode},
      {.name = "gpt_neo",
       .model_types = {"gpt_neo"},
       .architectures = {"GPTNeoFor"},
       .traits = learned_positions(2048),
       .ffn_over_hidden = 4,
       .multi_head = true,
       .adjust = gpt_neo},
      {.name = "gptj",
       .model_types = {"gptj"},
       .architectures = {"GPTJ"},
       .traits = gptj,
       .ffn_over_hidden = 4,
       .multi_head = true,
       .adjust = head_bias},
      {.name = "codegen",
       .model_types = {"codegen"},
       .architectures = {"CodeGen"},
       .traits = gptj,
       .ffn_over_hidden = 4,
       .multi_head = true,
       .adjust = head_bias},
      {.name = "gpt_neox",
       .model_types = {"gpt_neox"},
       .architectures = {"GPTNeoXFor", "GPTNeoXModel"},
       .traits = with([](Transformer& m) { m.parallel_block = true; }),
       .bias = attention_bias,
       .multi_head = true,
       .adjust = neox},
      {.name = "opt",
       .model_types = {"opt"},
       .architectures = {"OPT"},
       .traits = learned_positions(2048),
       .multi_head = true,
       .adjust = opt},
      {.name = "bloom",
       .model_types = {"bloom"},
       .architectures = {"Bloom"},
       .traits = tied,
       .ffn_over_hidden = 4,
       .multi_head = true,
       .adjust = bloom},
      {.name = "phi",
       .model_types = {"phi", "phi-msft", "mixformer-sequential"},
       .architectures = {"PhiFor", "MixFormerSequential"},
       .traits = parallel_head_bias,
       .ffn_over_hidden = 4,
       .qk_norm_key = "qk_layernorm",
       .adjust = head_bias},
      {.name = "persimmon",
       .model_types = {"persimmon", "fuyu"},
       .architectures = {"Persimmon"},
       .traits = with([](Transformer& m) { m.qk_norm = true; }),
       .qk_norm_key = "qk_layernorm",
       .multi_head = true},
      {.name = "starcoder2",
       .model_types = {"starcoder2"},
       .architectures = {"Starcoder2"},
       .traits = with([](Transformer& m) {
         m.tied_embeddings = true;
         m.kv_heads = 2;
       }),
       .bias = one_key("use_bias")},
      {.name = "stablelm",
       .model_types = {"stablelm", "stablelm_epoch"},
       .architectures = {"StableLm", "StableLM"},
       .traits = {.layer_norm_bias = true, .qk_norm_full = true},
       .bias = {"use_qkv_bias"},
       .qk_norm_key = "qk_layernorm",
       .adjust = stablelm},
      {.name = "falcon",
       .model_types = {"falcon", "RefinedWeb", "RefinedWebModel"},
       .architectures = {"Falcon", "RW"},
       .traits = {.gated_mlp = false, .tied_embeddings = true, .layer_norm_bias = true, .parallel_block = true},
       .ffn_over_hidden = 4,
       .bias = one_key("bias"),
       .multi_head = true,
       .adjust = falcon},
      {.name = "mpt",
       .model_types = {"mpt"},
       .architectures = {"MPT", "Mpt"},
       .traits = {.gated_mlp = false, .tied_embeddings = true, .rotary = false},
       .ffn_over_hidden = 4,
       .multi_head = true,
       .adjust = mpt},
      {.name = "nemotron",
       .model_types = {"nemotron"},
       .architectures = {"NemotronFor"},
       .traits = {.gated_mlp = false, .layer_norm_bias = true},
       .bias = llama_bias},
      {.name = "phi3", .model_types = {"phi3", "phi3_v"}, .architectures = {"Phi3For"}, .traits = {}},
      {.name = "phi3small",
       .model_types = {"phi3small"},
       .architectures = {"Phi3Small"},
       .traits = {.tied_embeddings = true,
                  .qkv_bias = true,
                  .attention_output_bias = true,
                  .mlp_bias = true,
                  .layer_norm_bias = true},
       .multi_head = true,
       .adjust = phi3small},
      {.name = "phimoe",
       .model_types = {"phimoe"},
       .architectures = {"PhiMoE", "Phimoe"},
       .traits = {.kv_heads = 8, .layer_norm_bias = true},
       .bias = attention_bias,
       .adjust = phimoe},
  };
}

}  // namespace meshwright::workload
