#include "meshwright/workload/transformer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "meshwright/workload/presets.hpp"

namespace meshwright::workload {
namespace {

TEST(Transformer, MoeLayersByRule) {
  const Transformer v3 = load_model("deepseek-v3");
  EXPECT_EQ(v3.moe_layers(), 58);
  EXPECT_FALSE(v3.is_moe_layer(2));
  EXPECT_TRUE(v3.is_moe_layer(3));
  const Transformer maverick = load_model("llama-4-maverick");
  EXPECT_EQ(maverick.moe_layers(), 24);
  EXPECT_FALSE(maverick.is_moe_layer(0));
  EXPECT_TRUE(maverick.is_moe_layer(1));
  EXPECT_EQ(load_model("llama-3-8b").moe_layers(), 0);
}

TEST(Transformer, RuleAndCountAgree) {
  for (const Transformer& model : model_presets()) {
    int moe = 0, layers = 0;
    for (int i = 0; i < model.layers; ++i) moe += model.is_moe_layer(i) ? 1 : 0;
    for (const LayerClass& kind : layer_classes(model)) layers += kind.layers;
    EXPECT_EQ(moe, model.moe_layers()) << model.name;
    EXPECT_EQ(layers, model.layers) << model.name;
  }
}

TEST(Transformer, EveryNthLayerIsFull) {
  const Transformer gemma = load_model("gemma-2-27b");
  EXPECT_FALSE(layer_shape(gemma, 0).full_attention);
  EXPECT_TRUE(layer_shape(gemma, 1).full_attention);
  EXPECT_THAT(layer_classes(gemma), testing::SizeIs(2));
}

// Narayanan et al. 2021 (https://arxiv.org/abs/2104.04473), eq. 3: F = 96 B s l h^2 (1 + s/6h + V/16lh).
TEST(Flops, MegatronFormulaWithFullRecompute) {
  for (const char* name : {"megatron-1.7b", "megatron-18.4b", "megatron-145.6b", "gpt3-175b", "megatron-1008b"}) {
    const Transformer m = load_model(name);
    for (const double s : {1024.0, 2048.0, 8192.0}) {
      const double h = m.hidden, l = m.layers, v = m.vocab;
      const double expected = 96 * l * h * h * (1 + s / (6 * h) + v / (16 * l * h));
      EXPECT_NEAR(flops_per_token(m, static_cast<int>(s), FlopsConvention::hardware_full_recompute) / expected, 1,
                  1e-12)
          << name;
    }
  }
}

TEST(Flops, ConventionsOfLlama3At8K) {
  const Transformer m = load_model("llama-3-8b");
  const double n = 8030261248.0 - 128256.0 * 4096 - 65 * 4096.0;  // without the input embedding and the norms
  EXPECT_NEAR(flops_per_token(m, 8192, FlopsConvention::full_attention), 6 * n + 12.0 * 32 * 4096 * 8192, 1e3);
  EXPECT_NEAR(flops_per_token(m, 8192, FlopsConvention::causal), 6 * n + 6.0 * 32 * 4096 * 8192, 1e3);
  EXPECT_EQ(name(FlopsConvention::causal), "causal");
}

TEST(Flops, MixturesCountActiveExpertsOnly) {
  const Transformer m = load_model("mixtral-8x7b");
  const double matrices = 12879925248.0 - 32000.0 * 4096 - 65 * 4096.0;
  EXPECT_NEAR(flops_per_token(m, 4096, FlopsConvention::causal) / (6 * matrices + 6.0 * 32 * 4096 * 4096), 1, 1e-12);
}

TEST(Parameters, PartsOfDeepSeekV3) {
  // DeepSeek-V3 report (https://arxiv.org/abs/2412.19437): 671B, 37B active; the MTP module adds 14B on Hugging Face
  // with its own copies of embedding and head (1.85B), 11.6B without.
  const ParameterCounts c = parameter_counts(load_model("deepseek-v3"));
  EXPECT_NEAR(c.total, 671.026e9, 1e8);
  EXPECT_NEAR(c.active - c.embedding, 37e9, 0.7e9);
  EXPECT_NEAR(c.mtp, 11.6e9, 0.1e9);
  EXPECT_EQ(c.expert, 3.0 * 7168 * 2048);
}

TEST(Parameters, TyingDropsTheHeadOnly) {
  Transformer m = load_model("llama-3-8b");
  const double apart = parameter_counts(m).total;
  m.tied_embeddings = true;
  EXPECT_EQ(apart - parameter_counts(m).total, 128256.0 * 4096);
  EXPECT_EQ(parameter_counts(m).head, 0);
}

struct Broken {
  const char* word;  ///< what the message names
  void (*spoil)(Transformer&);
};

TEST(Check, NamesTheFirstInconsistentField) {
  const Broken cases[] = {
      {"layers", [](Transformer& m) { m.layers = 0; }},
      {"hidden", [](Transformer& m) { m.hidden = -1; }},
      {"heads", [](Transformer& m) { m.heads = 0; }},
      {"vocab", [](Transformer& m) { m.vocab = 0; }},
      {"head_dim", [](Transformer& m) { m.head_dim = 0; }},
      {"kv_heads", [](Transformer& m) { m.kv_heads = 3; }},
      {"sliding_window", [](Transformer& m) { m.sliding_window = -5; }},
      {"top_k", [](Transformer& m) { m.top_k = 0; }},
      {"top_k", [](Transformer& m) { m.top_k = 9; }},
      {"moe_ffn_hidden", [](Transformer& m) { m.moe_ffn_hidden = 0; }},
      {"moe_every", [](Transformer& m) { m.moe_every = 0; }},
      {"dense_layers", [](Transformer& m) { m.dense_layers = 33; }},
      {"ffn_hidden", [](Transformer& m) { m.dense_layers = 1; }},
      {"expert_groups", [](Transformer& m) { m.expert_groups = 3; }},
      {"kv_lora_rank", [](Transformer& m) { m.attention = AttentionKind::latent; }},
      {"pattern", [](Transformer& m) { m.pattern.resize(3); }},
      {"state_space", [](Transformer& m) { m.pattern.assign(32, {.mixer = Mixer::mamba2}); }},
  };
  for (const Broken& broken : cases) {
    Transformer m = load_model("mixtral-8x7b");
    broken.spoil(m);
    try {
      check(m, "somewhere");
      ADD_FAILURE() << broken.word << " was accepted";
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), testing::StartsWith("somewhere: model 'mixtral-8x7b': "));
      EXPECT_THAT(error.what(), testing::HasSubstr(broken.word));
    }
  }
}

}  // namespace
}  // namespace meshwright::workload
