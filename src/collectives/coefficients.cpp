#include "meshwright/collectives/coefficients.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace meshwright::collectives {
namespace {

/// What one round puts on ports and ranks, in chunks.
struct RoundLoad {
  bool used = false;
  std::int64_t wire = 0, reduced = 0;
  int messages = 0;
};

/// Chunk counts of one round by actor and direction, or by pair of neighbours.
class PortCounter {
 public:
  PortCounter(const Schedule& schedule, int level)
      : schedule_(schedule),
        level_(level),
        sent_(static_cast<std::size_t>(schedule.ranks())),
        received_(sent_.size()),
        reduced_(sent_.size()) {}

  void add(const Transfer& t) {
    if (transfer_level(schedule_, t) != level_) return;
    if (!schedule_.is_switch(t.source)) sent_[static_cast<std::size_t>(t.source)] += t.count;
    if (!schedule_.is_switch(t.target)) {
      received_[static_cast<std::size_t>(t.target)] += t.count;
      if (t.reduce) reduced_[static_cast<std::size_t>(t.target)] += t.count;
    }
    pairs_.push_back({{t.source, t.target}, t.count});
  }

  RoundLoad load() {
    if (pairs_.empty()) return {};
    RoundLoad load{.used = true};
    std::sort(pairs_.begin(), pairs_.end());
    std::vector<int> outgoing(sent_.size()), incoming(sent_.size());
    std::int64_t busiest_pair = 0, pair = 0;
    for (std::size_t i = 0; i < pairs_.size(); ++i) {
      const bool same = i > 0 && pairs_[i].first == pairs_[i - 1].first;
      pair = pairs_[i].second + (same ? pair : 0);
      busiest_pair = std::max(busiest_pair, pair);
      if (same) continue;
      const auto [source, target] = pairs_[i].first;
      if (!schedule_.is_switch(source)) ++outgoing[static_cast<std::size_t>(source)];
      if (!schedule_.is_switch(target)) ++incoming[static_cast<std::size_t>(target)];
    }
    load.wire = schedule_.port_per_neighbour ? busiest_pair : std::max(largest(sent_), largest(received_));
    load.reduced = largest(reduced_);
    load.messages = std::max(largest(outgoing), largest(incoming));
    return load;
  }

 private:
  template <class Count>
  static Count largest(const std::vector<Count>& counts) {
    return *std::max_element(counts.begin(), counts.end());
  }

  const Schedule& schedule_;
  int level_;
  std::vector<std::int64_t> sent_, received_, reduced_;
  std::vector<std::pair<std::pair<int, int>, std::int64_t>> pairs_;
};

}  // namespace

LevelCoefficients read_coefficients(const Schedule& schedule) {
  LevelCoefficients result{};
  const Ratio share = chunk_share(schedule);
  for (const Phase& phase : schedule.phases) {
    // Shifts only rename chunks and, on a flat group, targets: the loads of one round stand for all.
    const bool alike = phase.peer_shift == 0 || schedule.shape.flat();
    for (int repeat = 0; repeat < (alike ? 1 : phase.repeats); ++repeat) {
      const std::vector<Transfer> round = round_of(schedule, phase, repeat);
      const int weight = alike ? phase.repeats : 1;
      for (int level = 0; level < level_limit; ++level) {
        PortCounter counter(schedule, level);
        for (const Transfer& t : round) counter.add(t);
        const RoundLoad load = counter.load();
        if (!load.used) continue;
        result[static_cast<std::size_t>(level)] =
            result[static_cast<std::size_t>(level)] + Coefficients{.rounds = weight,
                                                                   .messages = weight * load.messages,
                                                                   .wire = share * Ratio(load.wire * weight),
                                                                   .reduced = share * Ratio(load.reduced * weight)};
      }
    }
  }
  return result;
}

}  // namespace meshwright::collectives
