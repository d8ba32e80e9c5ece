// A rank's kernels as the terms of its mean step.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "calibrate/trace_kernels.hpp"
#include "meshwright/core/error.hpp"
#include "meshwright/core/quantile.hpp"

namespace meshwright::calibrate {
namespace {

constexpr std::size_t kinds = kernel_kind_names.size(), axes = trace_axes.size();
constexpr std::size_t tensor = 0, context = 1, expert = 2, pipeline = 3, data = 4;

/// The part of a trace that whole steps fill.
struct Window {
  double start = 0, end = 0;
  int steps = 1;
};

/// Ends of bursts of optimizer kernels: products between two of them begin another burst.
std::vector<double> optimizer_ends(const RankTrace& trace) {
  std::vector<double> ends;
  bool open = false;
  for (const TraceKernel& k : trace.kernels) {
    if (k.kind == KernelKind::optimizer) {
      if (open) {
        ends.back() = std::max(ends.back(), k.end);
      } else {
        ends.push_back(k.end);
      }
      open = true;
    } else if (k.kind == KernelKind::gemm || k.kind == KernelKind::grouped_gemm) {
      open = false;
    }
  }
  return ends;
}

Window window_of(const RankTrace& trace, std::vector<std::string>& notes) {
  const std::vector<double> ends = optimizer_ends(trace);
  if (ends.size() >= 2) return {ends.front(), ends.back(), static_cast<int>(ends.size()) - 1};
  double last = trace.kernels.front().end;
  for (const TraceKernel& k : trace.kernels) last = std::max(last, k.end);
  if (!trace.annotated_steps.empty()) {
    double start = trace.annotated_steps.front().first, end = start;
    for (const auto& [from, to] : trace.annotated_steps) start = std::min(start, from), end = std::max(end, to);
    notes.emplace_back("steps as the profiler marks them");
    return {start, end, static_cast<int>(trace.annotated_steps.size())};
  }
  notes.emplace_back("one optimizer burst at most and no marked step: the whole trace counts as one step");
  return {trace.kernels.front().start, last, 1};
}

/// What a family may be without a telling description.
struct Guess {
  std::size_t often = data, seldom = data;  ///< where it is the stream of that kind that runs most often, and else
  bool certain() const { return often == seldom; }
};

/// By what runs over it, and by its size where that is known. Layers exchange more often than stages, and than buckets.
Guess guess_of(TracedCollective does, int size, const Layout& l) {
  const std::size_t layers = l.ep > 1 ? expert : context;
  if (does == TracedCollective::all_to_all) return {layers, layers};
  if (does == TracedCollective::send_recv) {
    if (l.pp == 1) return {l.cp > 1 ? context : expert, l.cp > 1 ? context : expert};
    return {l.ep > 1 || l.cp > 1 ? layers : pipeline, pipeline};
  }
  const bool is_tensor = l.tp > 1 && (size == 0 || size == l.tp);
  const bool is_data = size == 0 || size == l.dp * l.cp || size == l.dp || (l.hsdp_shard > 0 && size == l.hsdp_shard);
  if (is_tensor != is_data) return is_tensor ? Guess{tensor, tensor} : Guess{data, data};
  if (l.tp == 1) return l.cp > 1 && size == l.cp ? Guess{context, context} : Guess{data, data};
  return {tensor, data};
}

/// Collectives that belong together: one group (or stream, where no group is said) and one kind.
struct Family {
  int group;
  short stream;
  TracedCollective does;
  auto operator<=>(const Family&) const = default;
};

Family family_of(const RankTrace& trace, const TraceKernel& k) {
  const bool said = k.group >= 0 && (!trace.groups[static_cast<std::size_t>(k.group)].description.empty() ||
                                     trace.groups[static_cast<std::size_t>(k.group)].size > 0);
  return {said ? k.group : -1, said ? short{0} : k.stream, k.collective};
}

/// Whether calls are those of layers where no other stream tells: a dozen layers make more of them than there are
/// stages or buckets of gradients.
constexpr double often = 64;

std::map<Family, std::size_t> axes_of(const RankTrace& trace, const Window& w, const Layout& layout) {
  std::map<Family, int> calls;
  for (const TraceKernel& k : trace.kernels) {
    if (k.kind == KernelKind::collective && k.start >= w.start && k.start < w.end) ++calls[family_of(trace, k)];
  }
  std::map<Family, std::size_t> out;
  std::map<Family, Guess> open;
  std::map<std::size_t, std::map<std::pair<int, short>, int>> streams;  ///< calls, by what they may be
  for (const auto& [family, count] : calls) {
    const TraceGroup group = family.group < 0 ? TraceGroup{} : trace.groups[static_cast<std::size_t>(family.group)];
    const auto told = axis_of_description(group.description);
    const Guess guess = told ? Guess{*told, *told} : guess_of(family.does, group.size, layout);
    out[family] = guess.seldom;
    if (guess.certain()) continue;
    open[family] = guess;
    streams[guess.often][{family.group, family.stream}] += count;
  }
  for (const auto& [family, guess] : open) {
    const auto& alike = streams[guess.often];
    const int own = alike.at({family.group, family.stream});
    const auto most = std::ranges::max_element(alike, {}, [](const auto& s) { return s.second; });
    if (alike.size() > 1 ? own == most->second : own >= often * w.steps) out[family] = guess.often;
  }
  return out;
}

/// An edge of a kernel on the time line.
struct Edge {
  double at;
  int change;        ///< +1 begins, -1 ends
  std::size_t what;  ///< KernelKind, or kinds + axis
};

/// Runs along the edges: each instant belongs to compute where some runs, else to communication, else to nothing.
void attribute(std::vector<Edge> edges, const Window& w, TracedStep& step) {
  std::ranges::sort(edges,
                    [](const Edge& a, const Edge& b) { return a.at != b.at ? a.at < b.at : a.change < b.change; });
  std::array<int, kinds + axes> open{};
  double now = w.start;
  const auto first_open = [&](std::size_t from, std::size_t to) {
    for (std::size_t i = from; i < to; ++i) {
      if (open[i] > 0) return i;
    }
    return to;
  };
  const auto pass = [&](double until) {
    const double span = until - now;
    now = until;
    if (span <= 0) return;
    const std::size_t compute = first_open(0, kinds);
    for (std::size_t a = 0; a < axes; ++a) step.axes[a].busy += open[kinds + a] > 0 ? span : 0;
    if (compute < kinds) {
      step.kernels[compute] += span;
    } else if (const std::size_t axis = first_open(kinds, kinds + axes); axis < kinds + axes) {
      step.axes[axis - kinds].exposed += span;
    } else {
      step.idle += span;
    }
  };
  for (const Edge& e : edges) {
    pass(std::clamp(e.at, now, w.end));
    open[e.what] += e.change;
  }
  pass(w.end);
}

/// Calls of one axis and size: those that waited least for their peers show the transfer itself. Where no size is said
/// each stands for itself.
struct Equal {
  std::size_t axis;
  Family family;
  float bytes;
  auto operator<=>(const Equal&) const = default;
};

void measure_transfers(const std::map<Equal, std::vector<double>>& equal, TracedStep& step) {
  for (const auto& [key, durations] : equal) {
    TracedAxis& axis = step.axes[key.axis];
    axis.calls += static_cast<int>(durations.size());
    axis.transfer += key.bytes > 0 ? static_cast<double>(durations.size()) * nearest_quantile(durations, 0.25)
                                   : std::accumulate(durations.begin(), durations.end(), 0.0);
  }
}

}  // namespace

double TracedStep::compute() const {
  double sum = 0;
  for (std::size_t i = 0; i < kinds; ++i) {
    const auto kind = static_cast<KernelKind>(i);
    if (kind != KernelKind::collective && kind != KernelKind::optimizer) sum += kernels[i];
  }
  return sum;
}

TracedStep traced_step(const RankTrace& trace, const Layout& layout) {
  if (trace.kernels.empty()) throw Error(trace.path, "no GPU kernel in the trace");
  TracedStep step;
  step.rank = trace.rank;
  step.notes = trace.notes;
  const Window w = window_of(trace, step.notes);
  if (!(w.end > w.start)) throw Error(trace.path, "no step in the trace: its kernels take no time");
  step.steps = w.steps;
  const auto axis_of = axes_of(trace, w, layout);
  std::vector<Edge> edges;
  std::map<Equal, std::vector<double>> equal;
  for (const TraceKernel& k : trace.kernels) {
    if (k.end <= w.start || k.start >= w.end) continue;
    std::size_t what = static_cast<std::size_t>(k.kind);
    if (k.kind == KernelKind::collective) {
      const Family family = family_of(trace, k);
      const auto axis = axis_of.find(family);
      if (axis == axis_of.end()) continue;  // began before the first whole step
      what = kinds + axis->second;
      equal[{axis->second, family, k.bytes}].push_back(k.end - k.start);
    }
    edges.push_back({std::max(k.start, w.start), 1, what});
    edges.push_back({std::min(k.end, w.end), -1, what});
    ++step.launches;
  }
  attribute(std::move(edges), w, step);
  measure_transfers(equal, step);
  step.step = (w.end - w.start) / w.steps;
  for (double& seconds : step.kernels) seconds /= w.steps;
  for (TracedAxis& a : step.axes) a.busy /= w.steps, a.exposed /= w.steps, a.transfer /= w.steps, a.calls /= w.steps;
  step.idle /= w.steps;
  step.launches /= w.steps;
  return step;
}

}  // namespace meshwright::calibrate
