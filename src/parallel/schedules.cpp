// The table of pipeline schedules.
#include "meshwright/parallel/schedule.hpp"

#include <algorithm>

#include "meshwright/core/names.hpp"
#include "parallel/schedule_orders.hpp"

namespace meshwright::parallel {
namespace {

Seconds floored(Seconds t) noexcept { return std::max(Seconds{}, t); }

/// GPipe, 1F1B: a pass through all other stages.
Seconds whole_ramp(const Ramp& r) noexcept { return r.others.total(); }
/// Narayanan et al. 2021, section 2.2: chunks are vp times shorter.
Seconds interleaved_ramp(const Ramp& r) noexcept { return r.others.total() / r.vp; }

/// Qi et al. 2023, which has m >= 2 pp: weight gradients of up to `most` micro-batches fill the ramp.
Seconds filled_ramp(const Ramp& r, int most) noexcept {
  const double share = r.pp > 1 ? std::min(r.micro_batches - 1, most) / (r.pp - 1.0) : 0;
  return floored(r.others.forward + r.others.backward_input - share * r.others.backward_weight);
}
Seconds h1_ramp(const Ramp& r) noexcept { return filled_ramp(r, r.pp - 1); }
Seconds h2_ramp(const Ramp& r) noexcept { return filled_ramp(r, 2 * (r.pp - 1)); }

/// (pp-1) max(F - W, B - W, |F - B| / 2), 0 for equal times (Qi et al. 2024).
Seconds v_ramp(const Ramp& r) noexcept {
  const Seconds f = r.others.forward, b = r.others.backward_input;
  return floored(std::max(std::max(f, b) - r.others.backward_weight, (std::max(f, b) - std::min(f, b)) / 2));
}

/// (pp/2-1)(F + 2B - W) (DeepSeek-V3 report, table 2), at least (pp/2-1) 2F.
Seconds dual_ramp(const Ramp& r) noexcept {
  const ChunkTime& t = r.worst;
  return (r.pp / 2.0 - 1) * std::max(t.forward + 2 * t.backward_input - t.backward_weight, 2 * t.forward);
}

double all_in_flight(int, int, int) noexcept { return std::numeric_limits<double>::infinity(); }
double one_f_one_b_in_flight(int stage, int pp, int) noexcept { return pp - stage; }
double interleaved_in_flight(int stage, int pp, int vp) noexcept {
  return (2.0 * (pp - stage - 1) + (vp - 1.0) * pp + 1) / vp;
}
double as_first_in_flight(int, int pp, int) noexcept { return pp; }
double h2_in_flight(int, int pp, int) noexcept { return 2 * pp - 1; }
double dual_in_flight(int, int pp, int) noexcept { return pp + 1; }

/// Without these many the hand-made orders of the folded schedules have nothing to fill their ramps with.
int v_least(int pp) noexcept { return 2 * pp - 1; }
int dual_least(int pp) noexcept { return 2 * pp; }

}  // namespace

namespace schedule_rows {

constinit const ScheduleRow gpipe{.name = "gpipe",
                                  .citation = "Huang et al. 2019, GPipe",
                                  .order = orders::gpipe,
                                  .bubble = whole_ramp,
                                  .in_flight = all_in_flight,
                                  .dominated_by = &one_f_one_b,
                                  .torchtitan = "GPipe",
                                  .nanotron = "afab"};

constinit const ScheduleRow one_f_one_b{.name = "1f1b",
                                        .citation = "Narayanan et al. 2019, PipeDream",
                                        .order = orders::one_f_one_b,
                                        .bubble = whole_ramp,
                                        .in_flight = one_f_one_b_in_flight,
                                        .with_virtual_stages = &interleaved,
                                        .torchtitan = "1F1B",
                                        .nanotron = "1f1b"};

constinit const ScheduleRow interleaved{.name = "interleaved",
                                        .citation = "Narayanan et al. 2021, Megatron-LM, section 2.2",
                                        .chunks = 0,
                                        .overlaps_sends = true,
                                        .order = orders::interleaved,
                                        .bubble = interleaved_ramp,
                                        .in_flight = interleaved_in_flight,
                                        .without_virtual_stages = &one_f_one_b,
                                        .torchtitan = "Interleaved1F1B"};

// As many activations on every stage as 1F1B has on the first.
constinit const ScheduleRow zero_bubble_h1{.name = "zb-h1",
                                           .citation = "Qi et al. 2023, Zero Bubble Pipeline Parallelism",
                                           .barrier = false,
                                           .fills_ramp = true,
                                           .order = orders::zero_bubble_h1,
                                           .bubble = h1_ramp,
                                           .in_flight = as_first_in_flight};

constinit const ScheduleRow zero_bubble_h2{.name = "zb-h2",
                                           .citation = "Qi et al. 2023, Zero Bubble Pipeline Parallelism",
                                           .barrier = false,
                                           .fills_ramp = true,
                                           .order = orders::zero_bubble_h2,
                                           .bubble = h2_ramp,
                                           .in_flight = h2_in_flight};

constinit const ScheduleRow zero_bubble_v{.name = "zb-v",
                                          .citation = "Qi et al. 2024, Pipeline Parallelism with Controllable Memory",
                                          .chunks = 2,
                                          .folds = true,
                                          .barrier = false,
                                          .fills_ramp = true,
                                          .order = orders::zero_bubble_v,
                                          .bubble = v_ramp,
                                          .in_flight = as_first_in_flight,
                                          .least_micro_batches = v_least,
                                          .torchtitan = "ZBVZeroBubble"};

// Both directions run through every stage, each with half of the micro-batches.
constinit const ScheduleRow dual_pipe{.name = "dualpipe",
                                      .citation = "DeepSeek-V3 Technical Report 2024, section 3.2.1",
                                      .chunks = 2,
                                      .folds = true,
                                      .weight_copies = 2,
                                      .overlaps_experts = true,
                                      .fills_ramp = true,
                                      .order = orders::dual_pipe,
                                      .bubble = dual_ramp,
                                      .in_flight = dual_in_flight,
                                      .least_micro_batches = dual_least,
                                      .multiple = 2,
                                      .torchtitan = "DualPipeV"};

}  // namespace schedule_rows

std::span<const PipelineSchedule> pipeline_schedules() {
  using namespace schedule_rows;
  static constexpr std::array<PipelineSchedule, 7> table = {
      {gpipe, one_f_one_b, interleaved, zero_bubble_h1, zero_bubble_h2, zero_bubble_v, dual_pipe}};
  return table;
}

std::span<const std::string_view> schedule_names() {
  static const std::vector<std::string_view> names = [] {
    std::vector<std::string_view> all;
    for (const PipelineSchedule schedule : pipeline_schedules()) all.push_back(name(schedule));
    return all;
  }();
  return names;
}

PipelineSchedule schedule_in(std::string_view text) {
  std::string folded = folded_name(text);
  constexpr std::string_view long_word = "zerobubble";
  std::string shortened = folded;
  if (const std::size_t at = shortened.find(long_word); at != std::string::npos) shortened.replace(at, 10, "zb");
  PipelineSchedule found = PipelineSchedule::one_f_one_b;
  std::size_t longest = 0;
  for (const PipelineSchedule schedule : pipeline_schedules()) {
    for (const std::string_view spelled : {schedule->name, schedule->torchtitan, schedule->nanotron}) {
      const std::string word = folded_name(spelled);
      if (word.size() <= longest) continue;
      if (folded.find(word) == std::string::npos && shortened.find(word) == std::string::npos) continue;
      found = schedule, longest = word.size();
    }
  }
  const bool some_zero_bubble = shortened.find("zb") != std::string::npos;
  return longest == 0 && some_zero_bubble ? PipelineSchedule::zero_bubble_h1 : found;
}

std::size_t index_of(PipelineSchedule schedule) noexcept {
  const auto table = pipeline_schedules();
  return static_cast<std::size_t>(std::find(table.begin(), table.end(), schedule) - table.begin());
}

}  // namespace meshwright::parallel
