#include "meshwright/parallel/framework.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include "core/refusal.hpp"
#include "source_dir.hpp"

namespace meshwright::parallel {
namespace {

using testing::HasSubstr;

TEST(Framework, HasARecipeOnlyOfFormatsThatItTrainsIn) {
  for (const Framework& f : frameworks()) {
    for (const PrecisionRecipe& row : f.by_precision) {
      EXPECT_TRUE(trains_with(f, precision(row.precision, "test"))) << f.name << " " << row.precision;
    }
  }
}

TEST(Framework, AFormatWithoutARecipeIsThatOfAnyRecipe) {
  const auto trains = [](const char* stack, const char* format) {
    return trains_with(framework(stack, "test"), precision(format, "test"));
  };
  EXPECT_TRUE(trains("megatron-core", "fp8"));
  EXPECT_FALSE(trains("megatron-core", "int8"));
  EXPECT_FALSE(trains("torchtitan", "fp8-block"));
  EXPECT_FALSE(trains("nanotron", "fp8"));
}

TEST(Framework, EveryProfileIsPlausible) {
  ASSERT_GE(frameworks().size(), 12U);
  for (const Framework& f : frameworks()) {
    EXPECT_FALSE(f.title.empty()) << f.name;
    // llm.q is a program of its own, whose arguments no dialect writes.
    EXPECT_FALSE(f.flags.empty() && f.name != "generic" && f.name != "llm-q") << f.name;
    const StateBytes states = state_bytes(f.recipe.states, DType::bf16);
    EXPECT_GE(states.weights + states.gradients + states.optimizer, 8) << f.name << ": all in bf16";
    EXPECT_LE(states.weights + states.gradients + states.optimizer, 20) << f.name;
    EXPECT_GE(f.memory.fragmentation, 1) << f.name;
    EXPECT_GT(f.memory.usable, 0.8) << f.name;
    EXPECT_LE(f.memory.usable, 1) << f.name;
    EXPECT_TRUE(runs(f, PipelineSchedule::one_f_one_b)) << f.name;
  }
}

TEST(Framework, NoNameStandsForTwoProfiles) {
  std::set<std::string> names;
  for (const Framework& f : frameworks()) {
    EXPECT_TRUE(names.insert(f.name).second) << f.name;
    for (const std::string& alias : f.aliases) EXPECT_TRUE(names.insert(alias).second) << alias;
  }
}

TEST(Framework, FoundByNameAliasAndSpelling) {
  EXPECT_EQ(framework("megatron-core", "t").name, "megatron-core");
  EXPECT_EQ(framework("Megatron-LM", "t").name, "megatron-core");
  EXPECT_EQ(framework("NeMo", "t").name, "megatron-core");
  EXPECT_EQ(framework("MaxText", "t").name, "maxtext");
  for (const char* in_records : {"deepspeed",
                                 "fms-fsdp",
                                 "gpt-neox",
                                 "jax-pax",
                                 "llm-foundry",
                                 "maxtext",
                                 "megascale",
                                 "megatron-bridge",
                                 "megatron-deepspeed",
                                 "megatron-lm",
                                 "nanotron",
                                 "nemo",
                                 "nemo-automodel",
                                 "neuronx",
                                 "other",
                                 "primus",
                                 "torchtitan",
                                 "hai-llm",
                                 "optimum-habana",
                                 "meta",
                                 "llm.q",
                                 "transformers"}) {
    EXPECT_NO_THROW(framework(in_records, "t")) << in_records;
  }
}

TEST(Framework, UnknownNamesGetTheNearest) {
  try {
    framework("megatron-cor", "--framework");
    FAIL();
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), HasSubstr("--framework"));
    EXPECT_THAT(e.what(), HasSubstr("'megatron-core'"));
  }
}

TEST(Framework, FilesSayWhereTheirFiguresComeFrom) {
  for (const auto& entry : std::filesystem::directory_iterator(source_dir() / "data/frameworks")) {
    const Reader file = Reader::file(entry.path());
    EXPECT_FALSE(file.at("description").string().empty());
    ASSERT_FALSE(file.at("sources").items().empty()) << entry.path();
    for (const Reader& source : file.at("sources").items()) {
      EXPECT_THAT(source.at("url").string(), HasSubstr("https://"));
      EXPECT_TRUE(source.at("read").is_boolean());
    }
  }
}

TEST(Framework, UnknownKeysAndPartsAreRefusedWithTheNearest) {
  const auto refusal = [](const char* text) -> std::string {
    return meshwright::refusal([&] { read_framework(Reader::text(text, "x.json")); });
  };
  EXPECT_THAT(refusal(R"({"name": "x", "title": "X", "memroy": {}})"), HasSubstr("'memory'"));
  EXPECT_THAT(refusal(R"({"name": "x", "title": "X", "memory": {"fragmentations": 4}})"),
              AllOf(HasSubstr("x.json:/memory"), HasSubstr("'fragmentation'")));
  EXPECT_THAT(refusal(R"({"name": "x", "title": "X", "rules": {"axes": ["pq"]}})"), HasSubstr("/rules/axes/0"));
  EXPECT_THAT(
      refusal(
          R"({"name": "x", "title": "X", "releases": [{"version": "1", "date": "2020", "host": {"kernel": "1 us"}}]})"),
      HasSubstr("/releases/0/host"));
}

constexpr const char* toy = R"({"name": "toy", "title": "Toy", "aliases": ["toyota"],
  "memory": {"usable": 0.5}, "launch": {"kernel": "9 us"},
  "releases": [{"version": "1.0", "date": "2024-01", "aliases": ["core 0.4"], "launch": {"kernel": "7 us"}},
               {"version": "2.0", "date": "2025-06", "memory": {"usable": 0.7}, "recipe": {"loss": {"copies": 2}}}]})";

/// The built-in catalogue with an overlay that says something of stacks.
Catalog with(std::initializer_list<const char*> entries) {
  CatalogData data = *builtin_catalog().data();
  for (const char* entry : entries) data.frameworks.push_back(Reader::text(entry, "mine.json"));
  return Catalog(std::move(data));
}

TEST(Framework, AnOverlayAddsAStackWithReleases) {
  const Catalog catalog = with({toy});
  const Framework newest = framework("Toyota", "t", catalog);
  EXPECT_EQ(newest.version, "2.0");
  EXPECT_EQ(newest.memory.usable, 0.7);
  EXPECT_DOUBLE_EQ(newest.launch.kernel.value(), 7e-6) << "inherited from the release before";
  ReleaseChoice choice;
  const Framework old = framework("toy", "t", catalog, "toy core v0.4.1", "", &choice);
  EXPECT_EQ(old.version, "1.0");
  EXPECT_EQ(old.memory.usable, 0.5);
  EXPECT_EQ(choice.found, ReleaseFound::named);
  EXPECT_EQ(newest.releases.size(), 2U);
}

TEST(Framework, AnOverlayAddsAReleaseAndChangesOne) {
  const Catalog catalog = with({toy, R"({"name": "toy", "kernels": {"gemm_efficiency": 0.5}, "releases": [
      {"version": "1.5", "date": "2024-09", "host": {"step": "1 ms"}},
      {"version": "1.0", "launch": {"kernel": "3 us"}}]})"});
  const Framework between = framework("toy", "t", catalog, "1.5");
  EXPECT_DOUBLE_EQ(between.host.step.value(), 1e-3);
  EXPECT_DOUBLE_EQ(between.launch.kernel.value(), 3e-6) << "the changed release before it";
  EXPECT_EQ(between.memory.usable, 0.5) << "the next release does not reach back";
  EXPECT_EQ(framework("toy", "t", catalog, "2.0").kernels.gemm_efficiency, 0.5);
  EXPECT_EQ(framework("toy", "t", catalog, "", "2024-10-05").version, "1.5");
}

}  // namespace
}  // namespace meshwright::parallel
