// Sweeps over published training runs with a measured peak (MESHWRIGHT_RECORDS).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <iostream>

#include "meshwright/calibrate/run_records.hpp"
#include "meshwright/parallel/constraints.hpp"
#include "meshwright/parallel/memory.hpp"

namespace meshwright::calibrate {
namespace {

using namespace parallel;

std::string records_folder() {
  const char* folder = std::getenv("MESHWRIGHT_RECORDS");
  return folder == nullptr ? "" : folder;
}

/// Records of runs-<set>.jsonl with a measured peak.
std::vector<RunRecord> memory_records(const std::string& set) {
  std::vector<RunRecord> records;
  const auto path = std::filesystem::path(records_folder()) / "runs" / ("runs-" + set + ".jsonl");
  for (const Reader& line : Reader::lines(path)) {
    RunRecord record = read_run_record(line, builtin_catalog());
    if (!record.skipped && record.measured.peak_memory) records.push_back(std::move(record));
  }
  return records;
}

#define NEEDS_RECORDS() \
  if (records_folder().empty()) GTEST_SKIP() << "MESHWRIGHT_RECORDS names no folder of training records: left out"

struct Errors {
  double mean = 0, median = 0, p90 = 0;
};

/// Absolute relative errors of a set.
Errors errors_of(const std::string& set) {
  std::vector<double> errors;
  for (const RunRecord& record : memory_records(set)) {
    errors.push_back(std::abs(logged_peak(record.job, record.layout) / *record.measured.peak_memory - 1));
  }
  std::sort(errors.begin(), errors.end());
  Errors e;
  for (const double error : errors) e.mean += error / static_cast<double>(errors.size());
  e.median = errors[errors.size() / 2], e.p90 = errors[errors.size() * 9 / 10];
  std::cout << set << ": " << errors.size() << " records, mean " << 100 * e.mean << " %, median " << 100 * e.median
            << " %, p90 " << 100 * e.p90 << " %\n";
  return e;
}

TEST(MemoryRecords, MegatronOnOneBox) {
  NEEDS_RECORDS();
  EXPECT_LT(errors_of("simumax-b200").mean, 0.02);
}

TEST(MemoryRecords, Torchtitan) {
  NEEDS_RECORDS();
  EXPECT_LT(errors_of("torchtitan").mean, 0.10);
}

TEST(MemoryRecords, MegatronDeepSpeed) {
  NEEDS_RECORDS();
  const Errors e = errors_of("bigscience");
  EXPECT_LT(e.mean, 0.12);
  EXPECT_LT(e.median, 0.10);
}

TEST(MemoryRecords, Nanotron) {
  NEEDS_RECORDS();
  const Errors e = errors_of("ultrascale");
  EXPECT_LT(e.median, 0.07);
  EXPECT_LT(e.mean, 0.13);
}

/// The sweep's four models, from its own runs.
std::vector<std::pair<std::string, RunRecord>> sweep_models() {
  std::vector<std::pair<std::string, RunRecord>> models;
  for (const RunRecord& record : memory_records("ultrascale")) {
    const std::string name = record.id.substr(11, record.id.find('-', 11) - 11);  // "ultrascale-us8-n4-..."
    const auto same = [&](const auto& m) { return m.first == name; };
    if (std::none_of(models.begin(), models.end(), same)) models.emplace_back(name, record);
  }
  return models;
}

RunRecord failed_run(const Reader& r, RunRecord base) {
  Layout& l = base.layout;
  l.tp = r.at("TP").integer(), l.pp = r.at("PP").integer(), l.dp = r.at("DP").integer();
  l.micro_batch = r.at("MBS").integer(), l.zero_stage = r.at("ZeRO").integer();
  l.sequence_parallel = l.tp > 1;
  base.job = parallel::with(base.job, [&](JobSpec& spec) {
    spec.global_batch = r.at("GBS").integer();
    spec.cluster.nodes = 0, spec.cluster.accelerators = l.accelerators();
  });
  return base;
}

TEST(MemoryRecords, WhatRanFitsAndWhatFailedMostlyDoesNot) {
  NEEDS_RECORDS();
  int ran = 0, ran_fits = 0, failed = 0, refused = 0, failed_over = 0;
  for (const RunRecord& record : memory_records("ultrascale")) {
    ++ran;
    ran_fits += fit(record.job, memory(record.job, record.layout)) != Fit::does_not_fit ? 1 : 0;
  }
  const auto models = sweep_models();
  for (const Reader& line :
       Reader::lines(std::filesystem::path(records_folder()) / "runs" / "ultrascale-failed.jsonl")) {
    const std::string name = line.at("model").string();
    const auto base = std::find_if(models.begin(), models.end(), [&](const auto& m) { return m.first == name; });
    if (base == models.end()) continue;
    const RunRecord run = failed_run(line, base->second);
    ++failed;
    if (refused_by(run.job, run.layout) != nullptr) {
      ++refused;
    } else if (fits_probability(run.job, memory(run.job, run.layout)) < 0.5) {
      ++failed_over;
    }
  }
  std::cout << "ran: " << ran_fits << " of " << ran << " fit; failed: " << refused << " of " << failed
            << " refused by a rule, " << failed_over << " of the others more likely do not fit\n";
  EXPECT_GT(ran_fits, 0.95 * ran);
  EXPECT_GT(failed_over, 0.80 * (failed - refused));
}

}  // namespace
}  // namespace meshwright::calibrate
