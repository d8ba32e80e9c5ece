// A user's own runs, whatever they stand in: records, job files with what was measured, logs.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "calibrate/measured.hpp"
#include "calibrate/record_stacks.hpp"
#include "meshwright/calibrate/run_logs.hpp"

namespace meshwright::calibrate {
namespace {

bool ends_with(const std::string& path, std::string_view plain) {
  return path.ends_with(plain) || path.ends_with(std::string(plain) + ".gz");
}

/// A job file with what was measured; `notes` are among the job's assumptions.
RunRecord measured_job(const Reader& reader, const Catalog& catalog, const std::vector<std::string>& notes) {
  auto document = nlohmann::ordered_json::parse(reader.dump());
  document.erase("measured");
  const Reader file = Reader::text(document.dump(), reader.where());
  RunRecord run;
  run.id = reader.where();
  run.set = "own";
  run.tier = "A";
  run.task = pretraining;
  JobSpec spec = read_job_spec(file);
  spec.assumptions.insert(spec.assumptions.end(), notes.begin(), notes.end());
  run.job = make_job(spec, catalog);
  if (!run.job.layout) file.at("layout");  // refuses
  run.layout = *run.job.layout;
  run.framework = run.job.framework.name;
  run.accelerator = run.job.cluster.accelerator.name;
  const Reader measured = reader.at("measured");
  measured.allow_only({"step_time_s", "tokens_per_s_per_gpu", "model_tflops_per_gpu", "hardware_tflops_per_gpu", "mfu",
                       "flops_convention", "peak_mem_gib", "step_time_spread", "steps", "warm_up_steps", "sick_steps",
                       "notes"});
  run.measured.step_time = measured_step_time(measured, run.job);
  if (!run.measured.step_time)
    measured.fail(
        "expected 'step_time_s', 'tokens_per_s_per_gpu', 'model_tflops_per_gpu', 'hardware_tflops_per_gpu' or 'mfu'");
  run.measured.peak_memory = measured_peak(measured);
  return run;
}

RunRecord read_any(const Reader& reader, const Catalog& catalog) {
  if (is_run_record(reader)) return read_run_record(reader, catalog);
  if (is_measured_job(reader)) return read_measured_job(reader, catalog);
  reader.fail("expected a training run (model, cluster, layout, measured) or a job file with 'measured'");
}

}  // namespace

bool is_measured_job(const Reader& reader) {
  return reader.is_object() && reader.has("measured") && reader.has("global_batch") && reader.has("cluster");
}

RunRecord read_measured_job(const Reader& reader, const Catalog& catalog) { return measured_job(reader, catalog, {}); }

std::vector<RunRecord> read_own_runs(const std::filesystem::path& path, const Catalog& catalog,
                                     const LogCompletion& completion) {
  std::vector<RunRecord> runs;
  if (ends_with(path.string(), ".jsonl")) {
    for (const Reader& line : Reader::lines(path)) {
      if (is_run_record(line) || is_measured_job(line)) runs.push_back(read_any(line, catalog));
    }
  } else if (ends_with(path.string(), ".json")) {
    runs.push_back(read_any(Reader::file(path), catalog));
  } else {
    const RunLog log = read_run_log(path);
    runs.push_back(measured_job(Reader::text(job_of_log(log, completion), path.string()), catalog, log.notes));
  }
  return runs;
}

std::vector<RunRecord> records_or_published(const std::vector<std::string>& paths, const Catalog& catalog) {
  std::vector<RunRecord> runs;
  if (paths.empty()) {
    for (const Reader& record : published_runs()) runs.push_back(read_run_record(record, catalog));
  }
  for (const std::string& path : paths) std::ranges::move(read_own_runs(path, catalog), std::back_inserter(runs));
  return runs;
}

}  // namespace meshwright::calibrate
