#pragma once
// Objects of files as rows: one row a member says its key, what it may be and how it is read. Readers and JSON Schemas
// are made of the same rows, so that an editor offers what the reader takes.
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "meshwright/core/reader.hpp"

namespace meshwright {

/// What a value may be: JSON Schema (draft 2020-12) as text.
struct JsonSchema {
  std::string schema;
};

namespace shape {
JsonSchema anything();
JsonSchema text();
JsonSchema truth();
JsonSchema whole(long long least, long long most);
JsonSchema number(double least, double most);
/// A whole number or a text such as "4k" (core/document.hpp).
JsonSchema size(int least, int most);
/// One of the names, exactly.
JsonSchema one_of(std::span<const std::string> names);
JsonSchema one_of(std::span<const std::string_view> names);
/// A text with a unit.
JsonSchema quantity(Dimension dimension);
JsonSchema list(const JsonSchema& of, std::size_t least = 0);
/// An object of any keys.
JsonSchema map(const JsonSchema& values);
/// Any of several.
JsonSchema either(std::initializer_list<JsonSchema> choices);

/// A member of an object, for the schema.
struct Entry {
  std::string_view key, doc;
  const JsonSchema* shape;
  bool needed;
};
JsonSchema object(std::span<const Entry> entries);
/// A whole file of that shape: with a title and "$schema" among its members.
JsonSchema document(const JsonSchema& of, std::string_view title);
}  // namespace shape

/// One member of an object that is read into a T. A row without `read` is the caller's to read.
template <class T>
struct Member {
  std::string_view key, doc;
  JsonSchema shape;
  std::function<void(const Reader& value, T& into)> read{};
  bool needed = false;                           ///< in every object
  std::function<bool(const T& read)> lacking{};  ///< there has to be one, here or in what is read over; true: none
  std::string_view expected{};                   ///< of a member that has to be there
};
template <class T>
using Members = std::vector<Member<T>>;

/// The row of a member that must be there.
template <class T>
Member<T> needed(Member<T> row) {
  row.needed = true;
  return row;
}

/// The row of a member that an entry has to have: a text that says something, a number above zero.
template <auto Field, class T>
Member<T> stated(Member<T> row) {
  constexpr bool is_text = requires(const T& read) { (read.*Field).empty(); };
  row.expected = is_text ? "a name" : "more than zero";
  row.lacking = [](const T& read) {
    if constexpr (is_text)
      return (read.*Field).empty();
    else if constexpr (requires { (read.*Field).value(); })
      return !((read.*Field).value() > 0);
    else
      return !(read.*Field > 0);
  };
  return row;
}

template <class T>
std::vector<std::string_view> keys_of(const Members<T>& rows) {
  std::vector<std::string_view> keys;
  for (const Member<T>& row : rows) keys.push_back(row.key);
  return keys;
}

/// Reads what `object` states, in the order of the rows; refuses other keys, needed ones that are missing, and an entry
/// that lacks what it has to have.
template <class T>
void read_members(const Reader& object, const Members<T>& rows, T& into) {
  object.allow_only(keys_of(rows));
  for (const Member<T>& row : rows) {
    if (row.needed) object.at(row.key);
    if (!row.read) continue;
    if (const auto value = object.find(row.key)) row.read(*value, into);
  }
  for (const Member<T>& row : rows) {
    if (!row.lacking || !row.lacking(into)) continue;
    const Reader value = object.at(row.key);
    value.fail("expected " + std::string(row.expected) + ", found " + value.dump());
  }
}

template <class T>
JsonSchema shape_of(const Members<T>& rows) {
  std::vector<shape::Entry> entries;
  for (const Member<T>& row : rows) entries.push_back({row.key, row.doc, &row.shape, row.needed});
  return shape::object(entries);
}

namespace detail {
template <class T, class V>
T owner_of(V T::*);
template <class T, class V>
V value_of(V T::*);
template <class V>
struct Bare {
  using type = V;
};
template <class V>
struct Bare<std::optional<V>> {
  using type = V;
};
}  // namespace detail
template <auto Field>
using OwnerOf = decltype(detail::owner_of(Field));
/// The type of a field, without `optional`.
template <auto Field>
using ValueOf = typename detail::Bare<decltype(detail::value_of(Field))>::type;

// Rows of fields, by what they hold; fields may be optional.
template <auto Field>
Member<OwnerOf<Field>> text_member(std::string_view key, std::string_view doc) {
  return {key, doc, shape::text(), [](const Reader& r, auto& into) { into.*Field = r.string(); }};
}
template <auto Field>
Member<OwnerOf<Field>> texts_member(std::string_view key, std::string_view doc) {
  return {key, doc, shape::list(shape::text()), [](const Reader& r, auto& into) {
            std::vector<std::string> texts;
            for (const Reader& item : r.items()) texts.push_back(item.string());
            into.*Field = std::move(texts);
          }};
}
template <auto Field>
Member<OwnerOf<Field>> switch_member(std::string_view key, std::string_view doc) {
  return {key, doc, shape::truth(), [](const Reader& r, auto& into) { into.*Field = r.boolean(); }};
}
template <auto Field>
Member<OwnerOf<Field>> whole_member(std::string_view key, int least, int most, std::string_view doc) {
  return {key, doc, shape::whole(least, most),
          [least, most](const Reader& r, auto& into) { into.*Field = r.integer(least, most); }};
}
template <auto Field>
Member<OwnerOf<Field>> number_member(std::string_view key, std::string_view doc) {
  return {key, doc, shape::number(-1e300, 1e300), [](const Reader& r, auto& into) { into.*Field = r.number(); }};
}
/// One of `names`: the name itself, or the enumerator of its place.
template <auto Field>
Member<OwnerOf<Field>> choice_member(std::string_view key, std::vector<std::string> names, std::string_view doc) {
  JsonSchema shape = shape::one_of(names);
  return {key, doc, std::move(shape), [names = std::move(names)](const Reader& r, auto& into) {
            if constexpr (std::is_enum_v<ValueOf<Field>>)
              into.*Field = static_cast<ValueOf<Field>>(r.one_of(names));
            else
              into.*Field = names[r.one_of(names)];
          }};
}
template <auto Field>
Member<OwnerOf<Field>> quantity_member(std::string_view key, std::string_view doc) {
  constexpr Dimension dimension = ValueOf<Field>::dimension;
  return {key, doc, shape::quantity(dimension),
          [](const Reader& r, auto& into) { into.*Field = r.quantity<ValueOf<Field>::dimension>(); }};
}

}  // namespace meshwright
