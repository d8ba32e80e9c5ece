#pragma once
// The rows of the algorithm table by family, and the schedules that several rows are made of.
#include <span>

#include "meshwright/collectives/algorithm.hpp"

namespace meshwright::collectives::rows {

std::span<const Algorithm> ring();
std::span<const Algorithm> recursive();
std::span<const Algorithm> tree();
std::span<const Algorithm> in_switch();
std::span<const Algorithm> all_to_all();
std::span<const Algorithm> torus();
std::span<const Algorithm> hierarchical();

/// Ranks r = 0 .. p-1 all sending in one round.
template <class MakeTransfer>
std::vector<Transfer> every_rank(int p, MakeTransfer make) {
  std::vector<Transfer> transfers;
  transfers.reserve(static_cast<std::size_t>(p));
  for (int r = 0; r < p; ++r) transfers.push_back(make(r));
  return transfers;
}

inline Schedule flat_schedule(Collective collective, const Shape& shape, int chunks) {
  return {.collective = collective, .shape = shape, .chunks = chunks};
}
constexpr LevelCoefficients on_first_level(Coefficients c) { return {c, {}, {}}; }

constexpr bool any_flat(const Shape& s) { return s.flat() && s.ranks() >= 2; }
constexpr bool power_of_two(int p) { return p > 0 && (p & (p - 1)) == 0; }
constexpr bool flat_power_of_two(const Shape& s) { return any_flat(s) && power_of_two(s.ranks()); }
constexpr int floor_log2(int p) {
  int bits = 0;
  while ((2 << bits) <= p) ++bits;
  return bits;
}
constexpr int ceil_log2(int p) { return power_of_two(p) ? floor_log2(p) : floor_log2(p) + 1; }
constexpr Ratio most_of(int p) { return {p - 1, p}; }  ///< (p-1)/p

Schedule ring_all_gather(const Shape& shape);
Schedule recursive_doubling_all_gather(const Shape& shape);

}  // namespace meshwright::collectives::rows
