#include <algorithm>
#include <cmath>

#include "meshwright/core/units.hpp"
#include "meshwright/hardware/host.hpp"
#include "meshwright/parallel/band.hpp"
#include "meshwright/parallel/constraints.hpp"
#include "meshwright/parallel/memory.hpp"
#include "meshwright/parallel/placement.hpp"
#include "meshwright/parallel/prediction.hpp"
#include "meshwright/parallel/stages.hpp"
#include "meshwright/parallel/step.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace meshwright::parallel {
namespace {

constexpr double worth_saying = 0.001;  ///< of a step, by which runs of layouts alike move it

/// Of the layers, those that full recompute does again.
double recomputed_share(const Job& job, const Layout& layout) {
  double again = 0, all = 0;
  for (const Chunk& chunk : pipeline_chunks(job.model, job.framework, layout)) {
    all += chunk.layers;
    for (int i = 0; i < chunk.layers; ++i) again += keeps_layer(layout, i) ? 0 : 1;
  }
  return again / all;
}

/// Hardware over model FLOPs: what recompute does again, in forward passes of the blocks (full) or of the attention
/// core (selective).
double repeated_work(const Job& job, const Layout& layout) {
  if (layout.recompute == Recompute::none) return 1;
  const Transformer& m = job.model;
  const double all = flops_per_token(m, job.document_len, FlopsConvention::causal);
  if (layout.recompute == Recompute::full)
    return 1 + recomputed_share(job, layout) * (all - 6.0 * m.vocab * m.hidden) / (3 * all);
  // A single token attends to next to nothing.
  const double attention = all - flops_per_token(m, 1, FlopsConvention::causal);
  return 1 + attention / (3 * all);
}

/// What is held in host memory, where that comes near what a node has or nobody says what it has.
void add_host_memory(Prediction& p, const Job& job) {
  const hardware::HostMemory& host = hardware::host_memory();
  const Bytes held = p.memory.host, likely = host.buffers * held, has = job.cluster.node.host_memory;
  if (more_than_host(has, p.memory)) {
    p.warnings.push_back(
        fmt::format("host memory: does not hold what is moved there: {} a node, of {}; move less, or "
                    "share it among more nodes",
                    format(held), format(has)));
    return;
  }
  if (held <= Bytes{} || (has > Bytes{} && likely <= (1 - host.left_to_others) * has)) return;
  p.warnings.push_back(fmt::format("host memory: a node holds {} at least and {} with buffers, of {}", format(held),
                                   format(likely),
                                   has > Bytes{} ? format(has) : "what nobody says of " + job.cluster.node.name));
}

/// What stands before the first step, where that decides: on the device, or in host memory where ranks build the model.
void add_start_up(Prediction& p, const Job& job) {
  if (p.memory.start_up > Bytes{} && p.fit != Fit::fits) {
    p.warnings.push_back(
        fmt::format("device memory: the peak is before the first step, {} above any step's; more tensor, "
                    "expert or pipeline ranks hold less of the model then",
                    format(p.memory.start_up)));
  }
  const Bytes built = host_start_up(job, p.layout), has = job.cluster.node.host_memory;
  if (has <= Bytes{} || built <= (1 - hardware::host_memory().left_to_others) * has) return;
  p.warnings.push_back(
      fmt::format("host memory: {} a node, of {}, where every rank builds its weights there before the "
                  "first step; build them on the meta device, or load them on one rank of a node",
                  format(built), format(has)));
}

void add_warnings(Prediction& p, const Job& job) {
  if (p.comm_share > 0.2) {
    const StepField& most = largest_communication(p.time);
    p.warnings.push_back(fmt::format("communication is {:.0f} % of the step, most of it {} ({}): {}",
                                     100 * p.comm_share, most.name, format(p.time.*most.value), most.advice));
  }
  if (p.fit != Fit::fits && p.fit != Fit::does_not_fit) {
    p.warnings.push_back(
        fmt::format("device memory is {}: {:.0f} % that it fits, by how far peaks of {} lie from "
                    "predicted ones",
                    p.fit == Fit::borderline ? "borderline" : std::string(name(p.fit)) + " to suffice",
                    100 * p.fits_probability, job.framework.name));
  }
  if (p.fit == Fit::does_not_fit && !more_than_host(job.cluster.node.host_memory, p.memory)) {
    const MemoryField& most = largest_part(p.memory);
    p.warnings.push_back(fmt::format("device memory: does not fit, most of it {} ({}): {}", most.name,
                                     format(p.memory.*most.value), most.advice));
  }
  add_host_memory(p, job);
  add_start_up(p, job);
  if (!trains_with(job.framework, job.precision)) {
    p.warnings.push_back(fmt::format("precision: {} is not known to train in {}, but in {}", job.framework.name,
                                     job.precision.name, fmt::join(job.framework.rules.precisions, ", ")));
  }
  const GemmEfficiency& gemm = job.cluster.accelerator.efficiency.of(job.precision.gemm);
  if (gemm.evidence == Evidence::extrapolated || gemm.evidence == Evidence::data_sheet) {
    p.warnings.push_back(fmt::format("{} in {} was not measured: its GEMM efficiency is {}",
                                     job.cluster.accelerator.name, job.precision.name,
                                     gemm.evidence == Evidence::data_sheet ? "assumed" : "carried over from kin"));
  }
}

}  // namespace

FlopsPerSecond mfu_peak(const Job& job) {
  const Accelerator& device = job.cluster.accelerator;
  const FlopsPerSecond peak = std::max(device.peak(job.precision.gemm), device.peak(job.precision.rest));
  return peak.value() > 0 ? peak : device.peak(DType::bf16);
}

Prediction predict(const Job& job, const Layout& layout) {
  Tables tables(job);
  return predict(job, layout, tables);
}

Prediction predict(const Job& job, const Layout& given, Tables& tables) {
  const Layout layout = complete(job, given);
  const Step step = step_time(tables.constants(), tables.entries(layout), layout);
  Prediction p;
  p.layout = layout, p.placement = placement(job, layout);
  p.time = step.time, p.hidden = step.hidden;
  p.step_time = total(step.time);
  p.memory = memory(job, layout);
  const Band peak = memory_band(job);
  p.memory_p10 = p.memory.reserved * peak.low, p.memory_p90 = p.memory.reserved * peak.high;
  p.fits_probability = fits_probability(peak, job, p.memory);
  p.fit = fit(p.fits_probability);
  const double tokens = static_cast<double>(job.global_batch) * job.seq_len;
  p.model_flops = tokens * flops_per_token(job.model, job.document_len, FlopsConvention::causal);
  const double device_seconds = p.step_time.value() * job.accelerators;
  p.tokens_per_s_per_gpu = tokens / device_seconds;
  p.mfu = p.model_flops / (device_seconds * mfu_peak(job).value());
  p.hfu = p.mfu * repeated_work(job, layout);
  p.comm_share = communication(p.time) / p.step_time;
  p.evidence = evidence_of(job);
  const Band band = band_of(job, layout);
  p.p10 = p.step_time * band.low;
  p.p90 = p.step_time * band.high;
  p.assumptions = job.assumptions;
  const double like_own = times_of(tables.constants(), layout) / job.framework.work_time;
  if (std::abs(like_own - 1) >= worth_saying)
    p.assumptions.push_back(
        fmt::format("layouts like this one take {:.3g} times what figures say (own runs)", like_own));
  add_warnings(p, job);
  return p;
}

}  // namespace meshwright::parallel
