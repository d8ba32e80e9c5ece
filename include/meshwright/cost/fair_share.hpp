#pragma once
// Max-min fair sharing: what every flow gets when links are shared as fairly as their capacities allow.
#include <cstdint>
#include <span>
#include <vector>

namespace meshwright::cost {

/// A flow uses `share` units of a resource for each unit of its own rate: 1 for a link that carries all of it, 1/8
/// where it is sprayed over eight links.
struct ResourceUse {
  std::uint32_t resource = 0;
  double share = 1;
};

/// Plain spans; nothing is copied. Flow f uses uses[first[f]] to uses[first[f + 1] - 1]; `first` has one entry more
/// than there are flows.
struct FairShareProblem {
  std::span<const double> capacity;      ///< of each resource
  std::span<const std::uint32_t> first;  ///< flows + 1 entries
  std::span<const ResourceUse> uses;
  std::span<const double> weight;  ///< of each flow; empty = all 1
  std::span<const double> bound;   ///< largest rate of each flow; empty = none
};

/// Rate of each flow under weighted max-min fairness: rate = weight * level, where the level of a flow rises until one
/// of its resources is full or its bound is reached. Progressive filling (Bertsekas, Gallager, Data Networks, 2nd ed.
/// 1992, section 6.5.2): O(uses * log resources). Flows that use nothing get their bound, or infinity.
/// Same input, same output bit for bit. Checked by hand-solved cases and by the definition (each flow has a full
/// resource on which no other flow is at a higher level).
std::vector<double> fair_share(const FairShareProblem& problem);

}  // namespace meshwright::cost
