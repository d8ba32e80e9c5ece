#include "calibrate/trace_kernels.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/embedded.hpp"
#include "meshwright/core/reader.hpp"

namespace meshwright::calibrate {
namespace {

/// Texts, one of which stands in a name, and what that means.
struct NameRow {
  std::size_t means = 0;
  std::vector<std::string> names;
};

struct NameTable {
  std::vector<NameRow> kernels, collectives, axes;
  std::vector<std::string> collective_kernels;
};

std::vector<std::string> strings(const Reader& list) {
  std::vector<std::string> out;
  for (const Reader& item : list.items()) out.push_back(item.string());
  return out;
}

template <std::size_t N>
std::vector<NameRow> read_rows(const Reader& list, const char* key, const std::array<std::string_view, N>& names) {
  const std::vector<std::string> valid(names.begin(), names.end());
  std::vector<NameRow> rows;
  for (const Reader& row : list.items()) rows.push_back({row.at(key).one_of(valid), strings(row.at("names"))});
  return rows;
}

NameTable read_table() {
  const EmbeddedFile file = embedded_traces().front();
  const Reader reader = Reader::text(file.content, "data/traces/" + std::string(file.name));
  return {.kernels = read_rows(reader.at("kernels"), "does", kernel_kind_names),
          .collectives = read_rows(reader.at("collectives"), "does", traced_collective_names),
          .axes = read_rows(reader.at("axes"), "axis", trace_axes),
          .collective_kernels = strings(reader.at("collective_kernels"))};
}

const NameTable& table() {
  static const NameTable t = read_table();
  return t;
}

bool holds_any(std::string_view text, const std::vector<std::string>& parts) {
  return std::ranges::any_of(parts, [&](const std::string& p) { return text.find(p) != std::string_view::npos; });
}

std::optional<std::size_t> meaning(std::string_view text, const std::vector<NameRow>& rows) {
  const auto row = std::ranges::find_if(rows, [&](const NameRow& r) { return holds_any(text, r.names); });
  if (row == rows.end()) return std::nullopt;
  return row->means;
}

}  // namespace

KernelMeaning kernel_meaning(std::string_view kernel, std::string_view collective) {
  const NameTable& t = table();
  if (!collective.empty() || holds_any(kernel, t.collective_kernels)) {
    auto does = collective.empty() ? std::nullopt : meaning(collective, t.collectives);
    if (!does) does = meaning(kernel, t.collectives);
    return {KernelKind::collective, static_cast<TracedCollective>(does.value_or(0))};
  }
  const auto does = meaning(kernel, t.kernels);
  return {does ? static_cast<KernelKind>(*does) : KernelKind::memory_bound, TracedCollective::all_reduce};
}

std::optional<std::size_t> axis_of_description(std::string_view description) {
  return meaning(description, table().axes);
}

void TraceBuilder::add(TraceKernel kernel, const std::string& stream, const std::string& description, int group_size) {
  if (trace_.kernels.size() >= most_trace_kernels) {
    ++left_out_;
    return;
  }
  constexpr std::size_t most_names = 4096;  // of streams and groups; a trace has dozens
  const auto s = streams_.find(stream);
  if (s != streams_.end()) {
    kernel.stream = s->second;
  } else if (streams_.size() < most_names) {
    kernel.stream = static_cast<short>(trace_.streams.size());
    streams_[stream] = kernel.stream;
    trace_.streams.push_back(stream);
  }
  if (kernel.kind == KernelKind::collective) {
    const std::pair key{description, group_size};
    const auto g = groups_.find(key);
    if (g != groups_.end()) {
      kernel.group = g->second;
    } else if (groups_.size() < most_names) {
      kernel.group = static_cast<int>(trace_.groups.size());
      groups_[key] = kernel.group;
      trace_.groups.push_back({description, group_size});
    }
  }
  trace_.kernels.push_back(kernel);
}

void TraceBuilder::finish() {
  std::ranges::sort(trace_.kernels, {}, &TraceKernel::start);
  if (left_out_ > 0)
    trace_.notes.push_back(fmt::format("{} kernels beyond the first {} were left out", left_out_, most_trace_kernels));
}

std::vector<RankTrace> read_trace(const std::filesystem::path& path) {
  const bool nsight = path.extension() == ".sqlite" || path.extension() == ".db";
  std::vector<RankTrace> traces = nsight ? read_nsight(path) : read_kineto(path);
  std::erase_if(traces, [](const RankTrace& t) { return t.kernels.empty(); });
  if (traces.empty()) {
    throw Error(path.string(),
                "no GPU kernel in it; expected a PyTorch profiler trace with CUDA activities (JSON, .gz) or an Nsight "
                "Systems export (nsys export --type sqlite)");
  }
  return traces;
}

}  // namespace meshwright::calibrate
