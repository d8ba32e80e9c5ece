// Plays pipeline orders: the check that they are sound, and their timing.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "meshwright/parallel/pipeline.hpp"

namespace meshwright::parallel {
namespace {

/// End times by kind of work, chunk and micro-batch; negative = not done.
class Ends {
 public:
  Ends(int chunks, int micro_batches)
      : micro_batches_(static_cast<std::size_t>(micro_batches)),
        ends_(3 * static_cast<std::size_t>(chunks) * micro_batches_, -1.0) {}
  double& operator()(int kind, int chunk, int micro_batch) {
    return ends_[(3 * static_cast<std::size_t>(chunk) + static_cast<std::size_t>(kind)) * micro_batches_ +
                 static_cast<std::size_t>(micro_batch)];
  }

 private:
  std::size_t micro_batches_;
  std::vector<double> ends_;
};
constexpr int forward_kind = 0, input_kind = 1, weight_kind = 2;

/// Earliest start of an op by its inputs; negative where one of them is not done yet.
double ready(const PipelineOrder& order, Ends& ends, const PipelineOp& op, double send) {
  const auto from = [&](int kind, int chunk) {
    const double end = ends(kind, chunk, op.micro_batch);
    const bool moves = order.stage_of(chunk) != order.stage_of(op.chunk);
    return end < 0 ? end : end + (moves ? send : 0);
  };
  if (op.work == Work::forward) {
    const int before = order.before(op.chunk);
    return before < 0 ? 0 : from(forward_kind, before);
  }
  if (op.work == Work::backward_weight) return from(input_kind, op.chunk);
  const double own = from(forward_kind, op.chunk);
  const int after = order.after(op.chunk);
  if (own < 0 || after < 0) return own;
  const double gradient = from(input_kind, after);
  return gradient < 0 ? gradient : std::max(own, gradient);
}

double duration(const ChunkTime& time, Work work) {
  switch (work) {
    case Work::forward:
      return time.forward.value();
    case Work::backward_input:
      return time.backward_input.value();
    case Work::backward_weight:
      return time.backward_weight.value();
    case Work::backward:
      break;
  }
  return (time.backward_input + time.backward_weight).value();
}

void finish(Ends& ends, const PipelineOp& op, double end) {
  if (op.work == Work::forward) ends(forward_kind, op.chunk, op.micro_batch) = end;
  if (op.work == Work::backward || op.work == Work::backward_input) ends(input_kind, op.chunk, op.micro_batch) = end;
  if (op.work == Work::backward || op.work == Work::backward_weight) ends(weight_kind, op.chunk, op.micro_batch) = end;
}

Seconds period_of(PipelineSchedule schedule, const Timeline& line) {
  if (schedule->barrier) return line.makespan;
  Seconds longest;
  for (const auto& events : line.stages) {
    if (!events.empty()) longest = std::max(longest, events.back().end - events.front().start);
  }
  return longest;
}

/// Plays as far as it goes; a sound order plays to its end.
Timeline play(const PipelineOrder& order, std::span<const ChunkTime> times, double send) {
  Ends ends(order.chunks, order.micro_batches);
  std::vector<double> clock(order.ops.size());
  Timeline line{.stages = std::vector<std::vector<PipelineEvent>>(order.ops.size()), .makespan = {}, .period = {}};
  for (bool moved = true; moved;) {
    moved = false;
    for (std::size_t stage = 0; stage < order.ops.size(); ++stage) {
      auto& events = line.stages[stage];
      while (events.size() < order.ops[stage].size()) {
        const std::size_t first = events.size(), count = order.ops[stage][first].beside_next ? 2 : 1;
        const auto ops = std::span(order.ops[stage]).subspan(first, count);
        double start = clock[stage];
        bool can = true;
        for (const PipelineOp& op : ops) {
          const double begin = ready(order, ends, op, send);
          can = can && begin >= 0;
          start = std::max(start, begin);
        }
        if (!can) break;
        for (const PipelineOp& op : ops) {
          const double end = start + duration(times[static_cast<std::size_t>(op.chunk)], op.work);
          events.push_back({op, Seconds::base(start), Seconds::base(end)});
          start = end;
        }
        clock[stage] = start;
        for (const PipelineOp& op : ops) finish(ends, op, start);
        moved = true;
      }
    }
  }
  for (const double end : clock) line.makespan = std::max(line.makespan, Seconds::base(end));
  line.period = period_of(order.schedule, line);
  return line;
}

std::string described(const PipelineOp& op) {
  return fmt::format("{} of chunk {}, micro-batch {}", name(op.work), op.chunk, op.micro_batch);
}

/// Each piece of work has to be done once, on the stage of its chunk.
std::optional<std::string> counting_fault(const PipelineOrder& order) {
  Ends done(order.chunks, order.micro_batches);
  for (std::size_t stage = 0; stage < order.ops.size(); ++stage) {
    for (const PipelineOp& op : order.ops[stage]) {
      if (op.chunk < 0 || op.chunk >= order.chunks || op.micro_batch < 0 || op.micro_batch >= order.micro_batches) {
        return described(op) + " does not exist";
      }
      if (order.stage_of(op.chunk) != static_cast<int>(stage)) return described(op) + " is on another stage";
      for (const int kind : {forward_kind, input_kind, weight_kind}) {
        const bool does = kind == forward_kind ? op.work == Work::forward
                          : kind == input_kind ? op.work == Work::backward || op.work == Work::backward_input
                                               : op.work == Work::backward || op.work == Work::backward_weight;
        if (!does) continue;
        double& mark = done(kind, op.chunk, op.micro_batch);
        if (mark >= 0) return described(op) + " comes twice";
        mark = 0;
      }
    }
  }
  for (int chunk = 0; chunk < order.chunks; ++chunk) {
    for (int m = 0; m < order.micro_batches; ++m) {
      for (const int kind : {forward_kind, input_kind, weight_kind}) {
        if (done(kind, chunk, m) < 0) return fmt::format("chunk {}, micro-batch {} is not finished", chunk, m);
      }
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> order_fault(const PipelineOrder& order) {
  if (auto fault = counting_fault(order)) return fault;
  const std::vector<ChunkTime> ticks(static_cast<std::size_t>(order.chunks),
                                     {Seconds::base(1), Seconds::base(1), Seconds::base(1)});
  const Timeline line = play(order, ticks, 0);
  for (std::size_t stage = 0; stage < order.ops.size(); ++stage) {
    const std::size_t played = line.stages[stage].size();
    if (played < order.ops[stage].size()) {
      return fmt::format("stage {} waits for ever before {}", stage, described(order.ops[stage][played]));
    }
  }
  return std::nullopt;
}

Timeline simulate(const PipelineOrder& order, std::span<const ChunkTime> times, Seconds send) {
  return play(order, times, send.value());
}

Seconds Timeline::bubble() const {
  Seconds most;
  for (const auto& events : stages) {
    Seconds busy;
    for (const PipelineEvent& event : events) busy += event.end - event.start;
    most = std::max(most, busy);
  }
  return period - most;
}

double Timeline::in_flight(int stage, int chunks_per_stage) const {
  int kept = 0, most = 0;
  for (const PipelineEvent& event : stages[static_cast<std::size_t>(stage)]) {
    if (event.op.work == Work::forward) most = std::max(most, ++kept);
    if (event.op.work == Work::backward || event.op.work == Work::backward_weight) --kept;
  }
  return static_cast<double>(most) / chunks_per_stage;
}

}  // namespace meshwright::parallel
