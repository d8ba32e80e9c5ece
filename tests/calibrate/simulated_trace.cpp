#include "calibrate/simulated_trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <random>

#include "meshwright/parallel/kernel_times.hpp"

namespace meshwright::calibrate {
namespace {

constexpr int steps = 3, layers_drawn = 4, passes_drawn = 6;
constexpr std::size_t pipeline = 3, data = 4;

/// Seconds of one step that a rank's time line is made of.
struct Plan {
  KernelTimes kernels;
  double optimizer = 0, gaps = 0;
  std::array<double, 5> alone{}, beside{};  ///< communication outside compute, and behind it
  std::array<double, 5> stretch = {1, 1, 1, 1, 1};
  bool fallback = false;
};

Plan plan_of(const Job& job, const Prediction& p, int stage) {
  Plan plan;
  plan.kernels = stage_kernels(job, p.layout, stage);
  plan.optimizer = p.time.optimizer.value();
  plan.gaps = p.time.host.value();
  plan.alone = {p.time.tensor_parallel.value(), p.time.context_parallel.value(), p.time.expert_parallel.value(),
                (p.time.pipeline + p.time.bubble).value(), p.time.data_parallel.value()};
  plan.beside = {p.hidden.tensor_parallel.value(), 0, p.hidden.expert_parallel.value(), 0,
                 p.hidden.data_parallel.value()};
  return plan;
}

/// Puts kernels on a time line.
struct Line {
  RankTrace& trace;
  std::mt19937& random;
  double now = 0;

  double noisy(double seconds) { return seconds * std::max(0.3, std::normal_distribution<>(1, 0.05)(random)); }
  void put(double start, double seconds, KernelKind kind, short stream, TracedCollective does = {}, int group = -1,
           float bytes = 0) {
    trace.kernels.push_back({start, start + seconds, bytes, group, stream, kind, does});
  }
  void compute(double seconds, KernelKind kind) {
    const double t = noisy(seconds);
    put(now, t, kind, 0);
    now += t;
  }
  void alone(double seconds, std::size_t axis, TracedCollective does) {
    const double t = noisy(seconds);
    put(now, t, KernelKind::collective, static_cast<short>(1 + axis), does, static_cast<int>(axis), 1024);
    now += t;
  }
  /// Beside what has been computed since `from`; what outlasts it holds the rest up.
  void beside(double from, double seconds, std::size_t axis, TracedCollective does) {
    const double t = noisy(seconds);
    now = std::max(now, from + t);
    // Of a size of its own, since it takes a time of its own.
    put(from, t, KernelKind::collective, static_cast<short>(1 + axis), does, static_cast<int>(axis), 2048);
  }
};

constexpr std::array<TracedCollective, 5> usual = {TracedCollective::all_gather, TracedCollective::send_recv,
                                                   TracedCollective::all_to_all, TracedCollective::send_recv,
                                                   TracedCollective::reduce_scatter};

void draw_layer(Line& line, const Plan& plan, double share) {
  const double gap = plan.gaps * share / 6;
  const double from = line.now;
  line.compute(plan.kernels.gemm.value() * share / 2, KernelKind::gemm);
  line.now += gap;
  if (plan.fallback) {
    line.compute(plan.kernels.attention.value() * share * 0.6, KernelKind::gemm);
    line.compute(plan.kernels.attention.value() * share * 0.4, KernelKind::attention_fallback);
  } else if (plan.kernels.attention.value() > 0) {
    line.compute(plan.kernels.attention.value() * share, KernelKind::attention);
  }
  line.now += gap;
  line.compute(plan.kernels.memory_bound.value() * share, KernelKind::memory_bound);
  line.now += gap;
  if (plan.kernels.grouped_gemm.value() > 0)
    line.compute(plan.kernels.grouped_gemm.value() * share, KernelKind::grouped_gemm);
  line.now += gap;
  line.compute(plan.kernels.gemm.value() * share / 2, KernelKind::gemm);
  for (std::size_t a = 0; a < 3; ++a) {
    if (plan.beside[a] > 0) line.beside(from, plan.stretch[a] * plan.beside[a] * share, a, usual[a]);
  }
  if (plan.beside[data] > 0) line.beside(from, plan.stretch[data] * plan.beside[data] * share, data, usual[data]);
  line.now += 2 * gap;
  for (std::size_t a = 0; a < 3; ++a) {
    if (plan.alone[a] > 0) line.alone(plan.stretch[a] * plan.alone[a] * share, a, usual[a]);
  }
}

void draw_step(Line& line, const Plan& plan) {
  constexpr double share = 1.0 / (layers_drawn * passes_drawn);
  for (int pass = 0; pass < passes_drawn; ++pass) {
    if (plan.alone[pipeline] > 0) line.alone(plan.alone[pipeline] / passes_drawn, pipeline, usual[pipeline]);
    for (int layer = 0; layer < layers_drawn; ++layer) draw_layer(line, plan, share);
  }
  for (int bucket = 0; bucket < 4; ++bucket) {
    if (plan.alone[data] > 0) line.alone(plan.stretch[data] * plan.alone[data] / 4, data, usual[data]);
  }
  for (int i = 0; i < 4; ++i) line.compute(plan.optimizer / 4, KernelKind::optimizer);
}

/// How much slower transfers must be to cost `extra`: what is hidden first fills the compute that it runs beside.
double stretch_of(const Plan& plan, std::size_t axis, double extra) {
  const double window = std::max(plan.beside[axis], plan.kernels.total().value());
  double low = 1, high = 1e4;
  for (int i = 0; i < 60; ++i) {
    const double s = (low + high) / 2;
    const double cost = (s - 1) * plan.alone[axis] + std::max(0.0, s * plan.beside[axis] - window);
    (cost < extra ? low : high) = s;
  }
  return high;
}

/// The fault in the plan of a rank; the others wait in what they do with it.
void apply(const Fault& fault, double extra, int stage, bool first_of_stage, bool first_rank, Plan& plan) {
  switch (fault.cause) {
    case Cause::slow_link:
      plan.stretch[fault.axis] = stretch_of(plan, fault.axis, extra);
      break;
    case Cause::no_overlap:
      plan.alone[fault.axis] += plan.beside[fault.axis];
      plan.beside[fault.axis] = 0;
      break;
    case Cause::attention_fallback: {
      plan.fallback = true;
      const double attention = plan.kernels.attention.value();
      plan.kernels.attention = Seconds::base(attention + extra);
      break;
    }
    case Cause::host_bound:
      if (fault.stage < 0 || stage == fault.stage) {
        plan.gaps += extra;
      } else {
        plan.alone[pipeline] += extra;
      }
      break;
    case Cause::slow_rank: {
      if (first_rank) {
        plan.kernels = (1 + extra / plan.kernels.total().value()) * plan.kernels;
      } else if (stage == 0 && !first_of_stage) {
        plan.alone[data] += extra;
      } else {
        plan.alone[pipeline] += extra;
      }
      break;
    }
    case Cause::slow_kernels:
      plan.kernels.gemm += Seconds::base(extra);
      break;
    case Cause::waiting:
      break;
  }
}

}  // namespace

std::vector<RankTrace> simulated_traces(const Job& job, const Prediction& prediction, const Fault& fault,
                                        unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<> error(1, 0.05);  // of the model, shared by all ranks
  const std::array bias = {error(random), error(random), error(random), error(random), error(random)};
  const Layout& l = prediction.layout;
  const int a_stage = job.accelerators / l.pp;
  std::vector<RankTrace> traces;
  for (int stage = 0; stage < l.pp; ++stage) {
    for (int twin = 0; twin < (l.dp > 1 ? 2 : 1); ++twin) {
      RankTrace trace;
      trace.rank = stage * a_stage + twin * l.tp * l.cp;
      trace.device = job.cluster.accelerator.name;
      trace.groups = {{"TENSOR_MODEL_PARALLEL_GROUP", l.tp},
                      {"CONTEXT_PARALLEL_GROUP", l.cp},
                      {"EXPERT_MODEL_PARALLEL_GROUP", l.ep},
                      {"PIPELINE_MODEL_PARALLEL_GROUP", l.pp},
                      {"DATA_PARALLEL_GROUP", l.dp}};
      trace.streams = {"7", "20", "21", "22", "23", "24"};
      Plan plan = plan_of(job, prediction, stage);
      plan.kernels = {bias[0] * plan.kernels.gemm, bias[1] * plan.kernels.grouped_gemm,
                      bias[2] * plan.kernels.attention, bias[3] * plan.kernels.memory_bound};
      for (double& t : plan.alone) t *= bias[4];
      apply(fault, fault.share * prediction.step_time.value(), stage, twin == 0, stage == 0 && twin == 0, plan);
      Line line{trace, random};
      line.now = 100;
      for (int step = 0; step < steps; ++step) draw_step(line, plan);
      std::ranges::sort(trace.kernels, {}, &TraceKernel::start);
      traces.push_back(std::move(trace));
    }
  }
  return traces;
}

std::string kineto_json(const RankTrace& trace) {
  static constexpr std::array names = {"nvjet_hsh_128x256_64x4_1x2_h_bz_coopA_NTT",
                                       "void cutlass::device_kernel<GroupProblemShape>()",
                                       "void flash::flash_fwd_kernel<Flash_fwd_traits<128, 128, 64>>()",
                                       "void scaled_upper_triang_masked_softmax_warp_forward<bfloat16>()",
                                       "void at::native::vectorized_elementwise_kernel<4>()",
                                       "void multi_tensor_apply_kernel<AdamFunctor<float>>()",
                                       "Memcpy DtoD (Device -> Device)",
                                       "ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)"};
  std::string out = fmt::format(
      R"({{"schemaVersion": 1, "deviceProperties": [{{"id": 0, "name": "{}", "totalGlobalMem": 85045805056}}],
 "distributedInfo": {{"backend": "nccl", "rank": {}, "world_size": 32, "pg_count": 5, "pg_config": []}},
 "traceEvents": [{{"ph": "M", "name": "process_name", "pid": 0, "tid": 0, "args": {{"name": "python"}}}},
)",
      trace.device, trace.rank);
  out +=
      R"({"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 1.0, "dur": 5.0, "args": {"External id": 7}})";
  for (const TraceKernel& k : trace.kernels) {
    const bool collective = k.kind == KernelKind::collective;
    out += fmt::format(
        ",\n{{\"ph\": \"X\", \"cat\": \"{}\", \"name\": \"{}\", \"pid\": 0, \"tid\": {}, \"ts\": {:.3f}, \"dur\": "
        "{:.3f}, "
        "\"args\": {{\"device\": 0, \"stream\": {}",
        k.kind == KernelKind::copy ? "gpu_memcpy" : "kernel", names[static_cast<std::size_t>(k.kind)],
        trace.streams[static_cast<std::size_t>(k.stream)], 1e6 * k.start, 1e6 * (k.end - k.start),
        trace.streams[static_cast<std::size_t>(k.stream)]);
    if (collective) {
      const TraceGroup& g = trace.groups[static_cast<std::size_t>(k.group)];
      out += fmt::format(
          R"(, "Collective name": "{}", "In msg nelems": 512, "Out msg nelems": 256, "dtype": "BFloat16", "Group size": {}, "Process Group Description": "{}")",
          name(k.collective), g.size, g.description);
    }
    out += "}}";
  }
  return out + "]}\n";
}

}  // namespace meshwright::calibrate
