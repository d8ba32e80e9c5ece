// Nsight Systems' SQLite export: kernels by device, their names from the table of strings.
// Schema: https://docs.nvidia.com/nsight-systems/UserGuide ("SQLite Schema Reference"): times in nanoseconds.
#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <regex>

#include "calibrate/trace_kernels.hpp"
#include "core/sqlite.hpp"
#include "meshwright/core/error.hpp"
#include "meshwright/core/files.hpp"

namespace meshwright::calibrate {
namespace {

struct Close {
  void operator()(sqlite3* db) const { sqlite3_close(db); }
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using Database = std::unique_ptr<sqlite3, Close>;
using Statement = std::unique_ptr<sqlite3_stmt, Close>;

Database open(const std::filesystem::path& path) {
  const InputFile readable(path, most_stream_bytes);  // refuses what is no file
  sqlite3* raw = nullptr;
  const int failed = sqlite3_open_v2(path.c_str(), &raw, SQLITE_OPEN_READONLY, nullptr);
  Database db(raw);
  if (failed != SQLITE_OK) throw Error(path.string(), "cannot be opened as an SQLite database");
  read_tables_alone(raw);
  constexpr int longest_row = 1 << 20;  // names of kernels
  sqlite3_limit(raw, SQLITE_LIMIT_LENGTH, longest_row);
  return db;
}

/// A prepared query; null where a table or column of it does not exist.
Statement prepare(sqlite3* db, const std::string& query) {
  sqlite3_stmt* raw = nullptr;
  sqlite3_prepare_v2(db, query.c_str(), -1, &raw, nullptr);
  return Statement(raw);
}

std::string text(sqlite3_stmt* row, int column) {
  const unsigned char* value = sqlite3_column_text(row, column);
  return value == nullptr ? "" : reinterpret_cast<const char*>(value);
}

/// Devices by their number; the export has one row a GPU.
std::map<long long, std::string> device_names(sqlite3* db) {
  std::map<long long, std::string> names;
  const Statement rows = prepare(db, "SELECT id, name FROM TARGET_INFO_GPU");
  while (rows && sqlite3_step(rows.get()) == SQLITE_ROW)
    names[sqlite3_column_int64(rows.get(), 0)] = text(rows.get(), 1);
  return names;
}

/// Ranges that people name after steps ("ProfilerStep#3", "iteration 12", "step_12").
std::vector<std::pair<double, double>> annotated_steps(sqlite3* db) {
  std::vector<std::pair<double, double>> steps;
  const Statement rows = prepare(
      db,
      "SELECT e.start, e.end FROM NVTX_EVENTS e LEFT JOIN StringIds s ON s.id = e.textId WHERE e.end IS NOT NULL AND "
      "(COALESCE(e.text, s.value) LIKE 'ProfilerStep#%' OR COALESCE(e.text, s.value) LIKE 'iteration%' OR "
      "COALESCE(e.text, s.value) LIKE 'step%') ORDER BY e.start LIMIT 4096");
  while (rows && sqlite3_step(rows.get()) == SQLITE_ROW)
    steps.emplace_back(sqlite3_column_double(rows.get(), 0) * 1e-9, sqlite3_column_double(rows.get(), 1) * 1e-9);
  return steps;
}

/// "report_rank12.sqlite": the rank where the profiler ran once a rank (nsys profile -o report_rank%q{RANK}).
std::optional<int> rank_of_name(const std::filesystem::path& path) {
  static const std::regex pattern("rank[-_.]?([0-9]{1,9})");
  const std::string stem = path.stem().string();
  std::smatch found;
  if (!std::regex_search(stem, found, pattern)) return std::nullopt;
  return std::stoi(found[1].str());
}

}  // namespace

std::vector<RankTrace> read_nsight(const std::filesystem::path& path) {
  const Database db = open(path);
  const Statement rows = prepare(db.get(),
                                 "SELECT k.start, k.end, k.deviceId, k.streamId, s.value FROM "
                                 "CUPTI_ACTIVITY_KIND_KERNEL k JOIN StringIds s ON s.id = k.demangledName");
  if (!rows) {
    throw Error(path.string(), fmt::format("no table of GPU kernels (CUPTI_ACTIVITY_KIND_KERNEL, StringIds) in it: {}",
                                           sqlite3_errmsg(db.get())));
  }
  const auto names = device_names(db.get());
  const auto steps = annotated_steps(db.get());
  std::map<long long, RankTrace> traces;
  std::map<long long, TraceBuilder> builders;
  int state = SQLITE_ROW;
  while ((state = sqlite3_step(rows.get())) == SQLITE_ROW) {
    const long long device = sqlite3_column_int64(rows.get(), 2);
    if (traces.size() >= 64 && !traces.contains(device)) continue;
    RankTrace& trace = traces[device];
    TraceBuilder& builder = builders.try_emplace(device, trace).first->second;
    TraceKernel kernel{.start = sqlite3_column_double(rows.get(), 0) * 1e-9,
                       .end = sqlite3_column_double(rows.get(), 1) * 1e-9};
    constexpr double latest = 1e12;
    if (!(kernel.end >= kernel.start && kernel.start >= -latest && kernel.end <= latest)) continue;
    const KernelMeaning means = kernel_meaning(text(rows.get(), 4), "");
    kernel.kind = means.kind, kernel.collective = means.collective;
    builder.add(kernel, text(rows.get(), 3), "", 0);
  }
  std::vector<RankTrace> out;
  for (auto& [device, trace] : traces) {
    builders.at(device).finish();
    trace.path = path.string();
    trace.rank = static_cast<int>(std::clamp(device, 0LL, 1'000'000'000LL));
    trace.device = names.contains(device) ? names.at(device) : "";
    trace.annotated_steps = steps;
    if (state != SQLITE_DONE) trace.notes.emplace_back("the database is damaged from some place on");
    out.push_back(std::move(trace));
  }
  if (const auto rank = rank_of_name(path); rank && out.size() == 1) out.front().rank = *rank;
  return out;
}

}  // namespace meshwright::calibrate
