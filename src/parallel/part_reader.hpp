#pragma once
// Reading of structs that list their fields (`describe`): what an object states replaces what is there, anything else
// is refused with the nearest key.
#include <string>
#include <string_view>
#include <vector>

#include "meshwright/core/limits.hpp"
#include "meshwright/core/members.hpp"
#include "meshwright/core/reader.hpp"
#include "meshwright/parallel/choices.hpp"

namespace meshwright::parallel {

/// The strings of the list `key`; none where it is missing.
inline std::vector<std::string> strings(const Reader& reader, std::string_view key) {
  std::vector<std::string> values;
  const auto member = reader.find(key);
  if (!member) return values;
  for (const Reader& item : member->items()) values.push_back(item.string());
  return values;
}

// Shares, factors, bytes a parameter and counts are never negative; the largest are parameters and tokens.
inline constexpr double most_of_number = 1e12;
inline constexpr int most_of_count = largest_count;
inline void read_field(const Reader& value, double& field) {
  field = value.number();
  if (!(field >= 0 && field <= most_of_number))
    value.fail("found " + value.dump() + ", expected a number from 0 to 1e12");
}
inline void read_field(const Reader& value, int& field) { field = value.integer(0, most_of_count); }
inline void read_field(const Reader& value, bool& field) { field = value.boolean(); }
inline void read_field(const Reader& value, std::string& field) { field = value.string(); }
inline void read_field(const Reader& value, std::vector<std::string>& field) {
  field.clear();
  for (const Reader& item : value.items()) field.push_back(item.string());
}
template <Dimension D>
void read_field(const Reader& value, Quantity<D>& field) {
  field = value.quantity<D>();
}
template <const auto& Names>
void read_field(const Reader& value, NameSet<Names>& field) {
  static const std::vector<std::string> valid(Names.begin(), Names.end());
  field.bits = 0;
  for (const Reader& item : value.items()) field.bits |= 1U << item.one_of(valid);
}
template <Choice E>
void read_field(const Reader& value, E& field) {
  static const std::vector<std::string> valid(choice_names(E{}).begin(), choice_names(E{}).end());
  field = static_cast<E>(value.one_of(valid));
}

/// Refuses members of `object` that are neither fields of `part` nor `own`.
template <class Part>
void allow_fields_and(const Reader& object, const Part& part, std::initializer_list<std::string_view> own = {}) {
  std::vector<std::string_view> known(own);
  describe(part, [&](std::string_view key, const auto&) { known.push_back(key); });
  object.allow_only(known);
}

template <class T>
concept Described = requires(T& t) {
  describe(t, [](std::string_view, auto&) {});
};

template <class Part>
void read_fields(const Reader& object, Part& part);
template <Described Part>
void read_field(const Reader& value, Part& part) {
  allow_fields_and(value, part);
  read_fields(value, part);
}
/// The fields of `part` that `object` states; other members are not looked at.
template <class Part>
void read_fields(const Reader& object, Part& part) {
  describe(part, [&](std::string_view key, auto& field) {
    if (const auto value = object.find(key)) read_field(*value, field);
  });
}

// What read_field takes, for each of them.
inline JsonSchema field_shape(double) { return shape::number(0, most_of_number); }
inline JsonSchema field_shape(int) { return shape::whole(0, most_of_count); }
inline JsonSchema field_shape(bool) { return shape::truth(); }
inline JsonSchema field_shape(const std::string&) { return shape::text(); }
inline JsonSchema field_shape(const std::vector<std::string>&) { return shape::list(shape::text()); }
template <Dimension D>
JsonSchema field_shape(const Quantity<D>&) {
  return shape::quantity(D);
}
template <const auto& Names>
JsonSchema field_shape(const NameSet<Names>&) {
  return shape::list(shape::one_of(std::span<const std::string_view>(Names)));
}
template <Choice E>
JsonSchema field_shape(E) {
  return shape::one_of(std::span<const std::string_view>(choice_names(E{})));
}
template <class Part>
Members<Part> part_members(const Part& part);
template <Described Part>
JsonSchema field_shape(const Part& part) {
  return shape_of(part_members(part));
}
/// Rows of a part's fields, for its schema.
template <class Part>
Members<Part> part_members(const Part& part) {
  Members<Part> rows;
  describe(part, [&](std::string_view key, const auto& field) { rows.push_back({key, "", field_shape(field)}); });
  return rows;
}

}  // namespace meshwright::parallel
