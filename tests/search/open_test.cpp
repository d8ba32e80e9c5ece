#include "meshwright/search/open.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/refusal.hpp"
#include "meshwright/parallel/job_recipe.hpp"
#include "search/jobs.hpp"

namespace meshwright::search {
namespace {

using testing::HasSubstr;

SearchOptions quick(const char* fixed) {
  SearchOptions options{.top = 1, .threads = 1};
  fix(options.space.filter, fixed, "test");
  return options;
}

const Variant& variant(const std::vector<Variant>& all, const std::string& words) {
  const auto found = std::ranges::find(all, words, &Variant::words);
  if (found == all.end()) throw Error("test", "no variant " + words);
  return *found;
}

TEST(Open, NamesAreKnown) {
  const Job job = test_job("llama-3.2-1b", "dgx-h100", 1, 4096, 32);
  EXPECT_THAT(refusal([&] { search_open(job, quick("tp=1"), {"recompute_module"}, "--open"); }),
              HasSubstr("recompute_modules"));
}

// Of a dense model: the attention core, the MLP, norms.
TEST(Open, RecomputeModulesAreThoseOfStackAndModel) {
  const Job job = test_job("llama-3.1-8b", "dgx-h100", 1, 4096, 64);
  const auto variants = search_open(job, quick("tp=1,cp=1,pp=1"), {"recompute_modules"}, "--open");
  ASSERT_EQ(variants.size(), 7U);
  const Variant& own = variant(variants, "modules core_attn");
  EXPECT_FALSE(own.space.filter.fixed(Axis::recompute));
  ASSERT_FALSE(variants.front().result.best.empty());
  ASSERT_FALSE(own.result.best.empty());
  EXPECT_LE(variants.front().result.best.front().value, own.result.best.front().value);
  const Variant& most = variant(variants, "modules core_attn + mlp + layernorm");
  EXPECT_EQ(most.job.recipe.activations.recompute_modules.bits, 0b010101U);
  const Variant& norms = variant(variants, "modules layernorm");
  for (const Variant* other : {&most, &norms}) {
    ASSERT_FALSE(other->result.best.empty());
    EXPECT_EQ(other->result.best.front().prediction.layout.recompute, Recompute::selective);
  }
  EXPECT_LT(norms.result.best.front().prediction.time.recompute, most.result.best.front().prediction.time.recompute);
}

TEST(Open, RecomputeModulesStayWhereTheyCannotBeChosen) {
  const auto count = [](const char* stack, const char* fixed) {
    const Job job = test_job("llama-3.2-1b", "dgx-h100", 1, 4096, 32, stack);
    return search_open(job, quick(fixed), {"recompute_modules"}, "--open").size();
  };
  EXPECT_EQ(count("torchtitan", "tp=1,cp=1,pp=1"), 1U) << "its selective recompute is of single operators";
  EXPECT_EQ(count("megatron-core", "tp=1,cp=1,pp=1,recompute=none"), 1U);
  EXPECT_EQ(count("megatron-core", "tp=1,cp=1,pp=1,recompute=selective"), 7U);
}

TEST(Open, ModulesOfMixtures) {
  const Job job = test_job("moonlight-16b-a3b", "dgx-h100", 1, 4096, 32);
  for (std::size_t i = 0; i < recompute_module_names.size(); ++i)
    EXPECT_TRUE(has_module(job.model, static_cast<RecomputeModule>(i))) << recompute_module_names[i];
  const Job all_experts = test_job("mixtral-8x7b", "dgx-h100", 1, 4096, 32);
  for (const RecomputeModule none :
       {RecomputeModule::mla_up_proj, RecomputeModule::mlp, RecomputeModule::shared_experts})
    EXPECT_FALSE(has_module(all_experts.model, none)) << recompute_module_names[static_cast<std::size_t>(none)];
}

}  // namespace
}  // namespace meshwright::search
