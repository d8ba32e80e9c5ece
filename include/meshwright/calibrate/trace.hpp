#pragma once
// Profiler traces of training steps: PyTorch's (Kineto JSON) and Nsight Systems' (SQLite export), as terms of a step.
#include <array>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "meshwright/parallel/layout.hpp"

namespace meshwright::calibrate {

/// What a kernel does, told by its name (data/traces/kernels.json).
enum class KernelKind { gemm, grouped_gemm, attention, attention_fallback, memory_bound, optimizer, copy, collective };
inline constexpr std::array<std::string_view, 8> kernel_kind_names = {
    "gemm", "grouped_gemm", "attention", "attention_fallback", "memory_bound", "optimizer", "copy", "collective"};
constexpr std::string_view name(KernelKind k) { return kernel_kind_names[static_cast<std::size_t>(k)]; }

enum class TracedCollective { all_reduce, reduce_scatter, all_gather, all_to_all, send_recv, broadcast };
inline constexpr std::array<std::string_view, 6> traced_collective_names = {
    "all_reduce", "reduce_scatter", "all_gather", "all_to_all", "send_recv", "broadcast"};
constexpr std::string_view name(TracedCollective c) { return traced_collective_names[static_cast<std::size_t>(c)]; }

/// One kernel on the GPU. Times in seconds from the trace's own zero.
struct TraceKernel {
  double start = 0, end = 0;
  float bytes = 0;   ///< of a collective: the larger of its two buffers; 0 = not said
  int group = -1;    ///< of a collective: index into RankTrace::groups
  short stream = 0;  ///< index into RankTrace::streams
  KernelKind kind = KernelKind::memory_bound;
  TracedCollective collective = TracedCollective::all_reduce;
};

/// A process group as the trace describes it.
struct TraceGroup {
  std::string description;
  int size = 0;  ///< 0 = not said
};

/// The kernels of one rank, by start.
struct RankTrace {
  std::string path, device;  ///< "NVIDIA H100 80GB HBM3"; "" = not said
  int rank = 0;
  std::vector<TraceKernel> kernels;
  std::vector<TraceGroup> groups;
  std::vector<std::string> streams;
  std::vector<std::pair<double, double>> annotated_steps;  ///< ProfilerStep ranges of the GPU, else of the host
  std::vector<std::string> notes;                          ///< truncation, kernels beyond what is kept
};

/// Kernels that are kept of one rank; what comes later is left out with a note.
inline constexpr std::size_t most_trace_kernels = std::size_t{1} << 22;

/// Reads a trace: Kineto JSON (plain or gzip) or an Nsight Systems export (.sqlite; one RankTrace a device). Memory is
/// bounded by most_trace_kernels whatever the file's size. Throws Error(path, ...) where there is no GPU kernel in it.
std::vector<RankTrace> read_trace(const std::filesystem::path& path);

/// The axes of communication, as StepTime names them.
inline constexpr std::array<std::string_view, 5> trace_axes = {"tensor_parallel", "context_parallel", "expert_parallel",
                                                               "pipeline", "data_parallel"};

/// Communication of one axis in a step of one rank.
struct TracedAxis {
  double busy = 0;      ///< a kernel of the axis runs
  double exposed = 0;   ///< and no compute kernel beside it
  double transfer = 0;  ///< busy without waiting for peers: calls times the lower quartile of equal calls
  int calls = 0;
};

/// The mean step of one rank: disjoint terms that sum to `step`.
struct TracedStep {
  int rank = 0, steps = 0;
  double step = 0;                   ///< seconds from one step's end to the next
  std::array<double, 8> kernels{};   ///< seconds by KernelKind in which such a kernel runs and counts
  std::array<TracedAxis, 5> axes{};  ///< by trace_axes
  double idle = 0;                   ///< nothing runs
  int launches = 0;                  ///< kernels a step
  std::vector<std::string> notes;
  double compute() const;  ///< all kernels but collectives and the optimizer
};

/// The mean step of a rank under a layout (which tells groups of one size apart). Steps are told by bursts of optimizer
/// kernels, else by the profiler's own ranges, else the trace is one step. Throws Error(path, ...) without kernels.
TracedStep traced_step(const RankTrace& trace, const Layout& layout);

}  // namespace meshwright::calibrate
