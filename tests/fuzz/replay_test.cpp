// Every seed, and a few hundred mutations of it, through every reader: nothing but answers and refusals.
#include <gtest/gtest.h>

#include "fuzz/mutate.hpp"
#include "fuzz/targets.hpp"
#include "source_dir.hpp"

namespace meshwright::fuzz {
namespace {

class Replay : public testing::TestWithParam<Target> {};

TEST_P(Replay, ReadsOrRefuses) {
  const std::vector<std::string> seeds = read_seeds(source_dir() / "tests/fuzz/corpus" / GetParam().name);
  ASSERT_FALSE(seeds.empty());
  for (const std::string& seed : seeds)
    EXPECT_TRUE(GetParam().run(seed)) << "a seed is refused: " << seed.substr(0, 80);
  Mutator mutator(seeds, 20261201);
  for (int i = 0; i < 300; ++i) GetParam().run(mutator.next());
}

std::string named(const testing::TestParamInfo<Target>& info) {
  std::string name(info.param.name);
  std::erase(name, '-');
  return name;
}
INSTANTIATE_TEST_SUITE_P(Targets, Replay, testing::ValuesIn(targets().begin(), targets().end()), named);

}  // namespace
}  // namespace meshwright::fuzz
