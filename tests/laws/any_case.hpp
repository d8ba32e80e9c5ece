#pragma once
// Random jobs and layouts of every kind that can be described: machines, models, stacks and formats of the catalogue,
// and models of sizes that nobody has built.
#include <random>
#include <string>
#include <vector>

#include "meshwright/parallel/job.hpp"

namespace meshwright::tests {

struct AnyCase {
  Job job;
  Layout layout;
};

/// Seeded; equal seeds draw the same everywhere, for the standard's generators are the same and its distributions not.
class Chance {
 public:
  explicit Chance(unsigned seed) : generator_(seed) {}
  /// A whole number from `least` to `most`.
  int within(int least, int most) {
    return least + static_cast<int>(generator_() % static_cast<unsigned>(most - least + 1));
  }
  bool one_in(int count) { return within(1, count) == 1; }
  template <class T>
  const T& of(const std::vector<T>& values) {
    return values[static_cast<std::size_t>(within(0, static_cast<int>(values.size()) - 1))];
  }

 private:
  std::mt19937 generator_;
};

/// A case that every rule but device memory accepts.
AnyCase any_case(Chance& chance);
/// The job of such a case, drawn alike.
std::string told(const AnyCase& c);
/// `usual` cases in every run, and as many as MESHWRIGHT_LAWS says where it does.
std::size_t many(std::size_t usual);

}  // namespace meshwright::tests
