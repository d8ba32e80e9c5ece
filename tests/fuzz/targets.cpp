#include "fuzz/targets.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "meshwright/calibrate/collective_records.hpp"
#include "meshwright/calibrate/kernel_points.hpp"
#include "meshwright/calibrate/nccl_tests.hpp"
#include "meshwright/calibrate/perftest.hpp"
#include "meshwright/calibrate/run_logs.hpp"
#include "meshwright/calibrate/trace.hpp"
#include "meshwright/calibrate/validate_runs.hpp"
#include "meshwright/capacity/run_time.hpp"
#include "meshwright/capacity/scenario.hpp"
#include "meshwright/collectives/message_program.hpp"
#include "meshwright/collectives/nccl_policy.hpp"
#include "meshwright/core/document.hpp"
#include "meshwright/core/files.hpp"
#include "meshwright/core/text.hpp"
#include "meshwright/cost/loggp.hpp"
#include "meshwright/parallel/constraints.hpp"
#include "meshwright/parallel/json.hpp"
#include "meshwright/parallel/prediction.hpp"
#include "meshwright/search/axes.hpp"
#include "meshwright/topology/import.hpp"
#include "meshwright/workload/presets.hpp"

namespace meshwright::fuzz {
namespace {

using namespace everything;
namespace fs = std::filesystem;

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "broken: %s\n", what);
  std::abort();
}

/// Runs `body` and says whether it came to its end; a refusal has to be one line that a terminal can show.
template <class Body>
bool refusable(Body body) {
  try {
    body();
    return true;
  } catch (const Error& error) {
    const std::string_view line = error.what();
    require(!line.empty() && line.size() < 5000, "a refusal says something, in bounds");
    require(!has_controls(line) && line.find('\n') == std::string_view::npos, "a refusal is one line without controls");
    return false;
  }
}

/// A file with that content in memory, of a name that ends in `ending`.
class TemporaryFile {
 public:
  TemporaryFile(std::string_view content, std::string_view ending)
      : path_(fmt::format("/dev/shm/meshwright-fuzz-{}{}", ::getpid(), ending)) {
    std::ofstream(path_, std::ios::binary | std::ios::trunc) << content;
  }
  ~TemporaryFile() {
    std::error_code ignored;
    fs::remove(path_, ignored);
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

bool sound(double value) { return std::isfinite(value) && value >= 0; }

void check_prediction(const Job& job, const Layout& layout) {
  const Prediction p = predict(job, layout);
  require(std::isfinite(p.step_time.value()) && p.step_time.value() > 0, "a step takes a finite time above zero");
  require(sound(p.memory.reserved.value()), "memory is finite");
  require(sound(p.mfu) && sound(p.comm_share) && p.comm_share <= 1 + 1e-9, "shares are shares");
  require(p.p10 <= p.step_time && p.step_time <= p.p90, "bands are ordered");
  describe(p.time, [&](const char*, Seconds part) { require(sound(part.value()), "terms are finite"); });
  require(to_json(p).find("null") == std::string::npos, "no number of a prediction is lost");
}

void job(std::string_view input) {
  const Job read = read_job(Reader::text(input, "job.json"), builtin_catalog());
  require(read_job(Reader::text(to_json(read.spec), "again"), builtin_catalog()).accelerators == read.accelerators,
          "a job reads back");
  if (!read.layout) return;
  const Rule refused = refusal(read, *read.layout);
  if (refused != nullptr) violation_of(read, *read.layout, refused);
  if (refused == nullptr || of_memory(refused)) check_prediction(read, *read.layout);
}

void layout(std::string_view input) {
  const Layout read = read_layout(Reader::text(input, "layout.json"));
  require(read_layout(Reader::text(to_json(read), "again")) == read, "a layout reads back");
}

void model(std::string_view input) {
  const Transformer read = read_model(Reader::text(input, "model.json"));
  require(sound(parameter_counts(read).total), "parameters are a number");
  require(parameter_counts(read_model(Reader::text(model_json(read), "again"))).total == parameter_counts(read).total,
          "a model reads back");
}

void config(std::string_view input) {
  const Transformer read = import_huggingface(Reader::text(input, "config.json"), "model");
  require(sound(parameter_counts(read).total), "parameters are a number");
  require(sound(flops_per_token(read, 4096, FlopsConvention::causal)), "FLOPs are a number");
}

void cluster(std::string_view input) {
  const Cluster read = complete(read_cluster_spec(Reader::text(input, "cluster.json")), builtin_catalog());
  require(read.accelerators() > 0 && read.accelerators() <= 1 << 24, "a cluster has accelerators");
  for (const Level& level : place_group(read, read.accelerators(), 1).levels) {
    require(std::isfinite(level.bandwidth.value()) && level.bandwidth.value() > 0, "a level has a bandwidth");
  }
  complete(read_cluster_spec(Reader::text(to_json(read.spec), "again")), builtin_catalog());
}

void overlay_files(std::string_view input) {
  const fs::path folder = fmt::format("/dev/shm/meshwright-fuzz-{}", ::getpid());
  fs::create_directories(folder);
  std::ofstream(folder / "overlay.json", std::ios::binary) << input;
  overlay(builtin_catalog(), folder);
}

void framework_file(std::string_view input) { read_framework(Reader::text(input, "framework.json")); }

void topology_dump(std::string_view input) {
  const NodeTopology node = import_topology(input, "dump.txt", builtin_catalog());
  require(node.gpus() + node.nics() == static_cast<int>(node.devices.size()), "devices are GPUs or NICs");
  gpu_links(node), nvlink_groups(node), nearest_nics(node, true);
  for (const ImportedDevice& device : node.devices) require(!has_controls(device.name), "names can be shown");
}

void log(std::string_view input) {
  const TemporaryFile file(input, ".log");
  const RunLog read = read_run_log(file.path());
  require(sound(read.steps.median), "a step has a time");
  refusable([&] { job_of_log(read, {.model = "llama-3.1-8b", .cluster = "dgx-h100", .nodes = 1}); });
  refusable([&] { read_own_runs(file.path(), builtin_catalog(), {.model = "llama-3.1-8b", .cluster = "dgx-h100"}); });
}

void launch(std::string_view input) {
  for (const char* ending : {".sh", ".yaml", ".toml", ".json"}) {
    refusable([&] {
      const TemporaryFile file(input, ending);
      job_of_log(read_launch(file.path()), {.model = "llama-3.1-8b", .cluster = "dgx-h100", .nodes = 1});
    });
  }
}

void perftest(std::string_view input) { read_perftest_log(input, "ib_write_bw.log"); }

void nccl_log(std::string_view input) {
  const NcclTestsLog read = read_nccl_tests_log(input, "all_reduce_perf.log");
  const std::optional<Cluster> found = cluster_of_log(read, builtin_catalog());
  const CollectiveCheck checked =
      check(table_of_log(read, found ? *found : make_cluster(builtin_catalog(), "dgx-h100", 8)));
  for (const CheckedRow& row : checked.rows) require(sound(row.predicted.value()), "a collective takes a time");
}

void goal(std::string_view input) {
  const MessageProgram program = parse_goal(input, "program.goal");
  const std::string text = goal_text(program);
  require(goal_text(parse_goal(text, "again")) == text, "a program reads back");
  simulate(program, {});
}

void csv(std::string_view input) {
  const TemporaryFile file(input, ".csv");
  const bool gemm = kernel_table_kind(file.path()) == KernelTable::gemm;
  const KernelCheck checked =
      gemm ? check_gemm_points(file.path(), builtin_catalog()) : check_attention_points(file.path(), builtin_catalog());
  for (const KernelErrors& e : checked.groups) require(sound(e.median_ape), "an error is a number");
}

void record(std::string_view input) {
  const Reader r = Reader::text(input, "records.jsonl:1");
  if (is_run_record(r)) {
    const RunCheck checked = check_run_record(r, builtin_catalog());
    require(!checked.step_time_error || std::isfinite(*checked.step_time_error), "an error is a number");
  } else if (is_measured_job(r)) {
    check_run(read_measured_job(r, builtin_catalog()));
  } else if (r.is_object() && r.has("record")) {
    const auto graphs = read_nccl_graphs(r);
    if (!graphs) check_nccl_choice(r, {});
  } else if (r.is_object() && r.has("pattern")) {
    check_loggopsim_record(r);
  } else if (r.is_object() && r.has("rows")) {
    for (const CheckedRow& row : check_collective_record(r, builtin_catalog()).rows)
      require(std::isfinite(row.error()), "an error is a number");
  }
}

void scenario(std::string_view input) { read_scenario(Reader::text(input, "scenario.json")); }

void units(std::string_view input) {
  const auto finite = [&](auto read) { refusable([&] { require(sound(read().value()), "a quantity is a number"); }); };
  finite([&] { return parse_quantity<Bytes::dimension>(input, "x"); });
  finite([&] { return parse_quantity<Seconds::dimension>(input, "x"); });
  finite([&] { return parse_quantity<BytesPerSecond::dimension>(input, "x"); });
  finite([&] { return parse_quantity<FlopsPerSecond::dimension>(input, "x"); });
  finite([&] { return parse_quantity<Dollars::dimension>(input, "x"); });
  finite([&] { return parse_quantity<DollarsPerJoule::dimension>(input, "x"); });
  finite([&] { return parse_message_size(input, "x"); });
  refusable([&] { require(sound(parse_tokens(input, "x")), "tokens are a number"); });
  refusable([&] {
    Filter filter;
    fix(filter, input, "--fix");
  });
  refusable([&] { read_order(input, "order"); });
}

void trace(std::string_view input) {
  const TemporaryFile file(input, ".json");
  for (const RankTrace& rank : read_trace(file.path())) {
    const TracedStep step = traced_step(rank, {});
    require(sound(step.step), "a step has a time");
  }
}

void gzip(std::string_view input) {
  const TemporaryFile file(input, ".gz");
  read_file(file.path());
}

void json(std::string_view input) {
  const Reader r = Reader::text(input, "any.json");
  require(Reader::text(r.dump(), "again").dump() == r.dump(), "JSON reads back");
  if (r.is_array()) r.items();
  if (r.is_object()) r.keys();
}

void yaml(std::string_view input) {
  const Reader r = read_document(input, "any.yaml");
  require(Reader::text(r.dump(), "again").dump() == r.dump(), "YAML reads back as JSON");
}

template <void (*run)(std::string_view)>
bool guarded(std::string_view input) {
  return refusable([&] { run(input); });
}

constexpr Target table[] = {
    {"cluster", guarded<cluster>},
    {"config", guarded<config>},
    {"csv", guarded<csv>},
    {"goal", guarded<goal>},
    {"gzip", guarded<gzip>},
    {"job", guarded<job>},
    {"json", guarded<json>},
    {"launch", guarded<launch>},
    {"layout", guarded<layout>},
    {"log", guarded<log>},
    {"model", guarded<model>},
    {"nccl-log", guarded<nccl_log>},
    {"overlay", guarded<overlay_files>},
    {"perftest", guarded<perftest>},
    {"record", guarded<record>},
    {"scenario", guarded<scenario>},
    {"stack", guarded<framework_file>},
    {"topology", guarded<topology_dump>},
    {"trace", guarded<trace>},
    {"units", guarded<units>},
    {"yaml", guarded<yaml>},
};

}  // namespace

std::span<const Target> targets() { return table; }

const Target* target(std::string_view name) {
  for (const Target& row : table) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

}  // namespace meshwright::fuzz
