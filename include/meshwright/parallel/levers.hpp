#pragma once
// What would make a layout fit that lacks memory, cheapest in time first.
#include <string>
#include <vector>

#include "meshwright/parallel/prediction.hpp"

namespace meshwright::parallel {

/// A layout near to one that lacks memory, which has enough.
struct Lever {
  std::string change;  ///< "micro_batch 2 instead of 8, recompute selective instead of none"
  Prediction prediction;
};

/// Of the nearest layouts that nothing refuses (nearest_layouts(), few changes and small ones) and that are more likely
/// to fit than not, at most `count`: the shortest predicted step first, and none that takes longer and more memory than
/// another.
std::vector<Lever> memory_levers(const Job& job, const Layout& layout, std::size_t count);

}  // namespace meshwright::parallel
