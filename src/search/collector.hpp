#pragma once
// The best candidates seen so far, in an order that no thread schedule can change.
#include <array>
#include <map>
#include <vector>

#include "meshwright/parallel/layout.hpp"
#include "meshwright/search/search.hpp"

namespace meshwright::search {

struct Candidate {
  Seconds time;
  Bytes memory;
  Layout layout;
};
/// A total order: time, then memory, then the smaller degrees and plainer choices.
bool before(const Candidate& a, const Candidate& b);

/// Keeps the best `top` candidates, or with distinct degrees the best of each set of them. What it ends with depends on
/// the set of candidates offered, not on their order.
class Collector {
 public:
  explicit Collector(const SearchOptions& options) : options_(options) {}
  void offer(const Candidate& candidate);
  void merge(const Collector& other);
  /// The best `top`, best first.
  std::vector<Candidate> best() const;

 private:
  using Degrees = std::array<int, 6>;
  static Degrees degrees(const Layout& l) { return {l.tp, l.cp, l.pp, l.dp, l.ep, l.etp}; }
  void offer_variant(const Candidate& candidate);

  SearchOptions options_;
  std::map<Degrees, Candidate> by_degrees_;
  Degrees last_{};  // most offers in a row share their degrees
  Candidate* last_entry_ = nullptr;
  std::vector<Candidate> heap_;  // worst on top
};

}  // namespace meshwright::search
