// The orders of work of every schedule.
#include <algorithm>

#include "parallel/schedule_orders.hpp"

namespace meshwright::parallel::orders {
namespace {

using Ops = std::vector<PipelineOp>;

/// One forward, one backward once `warm_up` forwards are under way: the backbone of 1F1B and of its interleaved form.
Ops alternate(const Ops& forward, const Ops& backward, int warm_up) {
  Ops ops(forward.begin(), forward.begin() + warm_up);
  for (std::size_t i = 0; i < backward.size(); ++i) {
    const std::size_t next = i + static_cast<std::size_t>(warm_up);
    if (next < forward.size()) ops.push_back(forward[next]);
    ops.push_back(backward[i]);
  }
  return ops;
}

/// Appends ops of one chunk with its own counters, so that a hand-made order reads as a list of phases.
struct Writer {
  Ops& ops;
  int chunk;
  int forwards = 0, inputs = 0, weights = 0;
  void forward() { ops.push_back({Work::forward, chunk, forwards++}); }
  void input() { ops.push_back({Work::backward_input, chunk, inputs++}); }
  void weight() { ops.push_back({Work::backward_weight, chunk, weights++}); }
  void backward() { input(), weight(); }
  /// This chunk's forward beside a whole backward of `other`.
  void forward_beside(Writer& other) {
    ops.push_back({Work::forward, chunk, forwards++, true});
    ops.push_back({Work::backward, other.chunk, other.inputs++});
    ++other.weights;
  }
};

/// ZB-H1 and ZB-H2: 1F1B with the weight gradients `late` micro-batches behind the input gradients, which keeps as many
/// activations on every stage as on the first. H2 starts with more forwards, to fill the bubble before the first
/// gradient comes.
Ops zero_bubble(int stage, int pp, int micro_batches, bool second) {
  Ops ops;
  Writer part{.ops = ops, .chunk = stage};
  const int warm_up = second ? 2 * (pp - stage) - 1 : pp - stage, late = second ? 2 * stage : stage;
  for (int i = 0; i < std::min(warm_up, micro_batches); ++i) part.forward();
  while (part.inputs < micro_batches) {
    part.input();
    const bool filling = part.forwards < micro_batches;
    if (filling) {
      if (part.inputs > late) part.weight();
      part.forward();
    } else if (part.weights < part.inputs) {
      part.weight();
    }
  }
  while (part.weights < micro_batches) part.weight();
  return ops;
}

}  // namespace

std::vector<PipelineOp> gpipe(int stage, int, int, int micro_batches) {
  Ops ops;
  for (int m = 0; m < micro_batches; ++m) ops.push_back({Work::forward, stage, m});
  for (int m = 0; m < micro_batches; ++m) ops.push_back({Work::backward, stage, m});
  return ops;
}

/// Micro-batches go through a stage's chunks in groups of pp.
std::vector<PipelineOp> interleaved(int stage, int pp, int vp, int micro_batches) {
  Ops forward, backward;
  for (int group = 0; group < micro_batches; group += pp) {
    const int end = std::min(group + pp, micro_batches);
    for (int chunk = 0; chunk < vp; ++chunk) {
      for (int m = group; m < end; ++m) {
        forward.push_back({Work::forward, chunk * pp + stage, m});
        backward.push_back({Work::backward, (vp - 1 - chunk) * pp + stage, m});
      }
    }
  }
  const int warm_up = 2 * (pp - stage - 1) + (vp - 1) * pp;
  return alternate(forward, backward, std::min(warm_up, vp * micro_batches));
}

std::vector<PipelineOp> one_f_one_b(int stage, int pp, int, int micro_batches) {
  Ops forward, backward;
  for (int m = 0; m < micro_batches; ++m) {
    forward.push_back({Work::forward, stage, m});
    backward.push_back({Work::backward, stage, m});
  }
  return alternate(forward, backward, std::min(pp - stage - 1, micro_batches));
}

std::vector<PipelineOp> zero_bubble_h1(int stage, int pp, int, int micro_batches) {
  return zero_bubble(stage, pp, micro_batches, false);
}
std::vector<PipelineOp> zero_bubble_h2(int stage, int pp, int, int micro_batches) {
  return zero_bubble(stage, pp, micro_batches, true);
}

/// ZB-V: the down chunk fills first, then both chunks alternate; input gradients run ahead while the pipeline drains.
std::vector<PipelineOp> zero_bubble_v(int stage, int pp, int, int micro_batches) {
  Ops ops;
  Writer down{.ops = ops, .chunk = stage}, up{.ops = ops, .chunk = 2 * pp - 1 - stage};
  const auto more = [micro_batches](const Writer& w) { return w.forwards < micro_batches; };
  for (int i = 0; i < 2 * (pp - stage) - 1 && more(down); ++i) down.forward();
  for (int i = 0; i < stage; ++i) {
    if (more(up)) up.forward();
    if (more(down)) down.forward();
  }
  for (int i = 0; i < pp - stage && more(up); ++i) up.forward(), up.backward();
  while (more(up) || more(down)) {
    if (more(down)) down.forward();
    if (down.inputs < down.forwards) down.backward();
    if (more(up)) up.forward();
    up.backward();
  }
  for (int i = 0; i < stage; ++i) {
    if (down.inputs < micro_batches) down.input();
    if (up.inputs < micro_batches) up.input();
  }
  const auto drain = [micro_batches](Writer& w) {
    while (w.inputs < micro_batches) {
      w.input();
      if (w.weights < w.inputs) w.weight();
    }
  };
  drain(up), drain(down);
  while (up.weights < micro_batches) up.weight();
  while (down.weights < micro_batches) down.weight();
  return ops;
}

/// DualPipe's eight phases; `near` is the direction that enters at this stage's end of the pipeline.
std::vector<PipelineOp> dual_pipe(int stage, int pp, int, int micro_batches) {
  Ops ops;
  const int half = pp / 2, rank = std::min(stage, pp - 1 - stage), each = micro_batches / 2;
  const int inner = half - rank - 1;  // stages between this one and the middle
  const bool first_half = stage < half;
  Writer down{.ops = ops, .chunk = stage}, up{.ops = ops, .chunk = 2 * pp - 1 - stage};
  Writer& near = first_half ? down : up;
  Writer& far = first_half ? up : down;
  for (int i = 0; i < 2 * inner; ++i) near.forward();
  for (int i = 0; i < rank + 1; ++i) near.forward(), far.forward();
  for (int i = 0; i < inner; ++i) far.input(), far.weight(), far.forward();
  for (int i = 0; i < each - pp + rank + 1; ++i) near.forward_beside(far), far.forward_beside(near);
  for (int i = 0; i < inner; ++i) far.backward(), far.forward_beside(near);
  const auto late_weight = [&](Writer& w) { w.weights < w.inputs ? w.weight() : void(); };
  for (int i = 0; i < rank + 1; ++i) {
    const bool split = 2 * i >= rank + 1;
    far.input();
    if (!split) far.weight();
    near.input();
    if (!split) near.weight();
  }
  for (int i = 0; i < inner; ++i) late_weight(far.weights < far.inputs ? far : near), near.input();
  while (far.weights < far.inputs || near.weights < near.inputs) late_weight(far.weights < far.inputs ? far : near);
  return ops;
}

}  // namespace meshwright::parallel::orders
