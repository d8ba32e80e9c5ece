#pragma once
// Names as people spell them: what two spellings have in common, the entry that a name stands for, and the refusal of a
// name that stands for nothing.
#include <algorithm>
#include <span>
#include <string>
#include <string_view>

#include "meshwright/core/error.hpp"

namespace meshwright {

/// A name that stands for nothing the library knows (a device, stack, format, collective, ...). Who reads many records
/// catches it to leave that one out.
class UnknownName : public Error {
 public:
  using Error::Error;
};

/// Letters, digits and '+' of a name in lower case: what two spellings of one name have in common ("DGX_H100",
/// "dgx-h100").
std::string folded_name(std::string_view name);

/// The entry whose `name` is `name`, else the first that has it among its `aliases`, whatever their spelling; null
/// where there is none.
template <class Range>
auto find_named(const Range& entries, std::string_view name) -> decltype(&*entries.begin()) {
  const std::string key = folded_name(name);
  for (const auto& entry : entries) {
    if (folded_name(entry.name) == key) return &entry;
  }
  const auto is_it = [&](const auto& alias) { return folded_name(alias) == key; };
  for (const auto& entry : entries) {
    if (std::ranges::any_of(entry.aliases, is_it)) return &entry;
  }
  return nullptr;
}

}  // namespace meshwright
