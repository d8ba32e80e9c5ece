#include "meshwright/workload/presets.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace meshwright::workload {
namespace {

TEST(Presets, EveryPresetHasItsPublishedSize) {
  for (const Transformer& model : model_presets()) {
    SCOPED_TRACE(model.name);
    const ParameterCounts counts = parameter_counts(model);
    EXPECT_FALSE(model.source.empty());
    ASSERT_GT(model.published_params, 0);
    // Nine digits are the exact count of a checkpoint; "6.7B" of a paper is rounded.
    const bool exact = std::fmod(model.published_params, 1e6) != 0;
    EXPECT_NEAR(counts.total / model.published_params, 1, exact ? 1e-3 : 0.03) << counts.total;
    if (model.published_active == 0) continue;
    // Some cards leave the input embedding out of what is active.
    const double with = counts.active / model.published_active - 1;
    const double without = (counts.active - counts.embedding) / model.published_active - 1;
    EXPECT_LT(std::min(std::abs(with), std::abs(without)), 0.05) << counts.active;
  }
}

TEST(Presets, NamesAndAliasesAreUnique) {
  std::set<std::string> seen;
  for (const Transformer& model : model_presets()) {
    EXPECT_TRUE(seen.insert(model.name).second) << model.name;
    EXPECT_EQ(load_model(model.name).name, model.name);
    for (const std::string& alias : model.aliases) {
      EXPECT_TRUE(seen.insert(alias).second) << alias;
      EXPECT_EQ(load_model(alias).name, model.name) << alias;
    }
  }
}

TEST(Presets, LookUpForgivesSpelling) {
  for (const char* name : {"llama-3.1-405b", "Llama-3.1-405B", "llama3.1-405b", "meta-llama/Llama-3.1-405B-Instruct",
                           "LLAMA_3.1_405B", "llama 3.1 405b"}) {
    EXPECT_EQ(load_model(name).name, "llama-3.1-405b") << name;
  }
  EXPECT_EQ(load_model("GPT3-175B").name, "gpt3-175b");
  EXPECT_EQ(load_model("deepseek-ai/DeepSeek-R1").name, "deepseek-v3");
}

TEST(Presets, UnknownNamesGetTheNearestSpelling) {
  try {
    load_model("lama-3.1-405b", "--model");
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "--model: unknown model 'lama-3.1-405b' (did you mean 'llama-3.1-405b'?)");
  }
  EXPECT_THROW(load_model("", "--model"), Error);
  EXPECT_THROW(load_model("no/such/file.json"), Error);
}

}  // namespace
}  // namespace meshwright::workload
