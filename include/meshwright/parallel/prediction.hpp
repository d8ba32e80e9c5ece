#pragma once
// What a prediction says: disjoint terms along the critical path, memory at the worst stage, and how far to trust them.
#include <optional>
#include <string>
#include <string_view>
#include <utility>
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

/// The one field list of StepTime: name, value.
template <class V>
constexpr void describe(const StepTime& t, V&& visit) {
  visit("compute", t.compute);
  visit("recompute", t.recompute);
  visit("tensor_parallel", t.tensor_parallel);
  visit("context_parallel", t.context_parallel);
  visit("expert_parallel", t.expert_parallel);
  visit("pipeline", t.pipeline);
  visit("data_parallel", t.data_parallel);
  visit("bubble", t.bubble);
  visit("optimizer", t.optimizer);
  visit("host", t.host);
}
/// Sum of the fields.
constexpr Seconds total(const StepTime& t) {
  Seconds sum{};
  describe(t, [&](const char*, Seconds part) { sum += part; });
  return sum;
}
/// Exposed communication: tensor, context, expert, pipeline and data parallel.
constexpr Seconds communication(const StepTime& t) {
  return t.tensor_parallel + t.context_parallel + t.expert_parallel + t.pipeline + t.data_parallel;
}
static_assert(sizeof(StepTime) == 10 * sizeof(Seconds), "a new field of StepTime belongs into describe()");

/// Communication that runs behind compute.
struct Hidden {
  Seconds tensor_parallel, expert_parallel, data_parallel;
};

/// Bytes of one device at the worst stage.
struct Memory {
  Bytes weights, gradients, optimizer, activations, logits, buffers, context;
  int stage = 0;      ///< the worst one
  Bytes allocated{};  ///< sum without context
  Bytes reserved{};   ///< allocated with fragmentation, and context: what has to fit
};
template <class V>
constexpr void describe(const Memory& m, V&& visit) {
  visit("weights", m.weights);
  visit("gradients", m.gradients);
  visit("optimizer", m.optimizer);
  visit("activations", m.activations);
  visit("logits", m.logits);
  visit("buffers", m.buffers);
  visit("context", m.context);
}

enum class Fit { fits, borderline, does_not_fit };

struct Prediction {
  Layout layout;        ///< with every default of the stack stated
  Placement placement;  ///< where its ranks, layers and states are
  StepTime time;
  Hidden hidden;
  Memory memory;
  Fit fit = Fit::fits;
  Seconds step_time{};   ///< total(time)
  Seconds p10{}, p90{};  ///< band from the residuals of its class in docs/accuracy.md
  double tokens_per_s_per_gpu = 0;
  double mfu = 0, hfu = 0;  ///< FlopsConvention::causal over the dense peak of the GEMM format
  double model_flops = 0;   ///< a step, all devices
  double comm_share = 0;    ///< communication(time) / step_time
  Evidence evidence = Evidence::data_sheet;
  std::vector<std::string> warnings;  ///< outside calibration, comm_share over 20 %, borderline memory, ...
  std::vector<std::string> assumptions;
};

/// The first rule that refuses the layout, in words, or nothing.
std::optional<Violation> violation(const Job& job, const Layout& layout);
/// Time and memory of a layout. Constraints of the framework are not checked: call violation() first. Never throws for
/// a layout whose degrees multiply to job.accelerators.
Prediction predict(const Job& job, const Layout& layout);
class Tables;
/// The same from tables of that job, which keep what the layout adds; equal bit for bit.
Prediction predict(const Job& job, const Layout& layout, Tables& tables);
/// The largest exposed communication of a step, and what would make it smaller.
std::pair<std::string_view, Seconds> largest_communication(const StepTime& time);
std::string_view communication_advice(std::string_view term);
/// The whole explanation as a tree in seconds: the fields of StepTime with formulas, parameters and sources under them.
Term explain(const Job& job, const Prediction& prediction);

}  // namespace meshwright::parallel
