// One configuration of each family, cut to the keys that decide sizes, against the parameter count that the checkpoint
// on https://huggingface.co/REPOSITORY has (number of elements in its tensors; the text model where there is more).
#include <gtest/gtest.h>

#include "meshwright/workload/presets.hpp"

namespace meshwright::workload {
namespace {

struct Published {
  const char* repository;
  double parameters;
  double tolerance;
  const char* config;
};

constexpr Published published[] =
    {
        // clang-format off
    {"tiiuae/falcon-7b", 6921720704, 1e-4,
     R"({"model_type": "falcon", "hidden_size": 4544, "num_hidden_layers": 32, "num_attention_heads": 71, "vocab_size": 65024, "multi_query": true, "parallel_attn": true, "new_decoder_architecture": false, "bias": false, "alibi": false})"},
    {"tiiuae/falcon-40b", 41303293952, 1e-4,
     R"({"model_type": "falcon", "hidden_size": 8192, "num_hidden_layers": 60, "num_attention_heads": 128, "num_kv_heads": 8, "vocab_size": 65024, "multi_query": true, "parallel_attn": true, "new_decoder_architecture": true, "bias": false})"},
    {"tiiuae/falcon-rw-1b", 1311625216, 1e-4,
     R"({"model_type": "falcon", "hidden_size": 2048, "num_hidden_layers": 24, "num_attention_heads": 32, "vocab_size": 50304, "multi_query": false, "parallel_attn": false, "new_decoder_architecture": false, "bias": true, "alibi": true})"},
    {"bigscience/bloom-560m", 559214592, 1e-4,
     R"({"model_type": "bloom", "n_embed": 1024, "n_layer": 24, "num_attention_heads": 16, "vocab_size": 250880})"},
    {"bigscience/bloom-7b1", 7069016064, 1e-4,
     R"({"model_type": "bloom", "hidden_size": 4096, "n_layer": 30, "n_head": 32, "vocab_size": 250880})"},
    {"facebook/opt-350m", 331196416, 1e-4,
     R"({"model_type": "opt", "hidden_size": 1024, "num_hidden_layers": 24, "ffn_dim": 4096, "num_attention_heads": 16, "vocab_size": 50272, "max_position_embeddings": 2048, "word_embed_proj_dim": 512, "do_layer_norm_before": false})"},
    {"facebook/opt-125m", 125239296, 1e-4,
     R"({"model_type": "opt", "hidden_size": 768, "num_hidden_layers": 12, "ffn_dim": 3072, "num_attention_heads": 12, "vocab_size": 50272, "max_position_embeddings": 2048, "word_embed_proj_dim": 768, "do_layer_norm_before": true})"},
    {"EleutherAI/gpt-neo-1.3B", 1315575808, 1e-4,
     R"({"model_type": "gpt_neo", "hidden_size": 2048, "num_layers": 24, "num_heads": 16, "intermediate_size": null, "vocab_size": 50257, "max_position_embeddings": 2048, "window_size": 256})"},
    {"bigcode/starcoderbase", 15517456384, 1e-4,
     R"({"model_type": "gpt_bigcode", "n_embd": 6144, "n_layer": 40, "n_head": 48, "n_inner": 24576, "n_positions": 8192, "vocab_size": 49152, "multi_query": true})"},
    {"EleutherAI/pythia-70m", 70426624, 1e-4,
     R"({"model_type": "gpt_neox", "hidden_size": 512, "num_hidden_layers": 6, "num_attention_heads": 8, "intermediate_size": 2048, "vocab_size": 50304, "tie_word_embeddings": false})"},
    {"microsoft/phi-1_5", 1418270720, 1e-4,
     R"({"model_type": "phi", "hidden_size": 2048, "num_hidden_layers": 24, "num_attention_heads": 32, "intermediate_size": 8192, "vocab_size": 51200, "num_key_value_heads": null})"},
    {"microsoft/Phi-3.5-MoE-instruct", 41873153344, 1e-4,
     R"({"model_type": "phimoe", "num_hidden_layers": 32, "hidden_size": 4096, "intermediate_size": 6400, "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 32064, "attention_bias": true, "lm_head_bias": true, "num_local_experts": 16, "num_experts_per_tok": 2})"},
    {"microsoft/Phi-4-mini-instruct", 3836021760, 1e-4,
     R"({"model_type": "phi3", "num_hidden_layers": 32, "hidden_size": 3072, "intermediate_size": 8192, "num_attention_heads": 24, "num_key_value_heads": 8, "vocab_size": 200064, "tie_word_embeddings": true})"},
    {"microsoft/Phi-3-small-8k-instruct", 7392272384, 1e-4,
     R"({"model_type": "phi3small", "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8, "ff_intermediate_size": 14336, "vocab_size": 100352})"},
    {"stabilityai/stablelm-2-1_6b", 1644515328, 1e-4,
     R"({"model_type": "stablelm", "num_hidden_layers": 24, "hidden_size": 2048, "intermediate_size": 5632, "num_attention_heads": 32, "num_key_value_heads": 32, "vocab_size": 100352, "use_qkv_bias": true, "tie_word_embeddings": false})"},
    {"stabilityai/stablelm-2-12b", 12143185920, 1e-4,
     R"({"model_type": "stablelm", "num_hidden_layers": 40, "hidden_size": 5120, "intermediate_size": 13824, "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 100352, "use_qkv_bias": false, "qk_layernorm": true, "use_parallel_residual": true})"},
    {"bigcode/starcoder2-3b", 3030371328, 1e-4,
     R"({"model_type": "starcoder2", "num_hidden_layers": 30, "hidden_size": 3072, "intermediate_size": 12288, "num_attention_heads": 24, "num_key_value_heads": 2, "vocab_size": 49152, "use_bias": true})"},
    {"bigcode/starcoder2-15b", 15957889024, 1e-4,
     R"({"model_type": "starcoder2", "num_hidden_layers": 40, "hidden_size": 6144, "intermediate_size": 24576, "num_attention_heads": 48, "num_key_value_heads": 4, "vocab_size": 49152, "use_bias": true, "tie_word_embeddings": false})"},
    {"google/gemma-7b", 8537680896, 1e-4,
     R"({"model_type": "gemma", "num_hidden_layers": 28, "hidden_size": 3072, "intermediate_size": 24576, "num_attention_heads": 16, "num_key_value_heads": 16, "vocab_size": 256000, "head_dim": 256})"},
    {"google/gemma-2-2b", 2614341888, 1e-4,
     R"({"model_type": "gemma2", "num_hidden_layers": 26, "hidden_size": 2304, "intermediate_size": 9216, "num_attention_heads": 8, "num_key_value_heads": 4, "vocab_size": 256000, "head_dim": 256})"},
    {"google/gemma-3-1b-pt", 999885952, 1e-4,
     R"({"model_type": "gemma3_text", "num_hidden_layers": 26, "hidden_size": 1152, "intermediate_size": 6912, "num_attention_heads": 4, "num_key_value_heads": 1, "vocab_size": 262144, "head_dim": 256, "sliding_window": 512, "sliding_window_pattern": 6})"},
    {"google/gemma-3-27b-pt", 27009346304, 1e-4,
     R"({"model_type": "gemma3", "text_config": {"model_type": "gemma3_text", "hidden_size": 5376, "intermediate_size": 21504, "num_hidden_layers": 62, "num_attention_heads": 32, "num_key_value_heads": 16, "head_dim": 128, "sliding_window": 1024}})"},
    {"CohereForAI/c4ai-command-r-v01", 34980831232, 1e-4,
     R"({"model_type": "cohere", "num_hidden_layers": 40, "hidden_size": 8192, "intermediate_size": 22528, "num_attention_heads": 64, "num_key_value_heads": 64, "vocab_size": 256000, "use_qk_norm": false})"},
    {"CohereForAI/c4ai-command-r-plus", 103810674688, 1e-4,
     R"({"model_type": "cohere", "num_hidden_layers": 64, "hidden_size": 12288, "intermediate_size": 33792, "num_attention_heads": 96, "num_key_value_heads": 8, "vocab_size": 256000, "use_qk_norm": true})"},
    {"CohereForAI/c4ai-command-r7b-12-2024", 8028033024, 1e-4,
     R"({"model_type": "cohere2", "num_hidden_layers": 32, "hidden_size": 4096, "intermediate_size": 14336, "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 256000, "sliding_window": 4096, "sliding_window_pattern": 4})"},
    {"allenai/OLMo-7B-hf", 6888095744, 1e-4,
     R"({"model_type": "olmo", "num_hidden_layers": 32, "hidden_size": 4096, "intermediate_size": 11008, "num_attention_heads": 32, "num_key_value_heads": 32, "vocab_size": 50304})"},
    {"allenai/OLMo-7B", 6888095744, 1e-4,
     R"({"model_type": "hf_olmo", "d_model": 4096, "n_layers": 32, "n_heads": 32, "mlp_hidden_size": 22016, "vocab_size": 50280, "embedding_size": 50304, "weight_tying": false, "layer_norm_with_affine": false, "activation_type": "swiglu"})"},
    {"allenai/OLMo-2-1124-7B", 7298617344, 1e-4,
     R"({"model_type": "olmo2", "num_hidden_layers": 32, "hidden_size": 4096, "intermediate_size": 11008, "num_attention_heads": 32, "num_key_value_heads": 32, "vocab_size": 100352})"},
    {"ibm-granite/granite-3.0-8b-base", 8170848256, 1e-4,
     R"({"model_type": "granite", "num_hidden_layers": 40, "hidden_size": 4096, "intermediate_size": 12800, "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 49155, "tie_word_embeddings": true})"},
    {"Qwen/Qwen3-235B-A22B", 235093634560, 1e-4,
     R"({"model_type": "qwen3_moe", "num_hidden_layers": 94, "hidden_size": 4096, "intermediate_size": 12288, "num_attention_heads": 64, "num_key_value_heads": 4, "vocab_size": 151936, "head_dim": 128, "num_experts": 128, "num_experts_per_tok": 8, "moe_intermediate_size": 1536, "mlp_only_layers": [], "decoder_sparse_step": 1})"},
    {"Qwen/Qwen3-Next-80B-A3B-Instruct", 79674391296, 1e-4,
     R"({"model_type": "qwen3_next", "num_hidden_layers": 48, "hidden_size": 2048, "intermediate_size": 5120, "num_attention_heads": 16, "num_key_value_heads": 2, "vocab_size": 151936, "head_dim": 256, "num_experts": 512, "num_experts_per_tok": 10, "moe_intermediate_size": 512, "shared_expert_intermediate_size": 512, "full_attention_interval": 4, "linear_num_value_heads": 32, "linear_num_key_heads": 16, "linear_key_head_dim": 128, "linear_value_head_dim": 128, "linear_conv_kernel_dim": 4})"},
    {"rednote-hilab/dots.llm1.base", 142774381696, 1e-4,
     R"({"model_type": "dots1", "num_hidden_layers": 62, "hidden_size": 4096, "intermediate_size": 10944, "num_attention_heads": 32, "num_key_value_heads": 32, "vocab_size": 152064, "n_routed_experts": 128, "num_experts_per_tok": 6, "moe_intermediate_size": 1408, "n_shared_experts": 2, "first_k_dense_replace": 1})"},
    {"openbmb/MiniCPM-2B-sft-bf16", 2724880896, 1e-4,
     R"({"model_type": "minicpm", "num_hidden_layers": 40, "hidden_size": 2304, "intermediate_size": 5760, "num_attention_heads": 36, "num_key_value_heads": 36, "vocab_size": 122753})"},
    {"openbmb/MiniCPM3-4B", 4074112000, 1e-4,
     R"({"model_type": "minicpm3", "num_hidden_layers": 62, "hidden_size": 2560, "intermediate_size": 6400, "num_attention_heads": 40, "num_key_value_heads": 40, "vocab_size": 73448, "q_lora_rank": 768, "kv_lora_rank": 256, "qk_nope_head_dim": 64, "qk_rope_head_dim": 32})"},
    {"internlm/internlm2-7b", 7737708544, 1e-4,
     R"({"model_type": "internlm2", "num_hidden_layers": 32, "hidden_size": 4096, "intermediate_size": 14336, "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 92544, "bias": false})"},
    {"internlm/internlm3-8b-instruct", 8804241408, 1e-4,
     R"({"model_type": "internlm3", "num_hidden_layers": 48, "hidden_size": 4096, "intermediate_size": 10240, "num_attention_heads": 32, "num_key_value_heads": 2, "vocab_size": 128512, "head_dim": 128, "qkv_bias": false, "bias": false})"},
    {"LGAI-EXAONE/EXAONE-3.5-7.8B-Instruct", 7818448896, 1e-4,
     R"({"model_type": "exaone", "num_layers": 32, "hidden_size": 4096, "intermediate_size": 14336, "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 102400, "tie_word_embeddings": false})"},
    {"LGAI-EXAONE/EXAONE-4.0-32B", 32003216384, 1e-4,
     R"({"model_type": "exaone4", "num_hidden_layers": 64, "hidden_size": 5120, "intermediate_size": 27392, "num_attention_heads": 40, "num_key_value_heads": 8, "vocab_size": 102400, "sliding_window": 4096, "sliding_window_pattern": "LLLG", "head_dim": 128})"},
    {"HuggingFaceTB/SmolLM3-3B", 3075098624, 1e-4,
     R"({"model_type": "smollm3", "num_hidden_layers": 36, "hidden_size": 2048, "intermediate_size": 11008, "num_attention_heads": 16, "num_key_value_heads": 4, "vocab_size": 128256})"},
    {"TinyLlama/TinyLlama-1.1B-Chat-v1.0", 1100048384, 1e-4,
     R"({"model_type": "llama", "num_hidden_layers": 22, "hidden_size": 2048, "intermediate_size": 5632, "num_attention_heads": 32, "num_key_value_heads": 4, "vocab_size": 32000})"},
    {"01-ai/Yi-34B", 34388917248, 1e-4,
     R"({"model_type": "llama", "num_hidden_layers": 60, "hidden_size": 7168, "intermediate_size": 20480, "num_attention_heads": 56, "num_key_value_heads": 8, "vocab_size": 64000})"},
    {"ByteDance-Seed/Seed-OSS-36B-Base", 36151104512, 1e-4,
     R"({"model_type": "seed_oss", "num_hidden_layers": 64, "hidden_size": 5120, "intermediate_size": 27648, "num_attention_heads": 80, "num_key_value_heads": 8, "vocab_size": 155136, "head_dim": 128, "attention_bias": true, "attention_out_bias": false, "mlp_bias": false})"},
    {"baidu/ERNIE-4.5-21B-A3B-PT", 21825437888, 1e-4,
     R"({"model_type": "ernie4_5_moe", "num_hidden_layers": 28, "hidden_size": 2560, "intermediate_size": 12288, "num_attention_heads": 20, "num_key_value_heads": 4, "vocab_size": 103424, "moe_num_experts": 64, "moe_k": 6, "moe_intermediate_size": 1536, "moe_num_shared_experts": 2, "moe_layer_start_index": 1, "moe_layer_interval": 1, "use_bias": false, "head_dim": 128, "tie_word_embeddings": true})"},
    {"baidu/ERNIE-4.5-0.3B-PT", 360748032, 1e-4,
     R"({"model_type": "ernie4_5", "num_hidden_layers": 18, "hidden_size": 1024, "intermediate_size": 3072, "num_attention_heads": 16, "num_key_value_heads": 2, "vocab_size": 103424, "head_dim": 128, "use_bias": false})"},
    {"tencent/Hunyuan-A13B-Instruct", 80393183232, 1e-4,
     R"({"model_type": "hunyuan_v1_moe", "num_hidden_layers": 32, "hidden_size": 4096, "intermediate_size": 3072, "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 128167, "head_dim": 128, "num_experts": 64, "moe_topk": [8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8], "moe_intermediate_size": [3072, 3072, 3072, 3072, 3072, 3072, 3072, 3072, 3072, 3072, 3072, 3072, 3072, 3072, 3072, 3072, 3072, 3072, 3072, 3072, 3072, 3072, 3072, 3072, 3072, 3072, 3072, 3072, 3072, 3072, 3072, 3072], "num_shared_expert": [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1], "use_qk_norm": true, "tie_word_embeddings": true, "use_cla": false, "use_mixed_mlp_moe": true, "attention_bias": false})"},
    {"THUDM/glm-4-9b-chat-hf", 9399951360, 1e-4,
     R"({"model_type": "glm", "num_hidden_layers": 40, "hidden_size": 4096, "intermediate_size": 13696, "num_attention_heads": 32, "num_key_value_heads": 2, "vocab_size": 151552, "head_dim": 128, "attention_bias": true})"},
    {"THUDM/GLM-4-32B-0414", 32566108160, 1e-4,
     R"({"model_type": "glm4", "num_hidden_layers": 61, "hidden_size": 6144, "intermediate_size": 23040, "num_attention_heads": 48, "num_key_value_heads": 2, "vocab_size": 151552, "head_dim": 128, "attention_bias": false})"},
    {"nvidia/Nemotron-4-340B-Base", 341029158912, 1e-4,
     R"({"model_type": "nemotron", "num_hidden_layers": 96, "hidden_size": 18432, "intermediate_size": 73728, "num_attention_heads": 96, "num_key_value_heads": 8, "vocab_size": 256000})"},
    {"adept/persimmon-8b-base", 9400000000, 0.01,
     R"({"model_type": "persimmon", "num_hidden_layers": 36, "hidden_size": 4096, "intermediate_size": 16384, "num_attention_heads": 64, "vocab_size": 262144, "qk_layernorm": true})"},
    {"mistralai/Mixtral-8x22B-v0.1", 140620634112, 1e-4,
     R"({"model_type": "mixtral", "num_hidden_layers": 56, "hidden_size": 6144, "intermediate_size": 16384, "num_attention_heads": 48, "num_key_value_heads": 8, "vocab_size": 32000, "num_local_experts": 8, "num_experts_per_tok": 2})"},
    {"ai21labs/Jamba-v0.1", 51570323328, 1e-4,
     R"({"model_type": "jamba", "num_hidden_layers": 32, "hidden_size": 4096, "intermediate_size": 14336, "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 65536, "num_experts": 16, "num_experts_per_tok": 2, "attn_layer_period": 8, "attn_layer_offset": 4, "expert_layer_period": 2, "expert_layer_offset": 1, "mamba_d_state": 16, "mamba_d_conv": 4, "mamba_expand": 2, "mamba_dt_rank": 256})"},
    {"ibm-granite/granite-4.0-h-tiny", 6939037248, 1e-4,
     R"({"model_type": "granitemoehybrid", "num_hidden_layers": 40, "hidden_size": 1536, "intermediate_size": 512, "num_attention_heads": 12, "num_key_value_heads": 4, "vocab_size": 100352, "num_local_experts": 64, "num_experts_per_tok": 6, "shared_intermediate_size": 1024, "layer_types": ["mamba", "mamba", "mamba", "mamba", "mamba", "attention", "mamba", "mamba", "mamba", "mamba", "mamba", "mamba", "mamba", "mamba", "mamba", "attention", "mamba", "mamba", "mamba", "mamba", "mamba", "mamba", "mamba", "mamba", "mamba", "attention", "mamba", "mamba", "mamba", "mamba", "mamba", "mamba", "mamba", "mamba", "mamba", "attention", "mamba", "mamba", "mamba", "mamba"], "mamba_n_heads": 48, "mamba_d_head": 64, "mamba_d_state": 128, "mamba_n_groups": 1, "mamba_d_conv": 4, "mamba_expand": 2, "tie_word_embeddings": true, "position_embedding_type": "nope"})"},
    {"ibm-ai-platform/Bamba-9B", 9780000000, 0.01,
     R"({"model_type": "bamba", "num_hidden_layers": 32, "hidden_size": 4096, "intermediate_size": 14336, "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 128256, "attn_layer_indices": [9, 18, 27], "mamba_n_heads": 128, "mamba_d_head": 64, "mamba_d_state": 128, "mamba_n_groups": 1, "mamba_d_conv": 4, "mamba_expand": 2})"},
    {"swiss-ai/Apertus-8B-2509", 8053338176, 1e-4,
     R"({"model_type": "apertus", "num_hidden_layers": 32, "hidden_size": 4096, "intermediate_size": 21504, "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 131072})"},
    {"Qwen/Qwen-7B", 7721324544, 1e-4,
     R"({"model_type": "qwen", "num_hidden_layers": 32, "hidden_size": 4096, "intermediate_size": 22016, "num_attention_heads": 32, "kv_channels": 128, "vocab_size": 151936, "no_bias": true})"},
    {"baichuan-inc/Baichuan-13B-Base", 13264901120, 1e-4,
     R"({"model_type": "baichuan", "num_hidden_layers": 40, "hidden_size": 5120, "intermediate_size": 13696, "num_attention_heads": 40, "vocab_size": 64000})"},
    {"THUDM/chatglm2-6b", 6243584000, 1e-4,
     R"({"model_type": "chatglm", "num_layers": 28, "hidden_size": 4096, "ffn_hidden_size": 13696, "num_attention_heads": 32, "kv_channels": 128, "multi_query_attention": true, "multi_query_group_num": 2, "padded_vocab_size": 65024, "add_qkv_bias": true, "add_bias_linear": false, "rmsnorm": true})"},
    {"THUDM/chatglm-6b", 6173286400, 1e-4,
     R"({"model_type": "chatglm", "num_layers": 28, "hidden_size": 4096, "inner_hidden_size": 16384, "num_attention_heads": 32, "vocab_size": 130528})"},
    {"deepseek-ai/deepseek-moe-16b-base", 16375728128, 1e-4,
     R"({"model_type": "deepseek", "num_hidden_layers": 28, "hidden_size": 2048, "intermediate_size": 10944, "num_attention_heads": 16, "num_key_value_heads": 16, "vocab_size": 102400, "n_routed_experts": 64, "n_shared_experts": 2, "num_experts_per_tok": 6, "moe_intermediate_size": 1408, "first_k_dense_replace": 1, "moe_layer_freq": 1})"},
    {"mistralai/Mistral-Nemo-Base-2407", 12247782400, 1e-4,
     R"({"model_type": "mistral", "num_hidden_layers": 40, "hidden_size": 5120, "intermediate_size": 14336, "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 131072, "head_dim": 128, "sliding_window": null})"},
    {"moonshotai/Moonlight-16B-A3B", 15960111936, 1e-4,
     R"({"model_type": "deepseek_v3", "num_hidden_layers": 27, "hidden_size": 2048, "intermediate_size": 11264, "num_attention_heads": 16, "num_key_value_heads": 16, "vocab_size": 163840, "n_routed_experts": 64, "n_shared_experts": 2, "num_experts_per_tok": 6, "moe_intermediate_size": 1408, "first_k_dense_replace": 1, "q_lora_rank": null, "kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128})"},
    {"mosaicml/mpt-7b", 6649286656, 1e-4,
     R"({"model_type": "mpt", "d_model": 4096, "n_heads": 32, "n_layers": 32, "expansion_ratio": 4, "vocab_size": 50432, "no_bias": true, "max_seq_len": 2048, "attn_config": {"alibi": true, "attn_type": "multihead_attention"}})"},
        // clang-format on
};

TEST(HuggingFaceFamilies, TotalsOfPublishedCheckpoints) {
  for (const Published& row : published) {
    SCOPED_TRACE(row.repository);
    const Transformer model = import_huggingface(Reader::text(row.config, row.repository), row.repository);
    EXPECT_NEAR(parameter_counts(model).total / row.parameters, 1, row.tolerance) << parameter_counts(model).total;
  }
}

TEST(HuggingFaceFamilies, WrittenAndReadAgainTheModelIsTheSame) {
  for (const Published& row : published) {
    SCOPED_TRACE(row.repository);
    const Transformer model = import_huggingface(Reader::text(row.config, row.repository), row.repository);
    const Transformer again = read_model(Reader::text(model_json(model), "again"));
    EXPECT_EQ(parameter_counts(again).total, parameter_counts(model).total);
    EXPECT_EQ(parameter_counts(again).active, parameter_counts(model).active);
    EXPECT_EQ(again.pattern, model.pattern);
    EXPECT_EQ(flops_per_token(again, 4096, FlopsConvention::causal),
              flops_per_token(model, 4096, FlopsConvention::causal));
  }
}

}  // namespace
}  // namespace meshwright::workload
