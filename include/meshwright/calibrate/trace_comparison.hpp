#pragma once
// A traced step beside its prediction: term by term, and what is slow against the model.
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "meshwright/calibrate/trace.hpp"
#include "meshwright/parallel/prediction.hpp"

namespace meshwright::calibrate {

/// One term of a rank's step: a kind of kernel, an axis of communication outside compute, or nothing running.
struct TraceTerm {
  std::string name;
  double measured = 0, predicted = 0;  ///< seconds of a step
};

struct RankComparison {
  TracedStep traced;
  int stage = 0;                 ///< pipeline stage of the rank, by the order tp, cp, ep, dp, pp
  std::vector<TraceTerm> terms;  ///< measured ones sum to the traced step
  double predicted_step = 0;
};

/// What makes a step slower than predicted.
enum class Cause {
  slow_kernels,        ///< one kind of kernel takes longer than the device's measured rate says
  attention_fallback,  ///< attention runs as separate products and softmax where the stack has a fused kernel
  slow_link,           ///< transfers of one axis take longer than the link's measured rate says
  no_overlap,          ///< communication that the stack hides runs alone
  host_bound,          ///< the GPU waits for launches
  slow_rank,           ///< one rank's kernels take longer than its peers'
  waiting              ///< communication waits for other ranks: a consequence, which a trace of more ranks explains
};
inline constexpr std::array<std::string_view, 7> cause_names = {
    "slow_kernels", "attention_fallback", "slow_link", "no_overlap", "host_bound", "slow_rank", "waiting"};
constexpr std::string_view name(Cause c) { return cause_names[static_cast<std::size_t>(c)]; }

struct TraceFinding {
  Cause cause{};
  std::string of{};     ///< kind of kernel or axis; "" where the cause needs none
  int rank = -1;        ///< where it is one rank's
  int stage = -1;       ///< where it is one stage's
  double seconds = 0;   ///< of a step, beyond the prediction
  double share = 0;     ///< of the traced step
  std::string words{};  ///< what is slow and by how much
  std::string check{};  ///< what to look at
};

struct TraceComparison {
  std::vector<RankComparison> ranks;
  std::vector<TraceFinding> findings;  ///< the costliest first; those below 2 % of the step are not listed
};

/// Lays traces of one or several ranks beside the prediction of the job's layout. A rank's kernels are predicted for
/// its own pipeline stage; exposed communication, optimizer and host as the prediction has them. Throws Error(path,
/// ...) for a trace of more ranks than the job has.
TraceComparison compare_traces(const Job& job, const Prediction& prediction, std::span<const RankTrace> traces);

}  // namespace meshwright::calibrate
