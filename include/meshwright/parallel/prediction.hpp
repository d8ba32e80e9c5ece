#pragma once
// What a prediction says: disjoint terms along the critical path, memory at the worst stage, and how far to trust them.
#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "meshwright/core/breakdown.hpp"
#include "meshwright/core/error.hpp"
#include "meshwright/hardware/provenance.hpp"
#include "meshwright/parallel/job.hpp"
#include "meshwright/parallel/placement.hpp"

namespace meshwright::parallel {

/// Disjoint terms along the critical path; what is hidden is reported beside (Hidden), never inside.
struct StepTime {
  Seconds compute;    ///< forward and backward of the worst stage's micro-batches, GPU time
  Seconds recompute;  ///< forward work done again
  Seconds tensor_parallel, context_parallel, expert_parallel;  ///< exposed
  Seconds pipeline;                                            ///< exposed sends between stages
  Seconds data_parallel;                                       ///< exposed gradient reduction and parameter gathers
  Seconds bubble;                                              ///< pipeline idle, stage imbalance included
  Seconds optimizer;
  Seconds host;  ///< waiting for kernel launches; step overhead
};

/// Communication that runs behind compute.
struct Hidden {
  Seconds tensor_parallel, expert_parallel, data_parallel;
};

struct Explained;

/// One field of a step, with everything that is said of it: table, JSON, explanation and what-if read these rows.
struct StepField {
  const char* name;  ///< "tensor_parallel"
  Seconds StepTime::*value;
  Seconds Hidden::*hidden = nullptr;  ///< the same work behind compute, where there is any
  bool communication = false;
  Group Groups::*group = nullptr;  ///< of the ranks that communicate
  const char* advice = "";         ///< what would make it smaller
  std::string (*formula)(const Explained&) = nullptr;
  std::string (*parameter)(const Explained&) = nullptr;  ///< what it rests on, with its source
  std::vector<Term> (*parts)(const Explained&) = nullptr;
};
/// One row a field of StepTime.
std::span<const StepField> step_fields();
/// visit(name, value) for each field.
template <class V>
void describe(const StepTime& t, V&& visit) {
  for (const StepField& field : step_fields()) visit(field.name, t.*field.value);
}
/// Sum of the fields.
Seconds total(const StepTime& time) noexcept;
Seconds total(const Hidden& hidden) noexcept;
/// Exposed communication: tensor, context, expert, pipeline and data parallel.
Seconds communication(const StepTime& time) noexcept;
/// The largest exposed communication of a step.
const StepField& largest_communication(const StepTime& time) noexcept;

/// Bytes of one device at the worst stage.
struct Memory {
  Bytes weights, gradients, optimizer, activations, logits, update, buffers, context;
  Bytes start_up{};   ///< what stands before the first step, beyond all that a step needs: 0 where a step takes more
  Bytes host{};       ///< what the ranks of one node hold in host memory: states and activations moved there
  int stage = 0;      ///< the worst one
  Bytes allocated{};  ///< sum without context
  Bytes reserved{};   ///< allocated with fragmentation, and context: what has to fit
};
struct Prediction;
/// One field of a device's memory, with everything that is said of it.
struct MemoryField {
  const char* name;  ///< "activations"
  Bytes Memory::*value;
  const char* advice = "";  ///< what would make it smaller
  std::string (*formula)(const Job&, const Prediction&) = nullptr;
};
/// One row a part of Memory.
std::span<const MemoryField> memory_fields();
/// visit(name, value) for each part.
template <class V>
void describe(const Memory& m, V&& visit) {
  for (const MemoryField& field : memory_fields()) visit(field.name, m.*field.value);
}
const MemoryField& largest_part(const Memory& memory) noexcept;

/// By the probability that the peak stays below what the device can hold: above 0.9, 0.7, 0.3 and 0.1.
enum class Fit { fits, likely, borderline, unlikely, does_not_fit };
inline constexpr std::array<std::string_view, 5> fit_names = {"fits", "likely", "borderline", "unlikely",
                                                              "does not fit"};
constexpr std::string_view name(Fit fit) { return fit_names[static_cast<std::size_t>(fit)]; }

struct Prediction {
  Layout layout;        ///< with every default of the stack stated
  Placement placement;  ///< where its ranks, layers and states are
  StepTime time;
  Hidden hidden;
  Memory memory;
  Fit fit = Fit::fits;
  double fits_probability = 1;
  Bytes memory_p10{}, memory_p90{};  ///< band of memory.reserved, from the residuals of its class in docs/accuracy.md
  Seconds step_time{};               ///< total(time)
  Seconds p10{}, p90{};              ///< band from the residuals of its class in docs/accuracy.md
  double tokens_per_s_per_gpu = 0;
  double mfu = 0, hfu = 0;  ///< FlopsConvention::causal over the dense peak of the GEMM format
  double model_flops = 0;   ///< a step, all devices
  double comm_share = 0;    ///< communication(time) / step_time
  Evidence evidence = Evidence::data_sheet;
  std::vector<std::string> warnings;  ///< outside calibration, comm_share over 20 %, borderline memory, ...
  std::vector<std::string> assumptions;
};

/// Dense peak that MFU is against: of the GEMM format, or of what the rest runs in where that is faster (int8 on
/// devices that have next to none), or of bf16 where the device lacks both.
FlopsPerSecond mfu_peak(const Job& job);

/// The first rule that refuses the layout, in words, or nothing.
std::optional<Violation> violation(const Job& job, const Layout& layout);
/// Time and memory of a layout. Constraints of the framework are not checked: call violation() first. Never throws for
/// a layout whose degrees multiply to job.accelerators.
Prediction predict(const Job& job, const Layout& layout);
class Tables;
/// The same from tables of that job, which keep what the layout adds; equal bit for bit.
Prediction predict(const Job& job, const Layout& layout, Tables& tables);
/// The whole explanation as a tree in seconds: the fields of StepTime with formulas, parameters and sources under them.
Term explain(const Job& job, const Prediction& prediction);
/// The reserved memory of the worst stage as a tree in bytes: the fields of Memory, and what fragmentation adds.
Term explain_memory(const Job& job, const Prediction& prediction);

}  // namespace meshwright::parallel
