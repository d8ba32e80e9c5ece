#pragma once
// Pipeline schedules: the real order of work on every stage, an event simulation that times it, and the closed forms
// that the search uses (tested against the simulation).
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "meshwright/parallel/layout.hpp"
#include "meshwright/parallel/prediction.hpp"
#include "meshwright/parallel/schedule.hpp"
#include "meshwright/parallel/stages.hpp"

namespace meshwright::parallel {

/// What every stage does, in its order.
struct PipelineOrder {
  PipelineSchedule schedule = PipelineSchedule::one_f_one_b;
  int stages = 1;
  int chunks = 1;         ///< over all stages; DualPipe counts both directions
  int micro_batches = 1;  ///< per chunk: half of the step's for DualPipe, whose directions share them
  std::vector<std::vector<PipelineOp>> ops;                               ///< by stage
  int per_direction() const { return chunks / schedule->weight_copies; }  ///< chunks that a micro-batch goes through

  int stage_of(int chunk) const;
  /// The chunk whose output `chunk` takes, or -1 for the first of a direction.
  int before(int chunk) const;
  /// The chunk that takes its output, or -1.
  int after(int chunk) const;
};

/// The order of a schedule. The layout must satisfy refused_by().
PipelineOrder pipeline_order(PipelineSchedule schedule, int pp, int vp, int micro_batches);

/// What is wrong with an order (an op missing, twice or on another stage, or a wait that never ends), or nothing.
std::optional<std::string> order_fault(const PipelineOrder& order);

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

/// Idle of the busiest stage, closed form of the schedule's row: what filling and draining cost beside m passes of it.
/// `others` are the passes of all other stages together, `worst` those of the busiest one. Never below 0. For equal
/// stages exact up to ZB-H2; ZB-V and DualPipe within 0.3 max(F, B) a hop of the simulation. Unequal stages: within the
/// imbalance.
inline Seconds pipeline_bubble(PipelineSchedule schedule, int pp, int vp, int micro_batches, const ChunkTime& worst,
                               const ChunkTime& others) noexcept {
  return schedule->bubble({pp, vp, micro_batches, worst, others});
}

/// Chrome trace JSON of the layout's pipeline (load it in Perfetto): one track a stage, one slice an op. The time of a
/// stage's slot is the prediction's, spread over its chunks by their layers.
std::string pipeline_trace(const Job& job, const Prediction& prediction);

}  // namespace meshwright::parallel
