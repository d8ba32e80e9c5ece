#pragma once
// Whole numbers as people read them.
#include <string>

namespace meshwright {

/// "12,345".
inline std::string with_commas(long long value) {
  std::string digits = std::to_string(value);
  for (int at = static_cast<int>(digits.size()) - 3; at > (value < 0 ? 1 : 0); at -= 3) {
    digits.insert(static_cast<std::size_t>(at), ",");
  }
  return digits;
}

}  // namespace meshwright
