#pragma once
// What is fuzzed: one row a reader. A row takes any bytes and returns, whether it reads or refuses them; anything else
// (a crash, an exception that is no Error, an answer that is no number) is a fault.
#include <span>
#include <string_view>

namespace meshwright::fuzz {

struct Target {
  std::string_view name;                ///< also the folder of its seeds in tests/fuzz/corpus
  bool (*run)(std::string_view input);  ///< true where it was read; aborts on a fault
};
std::span<const Target> targets();
/// The target of that name; null where there is none.
const Target* target(std::string_view name);

}  // namespace meshwright::fuzz
