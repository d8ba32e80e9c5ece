#pragma once
// The one exception of the library, and the nearest-spelling helper that its messages use.
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

#include "meshwright/core/namespaces.hpp"

namespace meshwright {

/// Bad input: thrown by readers and constructors only, never by evaluation.
/// `where` is a file with a JSON pointer ("job.json:/layout/tp"), a flag ("--seq-len") or an argument;
/// `what_happened` says what was found and what was expected. `what()` is "where: what_happened" on one line.
class Error : public std::runtime_error {
 public:
  Error(std::string where, std::string what_happened);
  const std::string& where() const noexcept { return where_; }
  const std::string& what_happened() const noexcept { return what_happened_; }

 private:
  std::string where_, what_happened_;
};

/// The entry of `valid` with the least edit distance to `found` (ignoring case, '-', '_' and spaces), or "" where
/// nothing is close enough to be meant.
std::string nearest(std::string_view found, std::span<const std::string> valid);

/// " (did you mean 'x'?)" for the nearest entry of `valid`, or "; expected one of a, b, c" where none is close.
std::string suggestion(std::string_view found, std::span<const std::string> valid);

/// A failed limit of a layout, as a value: a layout that cannot run is an answer, not an error.
struct Violation {
  std::string rule;       ///< what refuses it: "device memory", "heads % tp (megatron-core)"
  std::string needed;     ///< "91.2 GB"
  std::string available;  ///< "80.0 GB"
  /// "device memory: needs 91.2 GB, has 80.0 GB"
  std::string text() const;
};

}  // namespace meshwright
