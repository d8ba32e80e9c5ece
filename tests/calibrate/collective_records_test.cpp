#include "meshwright/calibrate/collective_records.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "meshwright/calibrate/collective_accuracy.hpp"
#include "meshwright/calibrate/media_fit.hpp"
#include "source_dir.hpp"

namespace meshwright::calibrate {
namespace {

using namespace literals;
using testing::HasSubstr;

std::vector<CollectiveTable> tables_of(const std::filesystem::path& path) {
  std::vector<CollectiveTable> tables;
  for (const Reader& record : Reader::lines(path)) tables.push_back(read_collective_table(record, builtin_catalog()));
  return tables;
}

std::filesystem::path published() { return source_dir() / "data/measurements/collectives.jsonl.gz"; }

Reader record(std::string_view changes) {
  static const std::string head =
      R"({"id": "a", "hardware": {"gpu": "NVIDIA H100 80GB HBM3", "gpus_per_node": 8, "nodes": 2, "nic": "CX7",
          "nics_per_node": 8, "nic_gbps": 400, "fabric": "IB NDR", "scale_up": "NVLink4 900GB/s NVSwitch"},
          "collective": "all_reduce", "rows": [{"bytes": 1048576, "time_us": 80}])";
  return Reader::text(head + std::string(changes) + "}", "record");
}

void expect_within_target(const std::vector<CollectiveTable>& tables) {
  std::vector<CollectiveCheck> checks;
  for (const CollectiveTable& table : tables) checks.push_back(check(table));
  const ErrorSummary large = summarise(checks, 1_MiB, Bytes::base(1e18)), small = summarise(checks, 0_B, 64_KiB);
  EXPECT_GT(large.rows, 3000u);
  EXPECT_GT(small.rows, 2000u);
  EXPECT_LE(large.median, 0.10);
  EXPECT_LE(large.p90, 0.30);
  EXPECT_LE(small.median, 0.20);
}

TEST(CollectiveRecords, PublishedTablesAreMetWithoutAPerTableFit) { expect_within_target(tables_of(published())); }

TEST(CollectiveRecords, TheWholeFolderOfRecordsIsMet) {
  const char* folder = std::getenv("MESHWRIGHT_RECORDS");
  if (folder == nullptr) GTEST_SKIP() << "MESHWRIGHT_RECORDS is not set: the folder of records was left out";
  expect_within_target(tables_of(std::filesystem::path(folder) / "measurements/collectives.jsonl"));
}

TEST(CollectiveRecords, SoftwareMatchingIsAMediumOfItsOwn) {
  const auto medium = [](std::string_view env) {
    const std::string text =
        R"({"id": "a", "hardware": {"gpu": "A100-SXM4-40GB", "gpus_per_node": 4, "nodes": 2, "nics_per_node": 2,
            "nic_gbps": 200, "fabric": "Slingshot 11", "scale_up": "NVLink3 4-GPU all-to-all"},
            "collective": "all_reduce", "rows": [{"bytes": 1048576, "time_us": 200}], "env": ")";
    return read_collective_table(Reader::text(text + std::string(env) + "\"}", "record"), builtin_catalog())
        .platform.scale_out.name;
  };
  EXPECT_EQ(medium("FI_CXI_RX_MATCH_MODE=software FI_CXI_RDZV_PROTO=alt_read"), "slingshot-software");
  EXPECT_EQ(medium("FI_CXI_RX_MATCH_MODE=hybrid"), "slingshot");
  EXPECT_EQ(medium(""), "slingshot");
}

// Libfabric's plug-in leaves LL128 out on Slingshot: the tuner chooses among the others.
TEST(CollectiveRecords, FollowTheTunerAmongTheNetworksProtocols) {
  const CollectiveTable table = read_collective_table(record(R"(, "nccl_version": "2.29.2")"), builtin_catalog());
  EXPECT_EQ(table.version, 229);
  for (CollectiveTable& t : tables_of(published())) {
    if (!t.skipped.empty() || t.platform.scale_out.name != "slingshot" || !t.place.over_network()) continue;
    for (const MeasuredRow& row : t.rows) EXPECT_NE(row.options.protocol, "LL128") << t.id;
  }
}

// dist.all_gather into a list gathers into a flat buffer and copies it out, under one label of c10d's profiler: the
// whole is read and written once more. Other collectives and other clocks show the library alone.
TEST(CollectiveRecords, GathersIntoListsAreCopiedOut) {
  const auto microseconds = [](std::string_view collective, std::string_view env) {
    const std::string text =
        R"({"id": "a", "hardware": {"gpu": "A100-SXM4-80GB", "gpus_per_node": 4, "nodes": 1,
            "scale_up": "NVLink3 4-GPU"}, "rows": [{"bytes": 1073741824, "time_us": 6400}], "collective": ")" +
        std::string(collective) + R"(", "env": ")" + std::string(env) + "\"}";
    return check_collective_record(Reader::text(text, "record"), builtin_catalog()).rows.at(0).predicted.value() * 1e6;
  };
  const Accelerator& a100 = builtin_catalog().accelerator("A100-SXM4-80GB");
  const double copies = 2 * 1073741824e6 / (a100.memory_bandwidth.value() * a100.efficiency.memory.fraction);
  constexpr auto c10d = "torch c10d kernel durations", plain = "nccl-tests";
  EXPECT_NEAR(microseconds("all_gather", c10d) - microseconds("all_gather", plain), copies, 1e-6 * copies);
  EXPECT_NEAR(microseconds("all_reduce", c10d), microseconds("all_reduce", plain), 1e-9);
}

TEST(CollectiveRecords, OfOneHostDoNotLeaveTheirDomain) {
  const auto leaves = [](int nodes) {
    const Cluster cluster = make_cluster(builtin_catalog(), "pcie-l40s", nodes);
    CollectiveTable table;
    table.skipped = "not timed";
    table.place = place_group(cluster, cluster.accelerators(), 1);
    return check(table).leaves_domain;
  };
  EXPECT_FALSE(leaves(1));  // two sockets, no network
  EXPECT_TRUE(leaves(2));
}

TEST(CollectiveRecords, LeavesOutByWrittenRules) {
  const auto skipped = [](std::string_view changes) {
    return read_collective_table(record(changes), builtin_catalog()).skipped;
  };
  EXPECT_EQ(skipped(""), "");
  EXPECT_THAT(skipped(R"(, "healthy": false)"), HasSubstr("for diagnosis"));
  EXPECT_THAT(skipped(R"x(, "nccl_version": "mscclpp (not NCCL)")x"), HasSubstr("by hand"));
  EXPECT_THAT(skipped(R"(, "ranks": 1)"), HasSubstr("fewer than two"));
  EXPECT_THAT(skipped(R"(, "ranks": 64)"), HasSubstr("16 accelerators"));
  EXPECT_THAT(skipped(R"(, "notes": "a threshold, not a measurement")"), HasSubstr("threshold"));
}

TEST(CollectiveRecords, HonoursWhatWasForced) {
  const auto options = [](std::string_view changes) {
    return read_collective_table(record(changes), builtin_catalog()).options;
  };
  EXPECT_EQ(options(R"(, "env": "NCCL_ALGO=Ring NCCL_PROTO=LL128")").algorithm, "Ring");
  EXPECT_EQ(options(R"(, "env": "NCCL_ALGO=Ring NCCL_PROTO=LL128")").protocol, "LL128");
  EXPECT_EQ(options(R"(, "algo": "Tree")").algorithm, "Tree");
  EXPECT_FALSE(options(R"(, "env": "NCCL_NVLS_ENABLE=0")").nvls);
  EXPECT_FALSE(options(R"(, "nccl_version": "2.16.5")").nvls);
  EXPECT_TRUE(options(R"(, "env": "NCCL_COLLNET_ENABLE=1 SHARP")").collnet);
  const CollectiveTable p2p_off = read_collective_table(record(R"(, "env": "NCCL_P2P_DISABLE=1")"), builtin_catalog());
  EXPECT_THAT(p2p_off.platform.scale_up.name, HasSubstr("pcie"));
}

// MESHWRIGHT_UPDATE=1 writes the page anew.
TEST(CollectiveAccuracy, PageIsUpToDate) {
  std::vector<CollectiveCheck> checks;
  for (const CollectiveTable& table : tables_of(published())) checks.push_back(check(table));
  const std::string page = collective_accuracy(checks);
  const auto path = source_dir() / "docs/accuracy-collectives.md";
  if (std::getenv("MESHWRIGHT_UPDATE") != nullptr) write_file(path, page);
  EXPECT_EQ(read_file(path), page);
}

// The fit finds parameters again: tables made from a medium, started from one that is off by a third.
TEST(MediaFit, FindsTheMediumThatMadeTheTables) {
  std::vector<CollectiveTable> tables;
  for (CollectiveTable& table : tables_of(published())) {
    if (!table.skipped.empty() || table.platform.scale_up.name != "nvlink4" || table.place.levels.size() != 1) continue;
    for (MeasuredRow& row : table.rows)
      row.time = estimate(table.collective, row.bytes, table.place, table.platform, row.options).time;
    tables.push_back(table);
    if (tables.size() == 20) break;
  }
  ASSERT_GE(tables.size(), 10u);
  std::vector<Medium> start = {tables.front().platform.scale_up};
  start.front().base *= 1.3;
  start.front().ring[2].efficiency *= 0.75;
  start.front().in_switch.efficiency *= 0.85;
  const MediaFit fit = fit_media(tables, start, {.prior = 0.01});
  EXPECT_GT(fit.before, 0.03);
  EXPECT_LT(fit.after, 0.01);
  EXPECT_EQ(fit.media.front().evidence, Evidence::calibrated);
}

TEST(MediaFit, RefusesNothing) { EXPECT_THROW(fit_media({}, builtin_catalog().media), Error); }

TEST(Media, OverlayIsReadAsWritten) {
  const std::vector<Medium>& media = builtin_catalog().media;
  const std::vector<Medium> again = read_media(Reader::text(to_json(media, "copy"), "overlay"));
  ASSERT_EQ(again.size(), media.size());
  for (std::size_t i = 0; i < media.size(); ++i) {
    EXPECT_EQ(again[i].name, media[i].name);
    EXPECT_NEAR(again[i].base / media[i].base, 1, 1e-3);
    EXPECT_NEAR(again[i].ring[2].efficiency, media[i].ring[2].efficiency, 1e-4);
    EXPECT_NEAR(again[i].all_to_all.simple.step / media[i].all_to_all.simple.step, 1, 1e-3);
  }
}

}  // namespace
}  // namespace meshwright::calibrate
