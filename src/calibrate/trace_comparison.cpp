#include "meshwright/calibrate/trace_comparison.hpp"

#include <fmt/format.h>

#include "calibrate/trace_causes.hpp"
#include "meshwright/core/error.hpp"
#include "meshwright/parallel/kernel_times.hpp"

namespace meshwright::calibrate {
namespace {

/// The prediction in a trace's terms for one stage.
ExpectedStep expected_step(const Job& job, const Prediction& p, int stage) {
  const KernelTimes kernels = stage_kernels(job, p.layout, stage);
  ExpectedStep e;
  e.gemm = kernels.gemm.value(), e.grouped_gemm = kernels.grouped_gemm.value();
  e.attention = kernels.attention.value(), e.memory_bound = kernels.memory_bound.value();
  e.optimizer = p.time.optimizer.value();
  const std::array exposed = {p.time.tensor_parallel, p.time.context_parallel, p.time.expert_parallel,
                              p.time.pipeline + p.time.bubble, p.time.data_parallel};
  const std::array hidden = {p.hidden.tensor_parallel, Seconds{}, p.hidden.expert_parallel, Seconds{},
                             p.hidden.data_parallel};
  for (std::size_t a = 0; a < trace_axes.size(); ++a)
    e.exposed[a] = exposed[a].value(), e.hidden[a] = hidden[a].value();
  e.pipeline_send = p.time.pipeline.value();
  e.host = p.time.host.value();
  e.step = p.step_time.value();
  return e;
}

std::vector<TraceTerm> terms_of(const TracedStep& t, const ExpectedStep& e) {
  const auto kernel = [&](KernelKind k) { return t.kernels[static_cast<std::size_t>(k)]; };
  std::vector<TraceTerm> terms = {
      {"gemm", kernel(KernelKind::gemm), e.gemm},
      {"grouped gemm", kernel(KernelKind::grouped_gemm), e.grouped_gemm},
      {"attention", kernel(KernelKind::attention) + kernel(KernelKind::attention_fallback), e.attention},
      {"memory-bound", kernel(KernelKind::memory_bound) + kernel(KernelKind::copy), e.memory_bound},
      {"optimizer", kernel(KernelKind::optimizer), e.optimizer}};
  constexpr std::array names = {"tensor parallel", "context parallel", "expert parallel", "pipeline and bubble",
                                "data parallel"};
  for (std::size_t a = 0; a < trace_axes.size(); ++a) terms.push_back({names[a], t.axes[a].exposed, e.exposed[a]});
  terms.push_back({"idle (host)", t.idle, e.host});
  return terms;
}

}  // namespace

TraceComparison compare_traces(const Job& job, const Prediction& prediction, std::span<const RankTrace> traces) {
  TraceComparison result;
  std::vector<TracedRank> ranks;
  for (const RankTrace& trace : traces) {
    if (trace.rank >= job.accelerators) {
      throw Error(trace.path,
                  fmt::format("the trace is of rank {}, the job has {} accelerators", trace.rank, job.accelerators));
    }
    TracedRank r;
    r.traced = traced_step(trace, prediction.layout);
    r.stage = pipeline_stage(prediction.layout, job.framework, trace.rank);
    r.expected = expected_step(job, prediction, r.stage);
    result.ranks.push_back({r.traced, r.stage, terms_of(r.traced, r.expected), r.expected.step});
    ranks.push_back(std::move(r));
  }
  result.findings = causes_of(job, ranks);
  return result;
}

}  // namespace meshwright::calibrate
