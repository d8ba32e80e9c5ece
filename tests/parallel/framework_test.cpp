#include "meshwright/parallel/framework.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <set>

namespace meshwright::parallel {
namespace {

using testing::HasSubstr;

TEST(Framework, EveryProfileIsPlausible) {
  ASSERT_GE(frameworks().size(), 12U);
  for (const Framework& f : frameworks()) {
    EXPECT_FALSE(f.title.empty()) << f.name;
    EXPECT_FALSE(f.flags.empty() && f.name != "generic") << f.name;
    EXPECT_GE(f.parameter_bytes + f.gradient_bytes + f.optimizer_bytes, 12) << f.name;
    EXPECT_LE(f.parameter_bytes + f.gradient_bytes + f.optimizer_bytes, 20) << f.name;
    EXPECT_GE(f.fragmentation, 1) << f.name;
    EXPECT_GT(f.usable_memory, 0.8) << f.name;
    EXPECT_LE(f.usable_memory, 1) << f.name;
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
  for (const char* in_records :
       {"deepspeed", "fms-fsdp", "gpt-neox", "jax-pax", "llm-foundry", "maxtext", "megascale", "megatron-bridge",
        "megatron-deepspeed", "megatron-lm", "nanotron", "nemo", "nemo-automodel", "neuronx", "other", "primus",
        "torchtitan", "hai-llm", "optimum-habana"}) {
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
  for (const auto& entry : std::filesystem::directory_iterator(MESHWRIGHT_SOURCE_DIR "/data/frameworks")) {
    const Reader file = Reader::file(entry.path());
    EXPECT_FALSE(file.at("description").string().empty());
    ASSERT_FALSE(file.at("sources").items().empty()) << entry.path();
    for (const Reader& source : file.at("sources").items()) {
      EXPECT_THAT(source.at("url").string(), HasSubstr("https://"));
      EXPECT_TRUE(source.at("read").is_boolean());
    }
  }
}

TEST(Framework, UnknownKeysAreRefused) {
  EXPECT_THROW(read_framework(Reader::text(R"({"name": "x", "title": "X", "gradient_byte": 4})", "x.json")), Error);
}

}  // namespace
}  // namespace meshwright::parallel
