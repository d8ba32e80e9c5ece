#pragma once
// Reads JSON and remembers where each value stands, so that every refusal names file, place, found and expected.
#include <filesystem>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "meshwright/core/error.hpp"
#include "meshwright/core/units.hpp"

namespace meshwright {

/// A place in a parsed JSON document. Cheap to copy (shares the document). All getters throw Error("file:/pointer",
/// ...) that says what was found, what was expected and the nearest valid spelling.
class Reader {
 public:
  /// Parses a file (plain, or gzip where the name ends in .gz). Missing, unreadable or truncated files are Errors.
  static Reader file(const std::filesystem::path& path);
  /// Parses text; `name` stands for the file in messages.
  static Reader text(std::string_view json, std::string name);
  /// One Reader a line (JSON Lines), each named "path:LINE". Blank lines are passed over.
  static std::vector<Reader> lines(const std::filesystem::path& path);

  /// "file:/pointer" of this value.
  std::string where() const;
  /// Throws Error(where(), message).
  [[noreturn]] void fail(const std::string& message) const;

  bool is_null() const;
  bool is_object() const;
  bool is_array() const;
  bool is_string() const;
  bool is_number() const;
  bool is_boolean() const;

  /// True where this is an object that has `key` with a value other than null.
  bool has(std::string_view key) const;
  /// The member `key`; an Error where it is missing or null.
  Reader at(std::string_view key) const;
  /// The member `key`, or nothing where it is missing or null.
  std::optional<Reader> find(std::string_view key) const;
  /// Members in document order.
  std::vector<std::string> keys() const;
  /// Elements of an array.
  std::vector<Reader> items() const;
  /// Refuses members that are not in `known`, with the nearest known key.
  void allow_only(std::span<const std::string_view> known) const;
  void allow_only(std::initializer_list<std::string_view> known) const {
    allow_only(std::span<const std::string_view>(known.begin(), known.size()));
  }

  std::string string() const;
  double number() const;  ///< finite; a string, an infinity or 10^400 is refused
  bool boolean() const;
  /// A whole number within [least, most].
  int integer(int least = 0, int most = 2147483647) const;
  long long integer64(long long least = 0, long long most = 9007199254740992LL) const;
  /// A string with a unit, e.g. "400 Gb/s"; a bare number is refused with the units that it takes.
  template <Dimension D>
  Quantity<D> quantity() const {
    if (!is_string()) refuse_bare_quantity(D);
    return parse_quantity<D>(string(), where());
  }
  /// One of `names`, spelled exactly; an UnknownName with the nearest spelling otherwise. Returns its index.
  std::size_t one_of(std::span<const std::string> names) const;

  /// Shorthands for optional members.
  std::string string_or(std::string_view key, std::string fallback) const;
  double number_or(std::string_view key, double fallback) const;
  int integer_or(std::string_view key, int fallback, int least = 0, int most = 2147483647) const;
  bool boolean_or(std::string_view key, bool fallback) const;
  template <Dimension D>
  Quantity<D> quantity_or(std::string_view key, Quantity<D> fallback) const {
    const auto member = find(key);
    return member ? member->quantity<D>() : fallback;
  }

  /// The value as compact JSON text.
  std::string dump() const;

  struct Impl;

 private:
  explicit Reader(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  [[noreturn]] void refuse_bare_quantity(Dimension dimension) const;
  std::shared_ptr<const Impl> impl_;
};

/// The whole content of a file, decompressed where its name ends in .gz. Throws Error(path, ...).
std::string read_file(const std::filesystem::path& path);
/// Writes a file in one step (a temporary beside it, then a rename), so that nothing is half-written.
void write_file(const std::filesystem::path& path, std::string_view content);

}  // namespace meshwright
