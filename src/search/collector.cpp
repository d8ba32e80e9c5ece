#include "search/collector.hpp"

#include <algorithm>
#include <tuple>

namespace meshwright::search {
namespace {

auto choices(const Layout& l) {
  return std::tuple(l.pp, l.tp, l.cp, l.ep, l.etp, l.vp, l.zero_stage, l.recompute, l.micro_batch, l.schedule,
                    l.hsdp_shard, l.tp_comm_overlap, l.ep_comm_overlap, l.stage_split);
}

}  // namespace

bool before(const Candidate& a, const Candidate& b) {
  if (a.time != b.time) return a.time < b.time;
  if (a.memory != b.memory) return a.memory < b.memory;
  return choices(a.layout) < choices(b.layout);
}

void Collector::offer_variant(const Candidate& candidate) {
  const auto most = static_cast<std::size_t>(options_.top);
  if (heap_.size() == most) {
    if (!before(candidate, heap_.front())) return;
    std::pop_heap(heap_.begin(), heap_.end(), before);
    heap_.pop_back();
  }
  heap_.push_back(candidate);
  std::push_heap(heap_.begin(), heap_.end(), before);
}

void Collector::offer(const Candidate& candidate) {
  if (options_.variants) return offer_variant(candidate);
  const Degrees key = degrees(candidate.layout);
  if (last_entry_ == nullptr || key != last_) {
    last_ = key;
    last_entry_ = &by_degrees_.try_emplace(key, candidate).first->second;  // map entries never move
  }
  if (before(candidate, *last_entry_)) *last_entry_ = candidate;
}

void Collector::merge(const Collector& other) {
  for (const Candidate& candidate : other.heap_) offer(candidate);
  for (const auto& [key, candidate] : other.by_degrees_) offer(candidate);
}

std::vector<Candidate> Collector::best() const {
  std::vector<Candidate> all = heap_;
  for (const auto& [key, candidate] : by_degrees_) all.push_back(candidate);
  std::sort(all.begin(), all.end(), before);
  if (all.size() > static_cast<std::size_t>(options_.top)) all.resize(static_cast<std::size_t>(options_.top));
  return all;
}

}  // namespace meshwright::search
