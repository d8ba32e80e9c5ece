#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "core/refusal.hpp"
#include "meshwright/workload/precision.hpp"
#include "meshwright/workload/presets.hpp"

namespace meshwright::workload {
namespace {

using testing::HasSubstr;

std::string message(const std::string& text) {
  try {
    read_model(Reader::text(text, "model.json"));
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

TEST(ReadModel, FillsHeadDimAndKeyValueHeads) {
  const Transformer m = read_model(
      Reader::text(R"({"layers": 2, "hidden": 64, "heads": 4, "ffn_hidden": 128, "vocab": 100})", "model.json"));
  EXPECT_EQ(m.head_dim, 16);
  EXPECT_EQ(m.kv_heads, 4);
  EXPECT_EQ(m.attention, AttentionKind::multi_head);
}

TEST(ReadModel, EveryPresetSurvivesWritingAndReading) {
  for (const Transformer& model : model_presets()) {
    SCOPED_TRACE(model.name);
    const Transformer again = read_model(Reader::text(model_json(model), "again"));
    EXPECT_EQ(parameter_counts(again).total, parameter_counts(model).total);
    EXPECT_EQ(again.attention, model.attention);
    EXPECT_EQ(model_json(again), model_json(model));
    EXPECT_EQ(read_model(Reader::text(model_json(model, Fields::all), "all")).aliases, model.aliases);
  }
}

TEST(ReadModel, RefusesInOneClearLine) {
  struct Case {
    const char *text, *says;
  };
  const Case cases[] = {
      {"", "the file is empty"},
      {"{", "not valid JSON"},
      {"[1]", "expected an object"},
      {"{}", "layers"},
      {R"({"layers": 2, "hidden": 64, "heads": 4, "vocab": 9})", "ffn_hidden"},
      {R"({"layers": 2, "hidden": 64, "heads": 4, "vocab": 9, "fnn_hidden": 9})", "did you mean 'ffn_hidden'?"},
      {R"({"layers": 0, "hidden": 64, "heads": 4, "vocab": 9, "ffn_hidden": 9})", "found 0"},
      {R"({"layers": 2.5, "hidden": 64, "heads": 4, "vocab": 9, "ffn_hidden": 9})", "found 2.5"},
      {R"({"layers": "2", "hidden": 64, "heads": 4, "vocab": 9, "ffn_hidden": 9})", "found \"2\""},
      {R"({"layers": -2, "hidden": 64, "heads": 4, "vocab": 9, "ffn_hidden": 9})", "found -2"},
      {R"({"layers": 1e400, "hidden": 64, "heads": 4, "vocab": 9, "ffn_hidden": 9})", "model.json"},
      {R"({"layers": 2, "hidden": 65, "heads": 4, "vocab": 9, "ffn_hidden": 9})", "head_dim is missing"},
      {R"({"layers": 2, "hidden": 64, "heads": 4, "kv_heads": 3, "vocab": 9, "ffn_hidden": 9})", "kv_heads is 3"},
      {R"({"layers": 2, "hidden": 64, "heads": 4, "vocab": 9, "ffn_hidden": 9, "gated_mlp": 1})", "true or false"},
      {R"({"layers": 2, "hidden": 64, "heads": 4, "vocab": 9, "ffn_hidden": 9, "experts": 4})", "top_k is 0"},
      {R"({"layers": 2, "hidden": 64, "heads": 4, "vocab": 9, "ffn_hidden": 9, "latent": {"rank": 4}})", "'rank'"},
      {R"({"layers": 2, "hidden": 64, "heads": 4, "vocab": 9, "ffn_hidden": 9, "latent": {}})", "kv_lora_rank"},
      {R"({"layers": 2, "hidden": 64, "heads": 4, "vocab": 9, "ffn_hidden": 9, "pattern": [{}]})", "1 entries"},
      {R"({"layers": 2, "hidden": 64, "heads": 4, "vocab": 9, "ffn_hidden": 9, "pattern": [{"mixer": "mamba3"}]})",
       "did you mean 'mamba"},
      {R"({"layers": 2, "hidden": 64, "heads": 4, "vocab": 9, "ffn_hidden": 9, "sparse": {"topk": 4}})", "'topk'"},
      {R"({"layers": 2, "hidden": 64, "heads": 4, "vocab": 9, "ffn_hidden": 9, "aliases": "x"})", "expected a list"},
  };
  for (const Case& c : cases) {
    const std::string what = message(c.text);
    EXPECT_THAT(what, HasSubstr(c.says)) << c.text;
    EXPECT_THAT(what, testing::StartsWith("model.json")) << c.text;
    EXPECT_EQ(what.find('\n'), std::string::npos);
  }
}

TEST(Precision, RowsAreNamedOnceAndFound) {
  for (const Precision& row : precisions()) {
    EXPECT_EQ(&precision(row.name, "here"), &row);
    EXPECT_GE(row.cast_bytes_per_element, 0);
    EXPECT_GE(row.stored_input_bytes, bytes_per_element(row.gemm));
  }
  try {
    precision("fp8-blok", "--precision");
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "--precision: unknown precision 'fp8-blok' (did you mean 'fp8-block'?)");
  }
}

// Zero, negative and outlandish sizes of every field, whoever sets them.
TEST(ReadModel, EveryFieldHasARange) {
  const Transformer sound =
      read_model(Reader::text(R"({"layers": 2, "hidden": 64, "heads": 4, "ffn_hidden": 128, "vocab": 100})", "m"));
  const auto refusal = [&](auto edit) -> std::string {
    Transformer m = sound;
    edit(m);
    return meshwright::refusal([&] { check(m, "model"); });
  };
  EXPECT_EQ(refusal([](Transformer&) {}), "accepted");
  for (const int layers : {0, -1, 10001, 2147483647})
    EXPECT_THAT(refusal([&](Transformer& m) { m.layers = layers; }), HasSubstr("layers is"));
  EXPECT_THAT(refusal([](Transformer& m) { m.vocab = 2147483647; }),
              HasSubstr("vocab is 2147483647, expected a whole"));
  EXPECT_THAT(refusal([](Transformer& m) { m.extra_params = -6401; }), HasSubstr("extra_params is -6401"));
  EXPECT_THAT(refusal([](Transformer& m) { m.extra_params = std::numeric_limits<double>::infinity(); }),
              HasSubstr("extra_params is inf"));
  EXPECT_THAT(refusal([](Transformer& m) { m.state_space.inner = -5; }), HasSubstr("state_space/inner is -5"));
  EXPECT_THAT(refusal([](Transformer& m) { m.latent.v_head_dim = 1 << 30; }), HasSubstr("latent/v_head_dim"));
  EXPECT_THAT(refusal([](Transformer& m) { m.mtp_layers = 1 << 30; }), HasSubstr("mtp_layers"));
  EXPECT_THAT(refusal([](Transformer& m) { m.pattern.assign(2, LayerShape{.kv_heads = -1}); }),
              HasSubstr("pattern/kv"));
}

TEST(ReadModel, PatternsAreBounded) {
  EXPECT_THAT(message(R"({"layers": 20000, "hidden": 64, "heads": 4, "vocab": 100,
                          "pattern": [{"layers": 10000}, {"layers": 10000}]})"),
              HasSubstr("more than 10000 layers"));
  std::string kinds;
  for (int i = 1; i <= 300; ++i) kinds += (i == 1 ? "" : ", ") + ("{\"ffn_hidden\": " + std::to_string(i) + "}");
  EXPECT_THAT(message(R"({"layers": 300, "hidden": 64, "heads": 4, "vocab": 100, "pattern": [)" + kinds + "]}"),
              HasSubstr("300 kinds of blocks"));
}

}  // namespace
}  // namespace meshwright::workload
