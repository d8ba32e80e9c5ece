#pragma once
// Kernel and group names of traces (data/traces/kernels.json, compiled in).
#include <optional>
#include <string_view>

#include "meshwright/calibrate/trace.hpp"

namespace meshwright::calibrate {

struct KernelMeaning {
  KernelKind kind = KernelKind::memory_bound;
  TracedCollective collective = TracedCollective::all_reduce;
};

/// What a kernel does; `collective` is the profiler's own word for a collective, "" where there is none.
KernelMeaning kernel_meaning(std::string_view kernel, std::string_view collective);
/// Index into trace_axes of a process group's description; nothing where it says none.
std::optional<std::size_t> axis_of_description(std::string_view description);

/// Puts a kernel of a trace that is being read in, within most_trace_kernels; streams and groups become indices.
class TraceBuilder {
 public:
  explicit TraceBuilder(RankTrace& trace) : trace_(trace) {}
  void add(TraceKernel kernel, const std::string& stream, const std::string& description, int group_size);
  /// Sorts, and notes what was left out.
  void finish();

 private:
  RankTrace& trace_;
  std::map<std::string, short> streams_;
  std::map<std::pair<std::string, int>, int> groups_;
  long long left_out_ = 0;
};

std::vector<RankTrace> read_kineto(const std::filesystem::path& path);
std::vector<RankTrace> read_nsight(const std::filesystem::path& path);

}  // namespace meshwright::calibrate
