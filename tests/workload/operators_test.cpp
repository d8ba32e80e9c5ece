#include "meshwright/workload/operators.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "meshwright/workload/presets.hpp"

namespace meshwright::workload {
namespace {

const Precision& bf16() { return precision("bf16", "test"); }

double sum(const std::vector<Operator>& operators, double Operator::*member) {
  return std::accumulate(operators.begin(), operators.end(), 0.0,
                         [&](double total, const Operator& op) { return total + op.*member; });
}

/// Saved activation bytes of a block, with attention fused or with stored scores.
double saved(const std::vector<Operator>& operators, bool fused) {
  double total = 0;
  for (const Operator& op : operators) {
    total += fused || op.unfused_saved_bytes == 0 ? op.saved_bytes : op.unfused_saved_bytes;
  }
  return total;
}

const Operator& named(const std::vector<Operator>& operators, std::string_view name) {
  const auto found =
      std::find_if(operators.begin(), operators.end(), [&](const Operator& op) { return op.name == name; });
  EXPECT_NE(found, operators.end()) << name;
  return *found;
}

bool has(const std::vector<Operator>& operators, std::string_view name) {
  return std::any_of(operators.begin(), operators.end(), [&](const Operator& op) { return op.name == name; });
}

// Korthikanti et al. 2022 (https://arxiv.org/abs/2205.05198), table 2: activation bytes of one layer, dropout included.
struct Anchor {
  const char* name;
  int tp;
  bool sequence_parallel;
  double (*per_sbh)(double t, double as_h);  ///< bytes over s b h; as_h = 5 a s / h
};

TEST(SavedActivations, KorthikantiTable2WithStoredScores) {
  const Anchor anchors[] = {
      {"no parallelism", 1, false, [](double, double x) { return 34 + x; }},
      {"tensor parallel", 8, false, [](double t, double x) { return 10 + 24 / t + x / t; }},
      {"tensor and sequence parallel", 8, true, [](double t, double x) { return 34 / t + x / t; }},
  };
  for (const char* model_name : {"megatron-22b", "gpt3-175b", "mt-nlg-530b", "megatron-1t"}) {
    const Transformer model = load_model(model_name);
    for (const Anchor& anchor : anchors) {
      SCOPED_TRACE(std::string(model_name) + ", " + anchor.name);
      const double s = 2048, b = 4, h = model.hidden;
      const Shard shard{.tp = anchor.tp, .sequence_parallel = anchor.sequence_parallel};
      const auto block = layer_operators(model, LayerKind::dense, b, s, shard, bf16());
      EXPECT_NEAR(saved(block, false) / (s * b * h), anchor.per_sbh(anchor.tp, 5 * model.heads * s / h), 1e-9);
    }
  }
}

TEST(SavedActivations, SelectiveRecomputeLeavesKorthikantisLinearPart) {
  // Table 2, last but one row: 34 s b h / t once the attention core is redone.
  const Transformer model = load_model("gpt3-175b");
  const auto block = layer_operators(model, LayerKind::dense, 1, 2048, {.tp = 8, .sequence_parallel = true}, bf16());
  double linear = 0;
  for (const Operator& op : block) {
    // The redone core still keeps its inputs q, k and v: 6 s b h / t of the 34.
    linear +=
        op.kind == OperatorKind::attention ? 2 * op.batch * op.seq_q * op.heads * op.head_dim * 3 : op.saved_bytes;
  }
  EXPECT_NEAR(linear / (2048.0 * model.hidden), 34.0 / 8, 1e-9);
}

TEST(SavedActivations, FlashAttentionHasNoQuadraticTerm) {
  for (const Transformer& model : model_presets()) {
    SCOPED_TRACE(model.name);
    if (model.sparse.top_k > 0) continue;  // its indexer looks at all pairs, but keeps none
    for (const LayerClass& kind : layer_classes(model)) {
      const double once = saved(layer_operators(model, kind.shape, 1, 4096, {}, bf16()), true);
      const double twice = saved(layer_operators(model, kind.shape, 1, 8192, {}, bf16()), true);
      EXPECT_NEAR(twice / once, 2, 1e-9);
    }
  }
}

TEST(SavedActivations, GroupedQueryAndGatedMlp) {
  // Llama 3 8B, one token: norms 2 x 2h, qkv input 2h, q k v 2 (h + 2 kv), lse 4a, output's input 2h, up's input 2h,
  // gate and up 2 x 2f, down's input 2f.
  const Transformer m = load_model("llama-3-8b");
  const double kv = 8 * 128, f = m.ffn_hidden, h = m.hidden;
  const double expected = 4 * h + 2 * h + 2 * (h + 2 * kv) + 4 * m.heads + 2 * h + 2 * h + 4 * f + 2 * f;
  const auto block = layer_operators(m, LayerKind::dense, 1, 1, {}, bf16());
  EXPECT_DOUBLE_EQ(saved(block, true), expected);
}

TEST(SavedActivations, Fp8KeepsGemmInputsInOneByte) {
  const Transformer m = load_model("llama-3-70b");
  const auto half = layer_operators(m, LayerKind::dense, 1, 8192, {}, bf16());
  const auto eighth = layer_operators(m, LayerKind::dense, 1, 8192, {}, precision("fp8-ds", "test"));
  EXPECT_DOUBLE_EQ(named(eighth, "mlp_down").saved_bytes, named(half, "mlp_down").saved_bytes / 2);
  EXPECT_LT(saved(eighth, true), saved(half, true));
  // The attention output is kept twice: in bf16 for attention's backward, in fp8 for the projection's.
  EXPECT_GT(named(eighth, "attention").saved_bytes, named(half, "attention").saved_bytes);
}

TEST(Operators, WeightsAddUpToTheParametersOfTheBlock) {
  for (const Transformer& model : model_presets()) {
    SCOPED_TRACE(model.name);
    for (const LayerClass& kind : layer_classes(model)) {
      const auto block = layer_operators(model, kind.shape, 1, 2048, {}, bf16());
      const double counted = layer_parameters(model, kind.shape) - model.extra_params_per_layer;
      // Query-key norms, convolutions and the like have no operator that carries them.
      EXPECT_NEAR(sum(block, &Operator::weight_elements) / counted, 1, 2e-3);
    }
  }
}

TEST(Operators, ShardsAddUpToTheWholeLayer) {
  for (const char* name : {"llama-3.1-405b", "gpt3-175b", "mixtral-8x22b", "deepseek-v3", "qwen-3-235b-a22b"}) {
    SCOPED_TRACE(name);
    const Transformer model = load_model(name);
    for (const LayerClass& kind : layer_classes(model)) {
      const double whole = sum(layer_operators(model, kind.shape, 2, 8192, {}, bf16()), &Operator::flops);
      const Shard shard{.tp = 4, .cp = 2, .ep = 8, .etp = 1, .sequence_parallel = true};
      const double part = sum(layer_operators(model, kind.shape, 2, 8192, shard, bf16()), &Operator::flops);
      EXPECT_NEAR(part * 8 / whole, 1, 1e-9);
    }
  }
}

TEST(Operators, FlopsAgreeWithTheCausalConvention) {
  for (const Transformer& model : model_presets()) {
    SCOPED_TRACE(model.name);
    constexpr int s = 4096;
    double forward = sum(head_operators(model, 1, s, {}, bf16(), 1), &Operator::flops) * (1 + model.mtp_layers);
    for (const LayerClass& kind : layer_classes(model)) {
      forward += kind.layers * sum(layer_operators(model, kind.shape, 1, s, {}, bf16()), &Operator::flops);
    }
    if (model.mtp_layers > 0) {
      forward += model.mtp_layers * sum(mtp_operators(model, 1, s, {}, bf16()), &Operator::flops);
    }
    EXPECT_NEAR(3 * forward / s / flops_per_token(model, s, FlopsConvention::causal), 1, 1e-6);
  }
}

TEST(Operators, TensorParallelRowsAndColumns) {
  const Transformer m = load_model("llama-3-70b");
  const auto block =
      layer_operators(m, LayerKind::dense, 2, 8192, {.tp = 8, .cp = 2, .sequence_parallel = true}, bf16());
  const Operator& qkv = named(block, "qkv");
  EXPECT_EQ(qkv.m, 8192);
  EXPECT_EQ(qkv.n, (64 + 2 * 8) * 128 / 8);
  EXPECT_EQ(qkv.k, 8192);
  const Operator& attention = named(block, "attention");
  EXPECT_EQ(attention.heads, 8);
  EXPECT_EQ(attention.kv_heads, 1);
  EXPECT_EQ(attention.seq_q, 4096);
  EXPECT_EQ(attention.seq_kv, 8192);
  EXPECT_EQ(named(block, "mlp_down").k, 28672 / 8);
  EXPECT_EQ(named(block, "attention_norm").bytes, 2 * 2.0 * 8192 / 8 * 8192);
}

TEST(Operators, KeyValueHeadsAreReplicatedBeyondTheirNumber) {
  const Transformer m = load_model("llama-3-70b");
  const auto block = layer_operators(m, LayerKind::dense, 1, 4096, {.tp = 16, .sequence_parallel = true}, bf16());
  EXPECT_EQ(named(block, "attention").kv_heads, 1);
  EXPECT_EQ(named(block, "qkv").n, (4 + 2) * 128);
}

TEST(Operators, ExpertRowsUnderExpertAndTensorParallelism) {
  const Transformer m = load_model("mixtral-8x7b");
  struct Case {
    Shard shard;
    double per_expert, groups, inner;
  };
  const double tokens = 4096 * 2;
  const Case cases[] = {
      {{}, tokens * 2 / 8, 8, 14336},
      {{.ep = 8}, tokens * 2, 1, 14336},
      {{.tp = 2, .ep = 4, .etp = 1, .sequence_parallel = true}, tokens * 2 / 8 * 4 / 2, 2, 14336},
      {{.tp = 2, .ep = 4, .etp = 2, .sequence_parallel = true}, tokens * 2 / 8 * 4, 2, 7168},
      {{.ep = 8, .imbalance = 1.5}, tokens * 2 * 1.5, 1, 14336},
  };
  for (const Case& c : cases) {
    const auto block = layer_operators(m, LayerKind::moe, 2, 4096, c.shard, bf16());
    const Operator& up = named(block, "expert_up");
    EXPECT_EQ(up.kind, OperatorKind::grouped_gemm);
    EXPECT_DOUBLE_EQ(up.m, c.per_expert);
    EXPECT_DOUBLE_EQ(up.groups, c.groups);
    EXPECT_DOUBLE_EQ(up.n, 2 * c.inner);
    EXPECT_DOUBLE_EQ(named(block, "expert_down").k, c.inner);
    EXPECT_FALSE(named(block, "router").low_precision);
  }
}

TEST(Operators, LatentAttentionIsCutByHeadsAfterTheDownProjections) {
  const Transformer m = load_model("deepseek-v3");
  const auto block = layer_operators(m, LayerKind::moe, 1, 4096, {.tp = 8, .ep = 8, .sequence_parallel = true}, bf16());
  EXPECT_EQ(named(block, "q_down").m, 4096 / 8);
  EXPECT_EQ(named(block, "q_down").n, 1536);
  EXPECT_EQ(named(block, "kv_down").n, 512 + 64);
  EXPECT_EQ(named(block, "q_up").m, 4096);
  EXPECT_EQ(named(block, "q_up").n, 16 * 192);
  EXPECT_EQ(named(block, "kv_up").n, 16 * 256);
  EXPECT_EQ(named(block, "attention").head_dim, 192);
  EXPECT_EQ(named(block, "attention").v_head_dim, 128);
  EXPECT_EQ(named(block, "attention_output").k, 16 * 128);
  EXPECT_TRUE(has(block, "shared_expert_up"));
}

// DeepSeek-V3 on 64 ranks of four experts: 1 - (63/64)^8 of the ranks get a token once, 7.57 of its eight copies.
TEST(Operators, TokensAreSortedByWhatCame) {
  const Transformer m = load_model("deepseek-v3");
  const auto block = layer_operators(m, LayerKind::moe, 1, 4096, {.ep = 64}, bf16());
  for (const char* name : {"permute", "unpermute"}) {
    EXPECT_DOUBLE_EQ(named(block, name).unfused_bytes, 2 * 7168 * 4096.0 * (1 + 8 + 2 * 8)) << name;
    EXPECT_NEAR(named(block, name).bytes, 2 * 7168 * 4096.0 * (7.574 + 8), 1e6) << name;
  }
  const auto alone = layer_operators(m, LayerKind::moe, 1, 4096, {.ep = 256}, bf16());
  EXPECT_DOUBLE_EQ(named(alone, "permute").bytes, 2 * 7168 * 4096.0 * (1 + 8)) << "one expert has no order";
  EXPECT_EQ(named(alone, "permute").unfused_bytes, 0);
}

TEST(Operators, BiasesOfExpertsArePassesOfTheirOwn) {
  const auto block = layer_operators(load_model("gpt-oss-120b"), LayerKind::moe, 1, 4096, {.ep = 8}, bf16());
  const double elements = 4096.0 * 4 * 2880;
  EXPECT_DOUBLE_EQ(named(block, "expert_bias").bytes, 4 * elements);
  EXPECT_DOUBLE_EQ(named(block, "expert_bias").unfused_bytes, 28 * elements);
  EXPECT_EQ(named(block, "expert_bias").apart, 2 * 16 + 2);
  EXPECT_FALSE(has(layer_operators(load_model("deepseek-v3"), LayerKind::moe, 1, 4096, {}, bf16()), "expert_bias"));
}

TEST(Operators, WindowsCutAttention) {
  const Transformer m = load_model("gpt-oss-120b");
  const auto local = layer_operators(m, LayerKind::moe, 1, 8192, {}, bf16(), false);
  const auto full = layer_operators(m, LayerKind::moe, 1, 8192, {}, bf16(), true);
  EXPECT_EQ(named(local, "attention").window, 128);
  EXPECT_EQ(named(full, "attention").window, 0);
  // sum over queries of min(i, w) = s w - w^2 / 2, against s^2 / 2.
  const double expected = (8192.0 * 128 - 128.0 * 128 / 2) / (8192.0 * 8192 / 2);
  EXPECT_NEAR(named(local, "attention").flops / named(full, "attention").flops, expected, 1e-9);
}

TEST(Operators, CastsOnlyWhereTheRecipeHasThem) {
  const Transformer m = load_model("llama-3-8b");
  EXPECT_FALSE(has(layer_operators(m, LayerKind::dense, 1, 8192, {}, bf16()), "mlp_casts"));
  for (const Precision& recipe : precisions()) {
    const auto block = layer_operators(m, LayerKind::dense, 1, 8192, {}, recipe);
    EXPECT_EQ(has(block, "mlp_casts"), recipe.cast_bytes_per_element > 0) << recipe.name;
    if (!has(block, "mlp_casts")) continue;
    EXPECT_DOUBLE_EQ(named(block, "mlp_casts").bytes,
                     recipe.cast_bytes_per_element * 8192.0 * (m.hidden + m.ffn_hidden));
    EXPECT_EQ(named(block, "mlp_casts").kernels, 2);
  }
}

TEST(Operators, ParallelBlocksShareOneNormAndOneAdd) {
  const auto block = layer_operators(load_model("gpt-j-6b"), LayerKind::dense, 1, 2048, {}, bf16());
  EXPECT_TRUE(has(block, "attention_norm"));
  EXPECT_FALSE(has(block, "mlp_norm"));
  EXPECT_FALSE(has(block, "attention_residual"));
  EXPECT_EQ(named(block, "mlp_up").saved_bytes, 0);
}

TEST(Operators, UnfusedTrafficIsNeverLess) {
  for (const Transformer& model : model_presets()) {
    for (const LayerClass& kind : layer_classes(model)) {
      for (const Operator& op : layer_operators(model, kind.shape, 1, 4096, {}, bf16())) {
        EXPECT_TRUE(op.unfused_bytes == 0 || op.unfused_bytes >= op.bytes) << model.name << " " << op.name;
        EXPECT_GE(op.flops, 0);
        EXPECT_GE(op.bytes, 0);
      }
    }
  }
}

TEST(Operators, HeadPadsTheVocabularyAndKeepsFp32Logits) {
  const Transformer m = load_model("gpt3-175b");
  EXPECT_EQ(padded_vocab(50257, 128 * 8), 51200);  // Megatron-LM's padding of the GPT-2 tokenizer
  EXPECT_EQ(padded_vocab(50257, 128), 50304);
  EXPECT_EQ(padded_vocab(51200, 1024), 51200);
  const auto head = head_operators(m, 1, 2048, {.tp = 8, .sequence_parallel = true}, bf16());
  EXPECT_EQ(named(head, "logits").n, 6400);
  EXPECT_DOUBLE_EQ(named(head, "cross_entropy").saved_bytes, 4.0 * 2048 * 6400);
  // Korthikanti et al. 2022, sec. 4.3: 4 s b h / t (1 + v / h) behind the last layer.
  EXPECT_NEAR(sum(head, &Operator::saved_bytes), 4.0 * 2048 * m.hidden / 8 * (1 + 51200.0 / m.hidden), 1);
}

TEST(Operators, NothingToDoForNoTokens) {
  for (const Operator& op : layer_operators(load_model("llama-3-8b"), LayerKind::dense, 0, 4096, {}, bf16())) {
    EXPECT_EQ(op.flops, 0);
    EXPECT_EQ(op.saved_bytes, 0);
  }
}

// Every GEMM whose weight a rank holds a part of says how it is cut, and only experts belong to ep and etp.
TEST(Operators, EveryCutGemmSaysSo) {
  for (const Transformer& m : model_presets()) {
    for (const LayerClass& kind : layer_classes(m)) {
      const auto weights = [&](int tp, int etp) {
        return layer_operators(m, kind.shape, 1, 4096, {.tp = tp, .etp = etp, .sequence_parallel = true}, bf16());
      };
      const auto whole = weights(1, 1), cut = weights(2, 2);
      ASSERT_EQ(whole.size(), cut.size()) << m.name;
      for (std::size_t i = 0; i < whole.size(); ++i) {
        if (!is_gemm(whole[i])) continue;
        EXPECT_EQ(whole[i].expert, whole[i].kind == OperatorKind::grouped_gemm) << whole[i].name;
        const bool smaller = cut[i].n * cut[i].k < 0.99 * whole[i].n * whole[i].k;
        EXPECT_EQ(smaller, whole[i].cut != Cut::none) << m.name << " " << whole[i].name;
        const bool whole_input = cut[i].k == whole[i].k, whole_output = cut[i].n == whole[i].n;
        EXPECT_EQ(whole_input, whole[i].cut != Cut::row) << m.name << " " << whole[i].name;
        EXPECT_EQ(whole_output, whole[i].cut != Cut::column) << m.name << " " << whole[i].name;
      }
    }
  }
}

}  // namespace
}  // namespace meshwright::workload
