#pragma once
// Choices out of closed lists of names, and structs that list their fields (`describe`), as profiles and recipes do.
#include <concepts>
#include <cstdint>
#include <type_traits>

namespace meshwright::parallel {

/// A set of names of a fixed list: bit i stands for names[i]. Read from a list of the names.
template <const auto& Names>
struct NameSet {
  std::uint32_t bits = 0;
  template <class Index>
  constexpr bool has(Index i) const noexcept {
    return (bits >> static_cast<unsigned>(i) & 1U) != 0;
  }
  friend constexpr bool operator==(const NameSet&, const NameSet&) = default;
};

/// `Part`, const or not: the parameter of a `describe` that both reads and writes.
template <class T, class Part>
concept PartOf = std::same_as<std::remove_const_t<T>, Part>;

/// An enumeration whose names a function `choice_names(E)` gives, in the order of its values.
template <class E>
concept Choice = std::is_enum_v<E> && requires(E e) {
  choice_names(e);
};

}  // namespace meshwright::parallel
