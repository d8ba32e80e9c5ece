#pragma once
// Pipeline schedules: one table of rows, each with everything that the library knows of a schedule.
#include <array>
#include <compare>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "meshwright/core/quantity.hpp"

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

/// Times of one micro-batch through one chunk (or one stage).
struct ChunkTime {
  Seconds forward, backward_input, backward_weight;
  constexpr Seconds total() const { return forward + backward_input + backward_weight; }
};

/// What filling and draining a pipeline depends on: a micro-batch's passes of the busiest stage, and those of all other
/// stages together.
struct Ramp {
  int pp = 1, vp = 1, micro_batches = 1;
  ChunkTime worst, others;
};

/// How a schedule places its chunks. Chunk k of the model's order is on stage k % pp; a folded schedule goes down the
/// stages and up again; with two weight copies every part of the model is there twice, the second time on the stages in
/// opposite order.
struct ScheduleRow {
  std::string_view name;          ///< as layouts spell it: "1f1b"
  std::string_view citation;      ///< where it is described
  int chunks = 1;                 ///< parts of the work on a stage; 0 = as many as the layout's vp
  bool folds = false;             ///< chunk k >= pp is on stage 2 pp - 1 - k
  int weight_copies = 1;          ///< stages that hold a part of the model
  bool barrier = true;            ///< the next step starts on all stages at once; false: each as soon as it is done
  bool overlaps_sends = false;    ///< sends run behind compute where the stack lets them (overlap_p2p)
  bool overlaps_experts = false;  ///< dispatch and combine run behind the other direction's compute
  bool fills_ramp = false;        ///< other work runs while the pipeline fills: its bubble may be 0
  /// The order of work of one stage; `micro_batches` of the step, over both directions where there are two.
  std::vector<PipelineOp> (*order)(int stage, int pp, int vp, int micro_batches) = nullptr;
  /// Idle of the busiest stage, never below 0.
  Seconds (*bubble)(const Ramp& ramp) noexcept = nullptr;
  /// Micro-batches whose activations a stage (0 = first) keeps at most, if there are as many.
  double (*in_flight)(int stage, int pp, int vp) noexcept = nullptr;
  /// Fewest micro-batches that it can run with; nullptr: 1.
  int (*least_micro_batches)(int pp) noexcept = nullptr;
  int multiple = 1;  ///< stages and micro-batches have to be multiples of it
  /// What it is with virtual stages, and without them; nullptr: itself.
  const ScheduleRow *with_virtual_stages = nullptr, *without_virtual_stages = nullptr;
  /// At least as fast wherever both run, with no more activations: a search passes this one over beside it.
  const ScheduleRow* dominated_by = nullptr;
  /// Names in the configurations of stacks; empty where they lack it.
  std::string_view torchtitan{}, nanotron{};
};

/// A row of the table (or one beside it): what a layout holds.
class PipelineSchedule {
 public:
  constexpr PipelineSchedule(const ScheduleRow& row) noexcept : row_(&row) {}  // NOLINT: a row is its schedule
  constexpr const ScheduleRow* operator->() const noexcept { return row_; }
  constexpr const ScheduleRow& row() const noexcept { return *row_; }
  friend constexpr bool operator==(PipelineSchedule a, PipelineSchedule b) noexcept { return a.row_ == b.row_; }
  friend std::strong_ordering operator<=>(PipelineSchedule a, PipelineSchedule b) noexcept {
    return a.row_->name <=> b.row_->name;
  }

  /// Rows that code names.
  static const PipelineSchedule gpipe, one_f_one_b, interleaved, zero_bubble_h1, zero_bubble_h2, zero_bubble_v,
      dual_pipe;

 private:
  const ScheduleRow* row_;
};
inline std::string_view name(PipelineSchedule schedule) { return schedule->name; }

namespace schedule_rows {
extern const ScheduleRow gpipe, one_f_one_b, interleaved, zero_bubble_h1, zero_bubble_h2, zero_bubble_v, dual_pipe;
}  // namespace schedule_rows
inline constexpr PipelineSchedule PipelineSchedule::gpipe{schedule_rows::gpipe};
inline constexpr PipelineSchedule PipelineSchedule::one_f_one_b{schedule_rows::one_f_one_b};
inline constexpr PipelineSchedule PipelineSchedule::interleaved{schedule_rows::interleaved};
inline constexpr PipelineSchedule PipelineSchedule::zero_bubble_h1{schedule_rows::zero_bubble_h1};
inline constexpr PipelineSchedule PipelineSchedule::zero_bubble_h2{schedule_rows::zero_bubble_h2};
inline constexpr PipelineSchedule PipelineSchedule::zero_bubble_v{schedule_rows::zero_bubble_v};
inline constexpr PipelineSchedule PipelineSchedule::dual_pipe{schedule_rows::dual_pipe};

/// The table. GPipe (Huang et al. 2019); 1F1B (Narayanan et al. 2019); interleaved 1F1B (Narayanan et al. 2021,
/// Megatron's order, the last group of micro-batches may be short); ZB-H1, ZB-H2 (Qi et al. 2023, by list scheduling
/// under their memory limits for equal times of the three kinds of work); ZB-V (Qi et al. 2024); DualPipe (DeepSeek-V3
/// report).
std::span<const PipelineSchedule> pipeline_schedules();
/// Their names, in the table's order.
std::span<const std::string_view> schedule_names();
/// The schedule that a free text names, in a layout's words or a stack's ("zero-bubble-h2", "ZBVZeroBubble"); 1F1B
/// where it names none.
PipelineSchedule schedule_in(std::string_view text);
/// Place of a schedule in the table; its size for a row beside it.
std::size_t index_of(PipelineSchedule schedule) noexcept;

/// The schedule that runs with `vp` virtual stages: 1F1B with them is interleaved 1F1B, interleaved without is 1F1B.
inline PipelineSchedule with_virtual_stages(PipelineSchedule schedule, int vp) noexcept {
  const ScheduleRow* other = vp > 1 ? schedule->with_virtual_stages : schedule->without_virtual_stages;
  return other != nullptr ? PipelineSchedule(*other) : schedule;
}
/// Chunks on a stage.
inline int chunks_of(PipelineSchedule schedule, int vp) noexcept {
  return schedule->chunks > 0 ? schedule->chunks : vp;
}
inline int stage_of(PipelineSchedule schedule, int chunk, int pp) noexcept {
  return schedule->folds && chunk >= pp ? 2 * pp - 1 - chunk : chunk % pp;
}
/// Most micro-batches in flight on a stage (0 = first), closed form, never more than `micro_batches`; 1 without a
/// pipeline.
inline double in_flight(PipelineSchedule schedule, int pp, int vp, int micro_batches, int stage) noexcept {
  if (pp == 1) return 1;
  const double most = schedule->in_flight(stage, pp, vp);
  return most < micro_batches ? most : micro_batches;
}

}  // namespace meshwright::parallel
