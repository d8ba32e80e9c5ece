#include "meshwright/collectives/schedule.hpp"

#include <algorithm>
#include <utility>

namespace meshwright::collectives {
namespace {

int modulo(int a, int b) { return (a % b + b) % b; }

int ranks_below(const Shape& shape, int level) {
  int product = 1;
  for (int i = 0; i < level; ++i) product *= shape.extent[static_cast<std::size_t>(i)];
  return product;
}

}  // namespace

Ratio chunk_share(const Schedule& schedule) {
  const bool per_rank = schedule.collective == Collective::all_to_all || schedule.collective == Collective::send_recv;
  return {per_rank ? schedule.ranks() : 1, schedule.chunks};
}

int transfer_level(const Schedule& schedule, const Transfer& transfer) {
  for (const int actor : {transfer.source, transfer.target}) {
    if (schedule.is_switch(actor)) return schedule.switch_levels[static_cast<std::size_t>(actor - schedule.ranks())];
  }
  const auto& extent = schedule.shape.extent;
  if (transfer.source / (extent[0] * extent[1]) != transfer.target / (extent[0] * extent[1])) return 2;
  return transfer.source / extent[0] != transfer.target / extent[0] ? 1 : 0;
}

std::vector<Transfer> round_of(const Schedule& schedule, const Phase& phase, int repeat) {
  std::vector<Transfer> round = phase.transfers;
  for (Transfer& t : round) {
    t.chunk = modulo(t.chunk + repeat * phase.chunk_shift, schedule.chunks);
    if (phase.peer_shift != 0) t.target = modulo(t.target + repeat * phase.peer_shift, schedule.ranks());
  }
  return round;
}

int round_count(const Schedule& schedule) {
  int rounds = 0;
  for (const Phase& phase : schedule.phases) rounds += phase.repeats;
  return rounds;
}

Schedule reversed(const Schedule& schedule) {
  Schedule result = schedule;
  result.phases.clear();
  for (auto phase = schedule.phases.rbegin(); phase != schedule.phases.rend(); ++phase) {
    const bool spelled_out = phase->peer_shift != 0;
    for (int last = phase->repeats - 1; last >= 0; --last) {
      Phase back{.transfers = round_of(schedule, *phase, last)};
      for (Transfer& t : back.transfers) {
        std::swap(t.source, t.target);
        t.reduce = true;
      }
      if (!spelled_out) {
        back.repeats = phase->repeats;
        back.chunk_shift = -phase->chunk_shift;
      }
      result.phases.push_back(std::move(back));
      if (!spelled_out) break;
    }
  }
  return result;
}

Schedule then(Schedule first, const Schedule& second, Collective collective) {
  first.collective = collective;
  first.phases.insert(first.phases.end(), second.phases.begin(), second.phases.end());
  return first;
}

std::vector<Phase> pipelined(const std::vector<std::vector<Transfer>>& stages, int segments, int segment_chunks) {
  const int depth = static_cast<int>(stages.size());
  std::vector<Phase> phases;
  for (int round = 0; round < depth + segments - 1; ++round) {
    Phase phase;
    for (int stage = std::max(0, round - segments + 1); stage <= std::min(round, depth - 1); ++stage) {
      for (Transfer t : stages[static_cast<std::size_t>(stage)]) {
        t.chunk += (round - stage) * segment_chunks;
        phase.transfers.push_back(t);
      }
    }
    if (round == depth - 1 && segments > depth) {  // every stage is busy: rounds alike but for the segment
      phase.repeats = segments - depth + 1;
      phase.chunk_shift = segment_chunks;
      round += phase.repeats - 1;
    }
    phases.push_back(std::move(phase));
  }
  return phases;
}

namespace {

/// Adds `t` on the line whose first rank is `base`, for every piece that the levels outside cut its chunks into.
void add_on_line(std::vector<Transfer>& out, const Schedule& whole, const Schedule& flat, Transfer t, int base,
                 int first_switch, int inner) {
  const auto actor = [&](int a) { return flat.is_switch(a) ? first_switch + a - flat.ranks() : base + inner * a; };
  const int pieces = whole.chunks / (inner * flat.chunks);
  const Transfer lifted{.source = actor(t.source), .target = actor(t.target), .reduce = t.reduce};
  const int slice = base % inner;
  if (pieces == 1) {
    out.push_back(lifted);
    out.back().chunk = slice + inner * t.chunk;
    out.back().count = t.count;
    out.back().stride = inner * t.stride;
    return;
  }
  for (int i = 0; i < t.count; ++i) {
    out.push_back(lifted);
    out.back().chunk = slice + inner * modulo(t.chunk + i * t.stride, flat.chunks);
    out.back().count = pieces;
    out.back().stride = inner * flat.chunks;
  }
}

}  // namespace

void append_stage(Schedule& whole, const Schedule& flat, int level) {
  const int inner = ranks_below(whole.shape, level);
  const int extent = whole.shape.extent[static_cast<std::size_t>(level)];
  const bool outermost = whole.chunks == inner * flat.chunks;
  const int switches = static_cast<int>(flat.switch_levels.size());
  const int all_switches = switches * (whole.ranks() / extent);
  const int first_switch = whole.ranks() + static_cast<int>(whole.switch_levels.size());
  whole.switch_levels.insert(whole.switch_levels.end(), static_cast<std::size_t>(all_switches), level);
  for (const Phase& phase : flat.phases) {
    const bool compact = outermost && phase.peer_shift == 0;  // else a shift would leave the line's share
    for (int repeat = 0; repeat < (compact ? 1 : phase.repeats); ++repeat) {
      Phase lifted;
      if (compact) {
        lifted.repeats = phase.repeats;
        lifted.chunk_shift = inner * phase.chunk_shift;
      }
      const std::vector<Transfer> round = round_of(flat, phase, repeat);
      for (int line = 0; line < whole.ranks() / extent; ++line) {
        const int base = line / inner * inner * extent + line % inner;
        for (const Transfer& t : round)
          add_on_line(lifted.transfers, whole, flat, t, base, first_switch + line * switches, inner);
      }
      whole.phases.push_back(std::move(lifted));
    }
  }
}

}  // namespace meshwright::collectives
