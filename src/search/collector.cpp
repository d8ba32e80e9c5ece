#include "search/collector.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <tuple>
#include <utility>

namespace meshwright::search {
namespace {

auto choices(const Layout& l) {
  return std::tuple(l.pp, l.tp, l.cp, l.ep, l.etp, l.vp, l.zero_stage, l.micro_batch, l.schedule, l.hsdp_shard,
                    l.tp_comm_overlap, l.ep_comm_overlap, l.stage_split);
}

/// None, selective, and full by the layers that it does again.
std::pair<Recompute, int> recomputed(const Layout& l) {
  return {l.recompute, l.recompute_layers > 0 ? l.recompute_layers : std::numeric_limits<int>::max()};
}

}  // namespace

double rounded(double value) noexcept {
  // To 37 bits, a part in 10^11: half of what is cut off is added, and what is left of it cut off.
  constexpr std::uint64_t cut = (1U << 16) - 1;
  if (!(value < std::numeric_limits<double>::infinity()) || value <= 0) return value;
  return std::bit_cast<double>((std::bit_cast<std::uint64_t>(value) + cut / 2 + 1) & ~cut);
}

Candidate candidate(double value, Seconds time, Bytes memory, const Layout& layout) {
  return {rounded(value), Seconds::base(rounded(time.value())), memory, layout};
}

bool before(const Candidate& a, const Candidate& b) {
  if (a.value != b.value) return a.value < b.value;
  if (a.time != b.time) return a.time < b.time;
  const auto again = recomputed(a.layout), other = recomputed(b.layout);
  if (again != other) return again < other;
  if (a.memory != b.memory) return a.memory < b.memory;
  return choices(a.layout) < choices(b.layout);
}

void Collector::offer_variant(const Candidate& candidate) {
  if (heap_.size() == top_) {
    if (!before(candidate, heap_.front())) return;
    std::pop_heap(heap_.begin(), heap_.end(), before);
    heap_.pop_back();
  }
  heap_.push_back(candidate);
  std::push_heap(heap_.begin(), heap_.end(), before);
  if (heap_.size() == top_) threshold_ = heap_.front().value;
}

void Collector::offer(const Candidate& candidate) {
  if (variants_) return offer_variant(candidate);
  const Degrees key = degrees(candidate.layout);
  bool better = false;
  if (last_entry_ == nullptr || key != last_) {
    last_ = key;
    const auto [entry, added] = by_degrees_.try_emplace(key, candidate);
    last_entry_ = &entry->second;  // map entries never move
    better = added;
  }
  if (before(candidate, *last_entry_)) *last_entry_ = candidate, better = true;
  if (better && candidate.value < threshold_) tighten();
}

/// The value of the `top`-th best set of degrees.
void Collector::tighten() {
  if (by_degrees_.size() < top_) return;
  std::vector<double> values;
  for (const auto& [key, candidate] : by_degrees_) values.push_back(candidate.value);
  const auto last = values.begin() + static_cast<std::ptrdiff_t>(top_) - 1;
  std::nth_element(values.begin(), last, values.end());
  threshold_ = *last;
}

void Collector::merge(const Collector& other) {
  for (const Candidate& candidate : other.heap_) offer(candidate);
  for (const auto& [key, candidate] : other.by_degrees_) offer(candidate);
}

void Collector::clear() { *this = Collector(static_cast<int>(top_), variants_); }

std::vector<Candidate> Collector::best() const {
  std::vector<Candidate> all = heap_;
  for (const auto& [key, candidate] : by_degrees_) all.push_back(candidate);
  std::sort(all.begin(), all.end(), before);
  if (all.size() > top_) all.resize(top_);
  return all;
}

void Front::offer(std::span<const double> values, const Candidate& candidate) {
  std::vector<double> mine(values.size());
  std::transform(values.begin(), values.end(), mine.begin(), rounded);
  // a is no worse than b in any objective.
  const auto covers = [](const std::vector<double>& a, const std::vector<double>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), [](double x, double y) { return x <= y; });
  };
  for (Point& point : points_) {
    if (point.values == mine) {
      if (before(candidate, point.candidate)) point.candidate = candidate;
      return;
    }
    if (covers(point.values, mine)) return;
  }
  std::erase_if(points_, [&](const Point& point) { return covers(mine, point.values); });
  points_.push_back({std::move(mine), candidate});
}

void Front::merge(const Front& other) {
  for (const Point& point : other.points_) offer(point.values, point.candidate);
}

std::vector<Front::Point> Front::points() const {
  std::vector<Point> out = points_;
  std::sort(out.begin(), out.end(), [](const Point& a, const Point& b) { return a.values < b.values; });
  return out;
}

}  // namespace meshwright::search
