// meshwright validate: predictions beside measured records of every kind that it recognises.
#include <fmt/format.h>

#include <filesystem>
#include <iostream>
#include <memory>

#include "command.hpp"
#include "log_options.hpp"
#include "meshwright/core/names.hpp"
#include "meshwright/core/reader.hpp"
#include "output.hpp"
#include "own_runs.hpp"
#include "progress.hpp"
#include "promise.hpp"
#include "validation.hpp"

namespace meshwright::cli {
namespace {

struct Options {
  std::vector<std::string> records;
  LogCompletion log;
  bool json = false, markdown = false, own_runs = false, promise = false;
};

bool ends_with(const std::string& path, std::string_view plain) {
  return path.ends_with(plain) || path.ends_with(std::string(plain) + ".gz");
}

// A line of a sweep that lists the configurations without a result: degrees and batch, nothing measured.
bool is_failed_configuration(const Reader& record) {
  return record.is_object() && record.has("GradAcc") && record.has("MBS") && record.has("TP") &&
         !record.has("measured");
}

RunCheck failed_configuration(const Reader& record) {
  RunCheck check;
  check.id = record.where();
  check.set = "failed configurations";
  check.skipped = "configuration without a result: out of memory, crash or time-out, not told apart";
  return check;
}

void check_known_record(const Reader& record, const Catalog& catalog, Validation& v) {
  if (is_run_record(record)) {
    v.runs.push_back(check_run_record(record, catalog));
  } else if (is_measured_job(record)) {
    v.runs.push_back(check_run(read_measured_job(record, catalog)));
  } else if (is_failed_configuration(record)) {
    v.runs.push_back(failed_configuration(record));
  } else if (record.is_object() && record.has("record")) {
    if (record.at("record").string() != "choice") return;  // graphs stand with their choices
    v.choices.emplace_back(record.where(), check_nccl_choice(record, v.graphs));
  } else if (record.is_object() && record.has("pattern") && record.has("makespan")) {
    v.loggopsim.emplace_back(record.where(), check_loggopsim_record(record));
  } else if (record.is_object() && record.has("rows") && record.has("collective")) {
    v.collectives.push_back(check_collective_record(record, catalog));
  } else {
    record.fail(
        "no kind of record that is known: expected a training run (model, cluster, layout, measured), a job file with "
        "'measured', a collective table (collective, rows), a tuner record (record) or a LogGOPSim record (pattern, "
        "makespan)");
  }
}

/// One record that names something unknown doesn't stop the others.
void check_record(const Reader& record, const Catalog& catalog, Validation& v) {
  try {
    check_known_record(record, catalog, v);
  } catch (const UnknownName& unknown) {
    v.left_out.push_back({record.where(), unknown.what_happened()});
  }
}

/// A training log, or a job file with what was measured.
void check_own_runs(const std::string& path, const Options& options, const Catalog& catalog, Validation& v) {
  for (const RunRecord& run : read_own_runs(path, catalog, options.log)) v.runs.push_back(check_run(run));
}

void check_file(const std::string& path, const Options& options, const Catalog& catalog, Validation& v) {
  if (ends_with(path, ".csv")) {
    const KernelCheck check = kernel_table_kind(path) == KernelTable::gemm ? check_gemm_points(path, catalog)
                                                                           : check_attention_points(path, catalog);
    v.kernels.insert(v.kernels.end(), check.groups.begin(), check.groups.end());
    return;
  }
  if (!ends_with(path, ".jsonl")) return check_own_runs(path, options, catalog, v);
  const std::vector<Reader> records = Reader::lines(path);
  if (records.empty()) throw Error(path, "holds no records, expected one a line");
  for (const Reader& record : records) {
    if (record.is_object() && record.has("record")) {
      if (auto graphs = read_nccl_graphs(record)) v.graphs.push_back(std::move(*graphs));
    }
  }
  Progress progress("validating " + std::filesystem::path(path).filename().string(), records.size());
  for (const Reader& record : records) {
    check_record(record, catalog, v);
    progress.advance();
  }
}

/// What own runs would change, by leaving out sites.
void check_sites(const Options& options, const Globals& globals) {
  const Catalog catalog = load_catalog(globals.hardware, benchmark_catalog());
  const OwnRunsCheck check = check_own_runs(records_or_published(options.records, catalog));
  if (options.json) return print_json(own_check_json(check));
  std::cout << (options.markdown ? own_runs_markdown(check) : own_check_text(check));
}

/// Training runs only: what they measured is compared with what a plan of the same job promises.
void compare_promises(const Options& options, const Catalog& catalog) {
  const std::vector<Promise> all = promises(records_or_published(options.records, catalog));
  if (options.json) return print_json(promises_json(all));
  std::cout << (options.markdown ? promises_markdown(all) : promises_text(all));
}

void run(const Options& options, const Globals& globals) {
  if (options.markdown) prints_data();
  if (options.own_runs) return check_sites(options, globals);
  const Catalog catalog = load_catalog(globals.hardware);
  if (options.promise) return compare_promises(options, catalog);
  Validation validation;
  if (options.records.empty()) {
    for (const Reader& record : published_runs()) check_record(record, catalog, validation);
  }
  for (const std::string& path : options.records) check_file(path, options, catalog, validation);
  if (options.json) return print_json(validation_json(validation));
  std::cout << (options.markdown ? accuracy_markdown(validation.runs) : validation_text(validation));
}

}  // namespace

void add_validate(CLI::App& command, const Globals& globals) {
  auto options = std::make_shared<Options>();
  command.add_option("records", options->records,
                     "Records (.jsonl, .csv, .gz), job files with 'measured', training logs");
  add_log_options(command, options->log);
  command.add_flag("--json", options->json, "One JSON document: an entry a record, and a summary by group");
  command.add_flag("--own-runs", options->own_runs,
                   "Leave out each site in turn: errors and bands before and after one and three own runs");
  command.add_flag("--markdown", options->markdown, "The accuracy page of the documentation (training runs)");
  command.add_flag("--promise", options->promise, "Plan the jobs that vendors tuned, and compare with their best");
  command.callback([options, &globals] { run(*options, globals); });
}

}  // namespace meshwright::cli
