// The published configurations and their parameter totals, where MESHWRIGHT_RECORDS names a folder with them.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "meshwright/workload/presets.hpp"

namespace meshwright::workload {
namespace {

/// Within the tolerance, or refused by name, as the record says.
void check_record(const Reader& record, const std::filesystem::path& folder) {
  const std::string expected = record.at("expected").string();
  const std::string path = folder / record.at("file").string();
  SCOPED_TRACE(path);
  if (expected.starts_with("refuse")) {
    EXPECT_THROW(load_model(path), Error);
    return;
  }
  const ParameterCounts counts = parameter_counts(load_model(path));
  const double tolerance = record.at("tolerance").number();
  if (record.has("params_total")) {
    const double total = record.at("params_total").number();
    EXPECT_NEAR(counts.total / total, 1, tolerance) << counts.total << " against " << total;
  }
  if (record.has("params_active")) {
    const double active = record.at("params_active").number();
    EXPECT_NEAR(counts.active / active, 1, tolerance) << counts.active << " against " << active;
  }
}

TEST(HuggingFaceSweep, TotalsAndActiveParametersWithinTolerance) {
  const char* records = std::getenv("MESHWRIGHT_RECORDS");
  if (records == nullptr)
    GTEST_SKIP() << "MESHWRIGHT_RECORDS is unset: the sweep of published configurations is left out";
  const std::filesystem::path folder = std::filesystem::path(records) / "cases";
  int count = 0;
  for (const Reader& record : Reader::lines(folder / "configs" / "truth.jsonl")) {
    check_record(record, folder);
    ++count;
  }
  EXPECT_GT(count, 40);
}

}  // namespace
}  // namespace meshwright::workload
