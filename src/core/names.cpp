#include "meshwright/core/names.hpp"

namespace meshwright {

std::string folded_name(std::string_view name) {
  std::string key;
  for (const char c : name) {
    if (c >= 'A' && c <= 'Z') key += static_cast<char>(c - 'A' + 'a');
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '+') key += c;
  }
  return key;
}

}  // namespace meshwright
