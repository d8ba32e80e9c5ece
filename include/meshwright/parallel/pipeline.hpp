#pragma once
// Pipeline schedules: the real order of work on every stage, an event simulation that times it, and the closed forms
// that the search uses (tested against the simulation).
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "meshwright/core/quantity.hpp"
#include "meshwright/parallel/layout.hpp"
#include "meshwright/parallel/prediction.hpp"
#include "meshwright/parallel/stages.hpp"

namespace meshwright::parallel {

/// `backward` is both halves in one go: its gradients travel on when all of it is done.
enum class Work { forward, backward, backward_input, backward_weight };
inline constexpr std::array<std::string_view, 4> work_names = {"forward", "backward", "backward_input",
                                                               "backward_weight"};
constexpr std::string_view name(Work work) { return work_names[static_cast<std::size_t>(work)]; }

/// One pass of one micro-batch through one chunk (index into the layout's chunks, in model order).
struct PipelineOp {
  Work work = Work::forward;
  int chunk = 0, micro_batch = 0;
  bool beside_next = false;  ///< runs beside the next op: both start together and both end when both are done
  friend bool operator==(const PipelineOp&, const PipelineOp&) = default;
};

/// What every stage does, in its order.
struct PipelineOrder {
  PipelineSchedule schedule = PipelineSchedule::one_f_one_b;
  int stages = 1;
  int chunks = 1;         ///< over all stages; DualPipe counts both directions
  int micro_batches = 1;  ///< per chunk: half of the step's for DualPipe, whose directions share them
  std::vector<std::vector<PipelineOp>> ops;  ///< by stage

  int stage_of(int chunk) const;
  /// The chunk whose output `chunk` takes, or -1 for the first of a direction.
  int before(int chunk) const;
  /// The chunk that takes its output, or -1.
  int after(int chunk) const;
};

/// The order of a schedule. GPipe (Huang et al. 2019); 1F1B (Narayanan et al. 2019); interleaved 1F1B (Narayanan et al.
/// 2021, Megatron's order, the last group of micro-batches may be short); ZB-H1, ZB-H2 (Qi et al. 2023, by list
/// scheduling under their memory limits for equal times of the three kinds of work); ZB-V (Qi et al. 2024); DualPipe
/// (DeepSeek-V3 report). The layout must satisfy refused_by().
PipelineOrder pipeline_order(PipelineSchedule schedule, int pp, int vp, int micro_batches);

/// What is wrong with an order (an op missing, twice or on another stage, or a wait that never ends), or nothing.
std::optional<std::string> order_fault(const PipelineOrder& order);

/// Times of one micro-batch through one chunk.
struct ChunkTime {
  Seconds forward, backward_input, backward_weight;
  constexpr Seconds total() const { return forward + backward_input + backward_weight; }
};

struct PipelineEvent {
  PipelineOp op;
  Seconds start, end;
};
struct Timeline {
  std::vector<std::vector<PipelineEvent>> stages;
  Seconds makespan;  ///< from the first start to the last end
  /// Time from step to step: the makespan, or for zero-bubble schedules, whose optimizer step needs no barrier (Qi et
  /// al. 2023, section 4), the longest time from a stage's first start to its last end.
  Seconds period;
  /// period less the work of the busiest stage.
  Seconds bubble() const;
  /// Most micro-batches whose activations a stage keeps at once, a chunk counting as its share of the stage.
  double in_flight(int stage, int chunks_per_stage) const;
};
/// Plays an order: each stage works in its order, an op starts when its inputs have come (`send` later where they come
/// from another stage). `times` by chunk. The order must be free of faults.
Timeline simulate(const PipelineOrder& order, std::span<const ChunkTime> times, Seconds send);

/// Idle of the busiest stage, closed form: what filling and draining cost beside m passes of it. `others` are the
/// passes of all other stages together, `worst` those of the busiest one; F, B, W are their forward, input-gradient and
/// weight-gradient times.
///   GPipe, 1F1B: others; interleaved: others / vp (Narayanan et al. 2021);
///   ZB-H1: (pp-1)(F + B) - min(m-1, pp-1) W, ZB-H2: with 2(pp-1) in place of pp-1 (Qi et al. 2023, which has m >= 2
///   pp); ZB-V: (pp-1) max(F - W, B - W, |F - B| / 2), 0 for equal times (Qi et al. 2024); DualPipe: (pp/2-1)(F + 2B -
///   W) (DeepSeek-V3 report, table 2), at least (pp/2-1) 2F.
/// Never below 0. For equal stages exact up to ZB-H2; ZB-V and DualPipe within 0.3 max(F, B) a hop of the simulation.
/// Unequal stages: within the imbalance.
constexpr Seconds pipeline_bubble(PipelineSchedule schedule, int pp, int vp, int micro_batches, const ChunkTime& worst,
                                  const ChunkTime& others) {
  const auto floored = [](Seconds t) { return t < Seconds{} ? Seconds{} : t; };
  const auto filled = [&](int most) {
    const int weights = micro_batches - 1 < most ? micro_batches - 1 : most;
    const double share = pp > 1 ? weights / (pp - 1.0) : 0;
    return floored(others.forward + others.backward_input - share * others.backward_weight);
  };
  switch (schedule) {
    case PipelineSchedule::interleaved:
      return others.total() / vp;
    case PipelineSchedule::zero_bubble_h1:
      return filled(pp - 1);
    case PipelineSchedule::zero_bubble_h2:
      return filled(2 * (pp - 1));
    case PipelineSchedule::zero_bubble_v: {
      const Seconds f = others.forward, b = others.backward_input, longer = f < b ? b : f;
      const Seconds uncovered = longer - others.backward_weight, skew = (longer - (f < b ? f : b)) / 2;
      return floored(uncovered < skew ? skew : uncovered);
    }
    case PipelineSchedule::dual_pipe: {
      const Seconds published = worst.forward + 2 * worst.backward_input - worst.backward_weight;
      const Seconds least = 2 * worst.forward;
      return (pp / 2.0 - 1) * (published < least ? least : published);
    }
    default:
      return others.total();
  }
}

/// Most micro-batches in flight on a stage (0 = first), closed form, never more than `micro_batches`:
///   GPipe m; 1F1B pp - stage; interleaved (2 (pp - stage - 1) + (vp - 1) pp + 1) / vp; ZB-H1 pp on the first
///   stage and as much elsewhere; ZB-H2 2 pp - 1; ZB-V pp; DualPipe pp + 1.
double in_flight(PipelineSchedule schedule, int pp, int vp, int micro_batches, int stage) noexcept;
/// Copies of the parameters that a stage holds beside its share: 2 for DualPipe, else 1.
constexpr int parameter_copies(PipelineSchedule schedule) { return schedule == PipelineSchedule::dual_pipe ? 2 : 1; }

/// Chrome trace JSON of the layout's pipeline (load it in Perfetto): one track a stage, one slice an op. The time of a
/// stage's slot is the prediction's, spread over its chunks by their layers.
std::string pipeline_trace(const Job& job, const Prediction& prediction);

}  // namespace meshwright::parallel
