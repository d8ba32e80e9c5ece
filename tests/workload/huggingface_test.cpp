// What a configuration leaves out, nests or hides, and what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "meshwright/workload/presets.hpp"

namespace meshwright::workload {
namespace {

using testing::AllOf;
using testing::HasSubstr;

Transformer imported(const std::string& config) { return import_huggingface(Reader::text(config, "config.json"), "m"); }

std::string message(const std::string& config) {
  try {
    imported(config);
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

/// A Llama configuration with one more member, which may replace an earlier one.
std::string llama(const std::string& more) {
  return R"({"model_type": "llama", "hidden_size": 512, "num_hidden_layers": 4, "num_attention_heads": 8,
             "intermediate_size": 1024, "vocab_size": 1000)" +
         (more.empty() ? "" : ", " + more) + "}";
}

TEST(HuggingFace, MissingKeyValueHeadsMeanWhatTheFamilySays) {
  EXPECT_EQ(imported(llama("")).kv_heads, 8);
  EXPECT_EQ(imported(R"({"model_type": "mistral", "hidden_size": 512, "num_hidden_layers": 2, "num_attention_heads": 16,
                         "intermediate_size": 64, "vocab_size": 10})")
                .kv_heads,
            8);
  EXPECT_EQ(imported(R"({"model_type": "gpt_bigcode", "n_embd": 512, "n_layer": 2, "n_head": 16,
                         "vocab_size": 10})")
                .kv_heads,
            1);
}

TEST(HuggingFace, MissingKeyValueHeadsOfAKnownModelAreThatModels) {
  // An export of Llama-2 70B without the key: multi-head attention would make it 78.4 billion parameters.
  const Transformer model = imported(
      R"({"model_type": "llama", "hidden_size": 8192, "num_hidden_layers": 80, "num_attention_heads": 64,
          "intermediate_size": 28672, "vocab_size": 32000})");
  EXPECT_EQ(model.kv_heads, 8);
  EXPECT_NEAR(parameter_counts(model).total / 68976648192.0, 1, 1e-3);
  EXPECT_THAT(model.assumptions, testing::Contains(HasSubstr("num_key_value_heads is missing: 8 is assumed, as ")));
  // Llama-2 7B has one for each head (and Yi-6B, of the same sizes but for its vocabulary, has not); a shape that
  // nobody published gets what the family's class says. All say so.
  const Transformer small = imported(
      R"({"model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32,
          "intermediate_size": 11008, "vocab_size": 32000})");
  EXPECT_EQ(small.kv_heads, 32);
  EXPECT_THAT(small.assumptions, testing::Contains(HasSubstr("32 is assumed, as llama-7b of the same sizes has")));
  // Bamba-9B, most layers of which are Mamba's, has the sizes of Llama 3 8B.
  EXPECT_THAT(imported(R"({"model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 32,
                           "num_attention_heads": 32, "intermediate_size": 14336, "vocab_size": 128256})")
                  .assumptions,
              testing::Contains(HasSubstr("8 is assumed, as llama-3-8b of the same sizes has")));
  EXPECT_THAT(imported(llama("")).assumptions, testing::Contains(HasSubstr("8 is assumed, as many as heads")));
  EXPECT_THAT(imported(llama(R"("num_key_value_heads": 8)")).assumptions, testing::IsEmpty());
}

TEST(HuggingFace, SizesThatDifferByLayerAreRefusedByTheirKey) {
  for (const char* type : {"llama", "somenewmodel"}) {
    const std::string begin =
        std::string(R"({"model_type": ")") + type + R"(", "hidden_size": 512, "num_hidden_layers": 2,
      "num_attention_heads": 8, "intermediate_size": 1024, "vocab_size": 1000, )";
    EXPECT_THAT(message(begin + R"("num_attention_heads_per_layer": [8, 4]})"),
                HasSubstr("'num_attention_heads_per_layer' differs by layer"));
    EXPECT_THAT(message(begin + R"("ffn_hidden_by_layer": {"0": 64}})"), HasSubstr("'ffn_hidden_by_layer'"));
    EXPECT_THAT(message(begin + R"("moe_intermediate_size": [64, 128]})"), HasSubstr("'moe_intermediate_size'"));
  }
  EXPECT_EQ(imported(llama(R"("intermediate_sizes_per_layer": null)")).layers, 4);
}

TEST(HuggingFace, NullIsMissing) {
  EXPECT_EQ(imported(llama(R"("num_key_value_heads": null, "head_dim": null)")).kv_heads, 8);
}

TEST(HuggingFace, HeadDimNeedNotBeHiddenOverHeads) {
  EXPECT_EQ(imported(llama(R"("head_dim": 128)")).head_dim, 128);
  EXPECT_EQ(imported(llama("")).head_dim, 64);
}

TEST(HuggingFace, TyingDefaultsDifferByFamily) {
  EXPECT_FALSE(imported(llama("")).tied_embeddings);
  EXPECT_TRUE(imported(llama(R"("tie_word_embeddings": true)")).tied_embeddings);
  EXPECT_TRUE(imported(R"({"model_type": "gemma", "hidden_size": 512, "num_hidden_layers": 2, "num_attention_heads": 2,
                           "intermediate_size": 64, "vocab_size": 10})")
                  .tied_embeddings);
  EXPECT_TRUE(imported(R"({"model_type": "gpt2", "n_embd": 512, "n_layer": 2, "n_head": 2,
                           "vocab_size": 10})")
                  .tied_embeddings);
}

TEST(HuggingFace, ArchitectureStandsInForAMissingModelType) {
  const Transformer model = imported(R"({"architectures": ["GPT2LMHeadModel"], "n_embd": 64, "n_layer": 2, "n_head": 4,
                                         "vocab_size": 100})");
  EXPECT_EQ(model.family, "gpt2");
  EXPECT_EQ(model.ffn_hidden, 256);
  EXPECT_THAT(model.assumptions, testing::ElementsAre(HasSubstr("n_positions is missing")));
}

TEST(HuggingFace, TextModelOfAWrapper) {
  const Transformer model = imported(R"({"model_type": "some_vision_language", "tie_word_embeddings": true,
      "vision_config": {"hidden_size": 7}, "text_config": )" +
                                     llama("") + "}");
  EXPECT_EQ(model.family, "llama");
  EXPECT_TRUE(model.tied_embeddings);
  EXPECT_THAT(model.assumptions, testing::Contains(HasSubstr("the text model only")));
}

TEST(HuggingFace, ClassDefaultsThatAreUsedAreListed) {
  const Transformer model = imported(R"({"model_type": "gemma3", "text_config": {"model_type": "gemma3_text",
      "hidden_size": 2560, "intermediate_size": 10240, "num_hidden_layers": 34, "sliding_window": 1024}})");
  EXPECT_EQ(model.heads, 8);
  EXPECT_EQ(model.vocab, 262208);
  EXPECT_THAT(model.assumptions, testing::Contains(HasSubstr("number of attention heads is missing")));
}

TEST(HuggingFace, FalconWithoutKeyValueHeadsSaysWhatItAssumes) {
  const Transformer model = imported(R"({"architectures": ["RWForCausalLM"], "hidden_size": 8192, "n_layer": 60,
                                         "n_head": 128, "vocab_size": 65024})");
  EXPECT_THAT(model.assumptions, testing::Contains(HasSubstr("num_kv_heads is missing")));
  EXPECT_NEAR(parameter_counts(model).total, 41.3e9, 0.02 * 41.3e9);
}

TEST(HuggingFace, LayerTypesBecomeARuleOrAPattern) {
  const auto with = [](const std::string& types) {
    return imported(R"({"model_type": "gpt_oss", "hidden_size": 64, "num_hidden_layers": 4, "num_attention_heads": 8,
        "intermediate_size": 64, "vocab_size": 10, "num_local_experts": 4, "num_experts_per_tok": 2,
        "sliding_window": 128, "layer_types": )" +
                    types + "}");
  };
  const Transformer rule = with(R"(["sliding_attention", "full_attention", "sliding_attention", "full_attention"])");
  EXPECT_EQ(rule.full_attention_every, 2);
  EXPECT_THAT(rule.pattern, testing::IsEmpty());
  const Transformer pattern = with(R"(["full_attention", "sliding_attention", "sliding_attention", "full_attention"])");
  ASSERT_THAT(pattern.pattern, testing::SizeIs(4));
  EXPECT_TRUE(pattern.pattern[0].full_attention);
  EXPECT_FALSE(pattern.pattern[1].full_attention);
  EXPECT_EQ(pattern.pattern[1].feed, FeedForward::moe);
}

TEST(HuggingFace, WindowsThatAreSwitchedOff) {
  const auto qwen = [](const std::string& more) {
    return imported(R"({"model_type": "qwen2", "hidden_size": 64, "num_hidden_layers": 4, "num_attention_heads": 8,
        "intermediate_size": 64, "vocab_size": 10, "sliding_window": 4096)" +
                    more + "}");
  };
  EXPECT_EQ(qwen("").sliding_window, 0);
  EXPECT_EQ(qwen(R"(, "use_sliding_window": false)").sliding_window, 0);
  const Transformer on = qwen(R"(, "use_sliding_window": true, "max_window_layers": 3)");
  EXPECT_EQ(on.sliding_window, 4096);
  EXPECT_TRUE(layer_shape(on, 2).full_attention);
  EXPECT_FALSE(layer_shape(on, 3).full_attention);
}

TEST(HuggingFace, MoeLayersAsListsAndExceptions) {
  const auto qwen = [](const std::string& more) {
    return imported(R"({"model_type": "qwen3_moe", "hidden_size": 64, "num_hidden_layers": 6, "num_attention_heads": 8,
        "intermediate_size": 64, "vocab_size": 10, "num_experts": 8, "num_experts_per_tok": 2,
        "moe_intermediate_size": 32)" +
                    more + "}");
  };
  EXPECT_EQ(qwen("").moe_layers(), 6);
  EXPECT_EQ(qwen(R"(, "decoder_sparse_step": 2)").moe_layers(), 3);
  EXPECT_EQ(qwen(R"(, "mlp_only_layers": [0, 4])").moe_layers(), 4);
  EXPECT_FALSE(qwen(R"(, "mlp_only_layers": [0, 4])").is_moe_layer(4));
  EXPECT_EQ(qwen(R"(, "moe_layer_freq": [0, 0, 1, 1, 1, 1])").dense_layers, 2);
  EXPECT_EQ(qwen(R"(, "moe_layer_freq": [0, 1, 0, 1, 1, 1])").moe_layers(), 4);
}

TEST(HuggingFace, PerBlockConfigurations) {
  // One full block, one without attention, one with a narrow MLP: 2/3 * 1.5 * 768 = 768, a multiple of 256 already.
  const Transformer m = imported(R"({"model_type": "nemotron-nas", "hidden_size": 768, "num_hidden_layers": 3,
      "num_attention_heads": 12, "num_key_value_heads": null, "intermediate_size": null, "vocab_size": 1000,
      "block_configs": [
        {"attention": {"n_heads_in_group": 4, "no_op": false}, "ffn": {"ffn_mult": 4, "no_op": false}},
        {"attention": {"n_heads_in_group": null, "no_op": true}, "ffn": {"ffn_mult": 4, "no_op": false}},
        {"attention": {"n_heads_in_group": 12, "no_op": false}, "ffn": {"ffn_mult": 1.5, "no_op": false}}]})");
  ASSERT_THAT(m.pattern, testing::SizeIs(3));
  EXPECT_EQ(m.pattern[0].kv_heads, 3);
  EXPECT_EQ(m.pattern[0].ffn_hidden, 2048);
  EXPECT_EQ(m.pattern[1].mixer, Mixer::none);
  EXPECT_EQ(m.pattern[2].ffn_hidden, 768);
  const double attention = 768.0 * 768 * 2, kv3 = 2 * 768.0 * 3 * 64, kv1 = 2 * 768.0 * 64;
  const double expected = 2 * 1000.0 * 768 + 768 + (attention + kv3 + 3 * 768.0 * 2048 + 2 * 768) +
                          (3 * 768.0 * 2048 + 768) + (attention + kv1 + 3 * 768.0 * 768 + 2 * 768);
  EXPECT_EQ(parameter_counts(m).total, expected);
}

TEST(HuggingFace, SingleMixerBlocksWithExpertsInALatentSpace) {
  const std::string sizes = R"("model_type": "nemotron_h", "hidden_size": 64, "num_hidden_layers": 4,
      "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 32, "vocab_size": 100, "intermediate_size": 96,
      "mamba_num_heads": 4, "mamba_head_dim": 32, "ssm_state_size": 16, "n_groups": 2, "conv_kernel": 4,
      "n_routed_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 48, "moe_latent_size": 24,
      "moe_shared_expert_intermediate_size": 80, "n_shared_experts": 1)";
  const Transformer m = imported("{" + sizes + R"(, "hybrid_override_pattern": "ME*-"})");
  const double inner = 128, mixed = inner + 2 * 2 * 16;
  const double mamba = 64 * (inner + mixed + 4) + inner * 64 + mixed * 5 + 3 * 4 + inner;
  const double moe = 64 * 8 + 8 * 2 * 24.0 * 48 + 2 * 64.0 * 24 + 2 * 64.0 * 80;
  const double attention = 64 * (4 + 2 * 2) * 32.0 + 4 * 32 * 64.0, mlp = 2 * 64.0 * 96;
  EXPECT_EQ(parameter_counts(m).total, 2 * 6400 + 64 + 4 * 64 + mamba + moe + attention + mlp);
  EXPECT_EQ(parameter_counts(m).total - parameter_counts(m).active, 6 * 2 * 24.0 * 48);
  const Transformer listed = imported("{" + sizes + R"(, "layers_block_type": ["mamba", "moe", "attention", "mlp"]})");
  EXPECT_EQ(listed.pattern, m.pattern);
}

TEST(HuggingFace, WindowLayersWithKeyValueHeadsOfTheirOwn) {
  const Transformer m = imported(R"({"model_type": "mimo_v2_flash", "hidden_size": 64, "num_hidden_layers": 2,
      "num_attention_heads": 8, "num_key_value_heads": 2, "swa_num_key_value_heads": 4, "head_dim": 24,
      "v_head_dim": 16, "sliding_window": 128, "hybrid_layer_pattern": [0, 1], "intermediate_size": 96,
      "vocab_size": 100})");
  EXPECT_EQ(m.pattern[1].kv_heads, 4);
  EXPECT_FALSE(m.pattern[1].full_attention);
  const auto attention = [](double kv) { return 64 * (8 * 24 + kv * (24 + 16)) + 8 * 16 * 64; };
  EXPECT_EQ(parameter_counts(m).total, 2 * 6400 + 64 + attention(2) + attention(4) + 2 * (3 * 64.0 * 96 + 2 * 64));
}

TEST(HuggingFace, PythonsInfinityIsNoObstacle) {
  const auto path = std::filesystem::temp_directory_path() / "meshwright_infinity.json";
  std::ofstream(path) << llama(R"("time_step_limit": [0.0, Infinity], "note": "Infinity and \"NaN\" stay here")");
  EXPECT_EQ(load_model(path.string()).layers, 4);
  std::filesystem::remove(path);
}

struct Refused {
  const char* config;
  const char* says;
};

TEST(HuggingFace, RefusesByName) {
  const Refused cases[] = {
      {R"({"model_type": "t5", "d_model": 512})", "encoder-decoder"},
      {R"({"architectures": ["T5ForConditionalGeneration"], "d_model": 512})", "family 't5'"},
      {R"({"model_type": "bart", "d_model": 512})", "encoder-decoder"},
      {R"({"model_type": "mystery", "is_encoder_decoder": true})", "encoder-decoder"},
      {R"({"model_type": "bert", "hidden_size": 768})", "encoder-only"},
      {R"({"model_type": "roberta", "hidden_size": 768})", "encoder-only"},
      {R"({"model_type": "vit", "hidden_size": 768})", "vision"},
      {R"({"model_type": "clip", "text_config": {"model_type": "clip_text_model"}})", "vision"},
      {R"({"model_type": "whisper"})", "encoder-decoder"},
      {R"({"model_type": "rwkv5", "hidden_size": 768})", "recurrent"},
      {R"({"model_type": "mamba"})", "no attention"},
      {R"({"model_type": "zamba2"})", "hybrid"},
      {R"({"model_type": "minimax_text_01"})", "linear attention"},
      {R"({"model_type": "mllama", "text_config": {"model_type": "mllama_text_model"}})", "cross-attention"},
      {R"({"model_type": "gemma3n"})", "per-layer embedding"},
      {R"({"model_type": "lama"})", "did you mean 'llama'?"},
      {R"({"model_type": "quite_new"})", "no rules are known"},
      {R"({"hidden_size": 512})", "without model_type and architectures"},
  };
  for (const Refused& refused : cases) {
    EXPECT_THAT(message(refused.config), AllOf(HasSubstr("config.json"), HasSubstr(refused.says))) << refused.config;
  }
}

TEST(HuggingFace, BadSizesNameTheKey) {
  const Refused cases[] = {
      {"[]", "expected an object"},
      {R"({"model_type": "llama", "num_hidden_layers": 4})", "hidden size is missing, expected one of hidden_size"},
      {R"({"architectures": ["BloomForCausalLM"], "n_layer": 70, "num_attention_heads": 112, "vocab_size": 250880})",
       "hidden size is missing"},
      {R"({"model_type": "llama", "hidden_size": 512, "num_hidden_layers": 4, "num_attention_heads": 8,
           "vocab_size": 10})",
       "inner width of the MLP is missing"},
      {R"({"model_type": "llama", "hidden_size": 512, "num_hidden_layers": 4, "num_attention_heads": 7,
           "intermediate_size": 4, "vocab_size": 10})",
       "the 7 heads do not divide the hidden size 512"},
      {R"({"model_type": "llama", "num_hidden_layers": 4, "hidden_size": "512"})",
       "found \"512\", expected a whole number"},
      {R"({"model_type": "llama", "num_hidden_layers": 4, "hidden_size": 512.5})", "found 512.5"},
      {R"({"model_type": "llama", "num_hidden_layers": 4, "hidden_size": -512})", "found -512"},
      {R"({"model_type": "llama", "num_hidden_layers": 4, "hidden_size": 0})", "found 0"},
      {R"({"model_type": "llama", "num_hidden_layers": 4, "hidden_size": 1e30})", "expected a whole number"},
      {R"({"model_type": 7})", "expected a string"},
      {R"({"model_type": "mixtral", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 8,
           "intermediate_size": 4, "vocab_size": 10, "num_local_experts": 4, "num_experts_per_tok": 5})",
       "top_k"},
      {R"({"model_type": "qwen3_moe", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 8,
           "intermediate_size": 4, "vocab_size": 10, "num_experts": 4})",
       "num_experts_per_tok"},
      {R"({"model_type": "deepseek_v3", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 8,
           "intermediate_size": 4, "vocab_size": 10})",
       "kv_lora_rank"},
      {R"({"model_type": "nemotron_h", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 8,
           "intermediate_size": 4, "vocab_size": 10, "mamba_num_heads": 2, "mamba_head_dim": 64,
           "hybrid_override_pattern": "MX"})",
       "unknown block 'X'"},
      {R"({"model_type": "nemotron_h", "hidden_size": 64, "num_hidden_layers": 3, "num_attention_heads": 8,
           "intermediate_size": 4, "vocab_size": 10, "mamba_num_heads": 2, "mamba_head_dim": 64,
           "hybrid_override_pattern": "M*"})",
       "pattern has 2 entries"},
  };
  for (const Refused& refused : cases) EXPECT_THAT(message(refused.config), HasSubstr(refused.says)) << refused.config;
  EXPECT_THAT(message(llama(R"("num_key_value_heads": 3)")), HasSubstr("kv_heads is 3"));
}

}  // namespace
}  // namespace meshwright::workload
