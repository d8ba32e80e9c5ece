#pragma once
// The best candidates seen so far, in an order that no thread schedule can change.
#include <array>
#include <limits>
#include <map>
#include <span>
#include <vector>

#include "meshwright/parallel/layout.hpp"
#include "meshwright/search/search.hpp"

namespace meshwright::search {

/// A value without its last bits: sums of the same terms in another order are equal.
double rounded(double value) noexcept;

struct Candidate {
  double value = 0;  ///< of the objective, rounded
  Seconds time;      ///< rounded
  Bytes memory;
  Layout layout;
};
Candidate candidate(double value, Seconds time, Bytes memory, const Layout& layout);
/// A total order: value, time, less recompute, memory, then the smaller degrees and plainer choices.
bool before(const Candidate& a, const Candidate& b);

/// Keeps the best `top` candidates, or with distinct degrees the best of each set of them. What it ends with depends on
/// the set of candidates offered, not on their order.
class Collector {
 public:
  Collector(int top, bool variants) : top_(static_cast<std::size_t>(top)), variants_(variants) {}
  void offer(const Candidate& candidate);
  void merge(const Collector& other);
  void clear();
  /// A candidate of a larger value cannot be among the best `top`; infinite while there are fewer.
  double threshold() const { return threshold_; }
  /// The best `top`, best first.
  std::vector<Candidate> best() const;

 private:
  using Degrees = std::array<int, 6>;
  static Degrees degrees(const Layout& l) { return {l.tp, l.cp, l.pp, l.dp, l.ep, l.etp}; }
  void offer_variant(const Candidate& candidate);
  void tighten();

  std::size_t top_;
  bool variants_;
  double threshold_ = std::numeric_limits<double>::infinity();
  std::map<Degrees, Candidate> by_degrees_;
  Degrees last_{};  // most offers in a row share their degrees
  Candidate* last_entry_ = nullptr;
  std::vector<Candidate> heap_;  // worst on top
};

/// The candidates that none beats in all objectives. Of equal ones the first in the order of before().
class Front {
 public:
  struct Point {
    std::vector<double> values;  // rounded
    Candidate candidate;
  };
  void offer(std::span<const double> values, const Candidate& candidate);
  void merge(const Front& other);
  /// By the first objective, then the next.
  std::vector<Point> points() const;

 private:
  std::vector<Point> points_;
};

}  // namespace meshwright::search
