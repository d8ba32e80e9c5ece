// Clang's libFuzzer on one target: the name stands in MESHWRIGHT_FUZZ_TARGET.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "fuzz/targets.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const meshwright::fuzz::Target* const chosen = [] {
    const char* name = std::getenv("MESHWRIGHT_FUZZ_TARGET");
    return meshwright::fuzz::target(name == nullptr ? "json" : name);
  }();
  if (chosen == nullptr) std::abort();
  chosen->run({reinterpret_cast<const char*>(data), size});
  return 0;
}
