// Tables of kernel timings: formats, refusals, and errors of the shipped efficiencies on the published tables.
#include "meshwright/calibrate/kernel_points.hpp"
#include "core/refusal.hpp"

#include <gmock/gmock.h>

#include <cstdlib>
#include <fstream>

#include "meshwright/core/error.hpp"

namespace meshwright::calibrate {
namespace {

using testing::HasSubstr;

std::filesystem::path table(const std::string& name, const std::string& content) {
  const std::filesystem::path path = std::filesystem::path(testing::TempDir()) / name;
  std::ofstream(path) << content;
  return path;
}

std::string refusal(const auto& read) {
  return meshwright::refusal([&] { read(); });
}

constexpr const char* gemm_header = "gpu,dtype,source,m,n,k,latency_s,use_for_calibration\n";

TEST(KernelPoints, GroupsByDeviceFormatAndSource) {
  const auto path = table("groups.csv", std::string(gemm_header) +
                                            "h200_sxm,fp8_block,h200_sxm/sglang_1,1024,2048,4096,1e-4,1\n"
                                            "A100-SXM4-80GB,bfloat16,x,128,256,512,1e-5,1\n"
                                            "h200_sxm,fp8_block,h200_sxm/sglang_1,1,2,3,5e-6,0\n\n"
                                            "h200_sxm,fp8_block,h200_sxm/sglang_1,8,2,3,5e-6,1\r\n");
  const std::vector<GemmGroup> groups = read_gemm_points(path, builtin_catalog());
  ASSERT_EQ(groups.size(), 2U);
  EXPECT_EQ(groups[0].device, "H200-SXM-141GB");
  EXPECT_EQ(groups[0].format, "fp8-block");
  EXPECT_EQ(library_of(groups[0].source), "sglang");
  EXPECT_EQ(groups[0].excluded, 1);
  ASSERT_EQ(groups[0].points.size(), 2U);
  EXPECT_EQ(groups[0].points[0].n, 2048);
  EXPECT_DOUBLE_EQ(groups[0].points[0].measured.value(), 1e-4);
  EXPECT_EQ(groups[1].format, "bf16");
  EXPECT_EQ(kernel_table_kind(path), KernelTable::gemm);
}

TEST(KernelPoints, QuotesAndAByteOrderMarkChangeNothing) {
  const auto plain = table("plain.csv", std::string(gemm_header) + "h200_sxm,bf16,lab,1024,2048,4096,1e-4,1\n");
  const auto quoted = table("quoted.csv",
                            "\xef\xbb\xbf\"gpu\",\"dtype\",\"source\",\"m\",\"n\",\"k\",\"latency_s\",\"use_for_"
                            "calibration\"\r\n\"h200_sxm\",\"bf16\",\"lab\",\"1024\",\"2048\",4096,\"1e-4\",\"1\"\r\n");
  const GemmGroup a = read_gemm_points(plain, builtin_catalog()).at(0),
                  b = read_gemm_points(quoted, builtin_catalog()).at(0);
  EXPECT_EQ(kernel_table_kind(quoted), KernelTable::gemm);
  EXPECT_EQ(a.device, b.device);
  EXPECT_EQ(a.source, b.source);
  EXPECT_EQ(a.points.at(0).m, b.points.at(0).m);
  EXPECT_EQ(a.points.at(0).measured, b.points.at(0).measured);
}

TEST(KernelPoints, ReadsAttention) {
  const auto path = table("attention.csv",
                          "system,source,dtype,batch,seqlen,heads,kv_heads,head_dim,window,latency_ms\n"
                          "gb300,1.3,bfloat16/kvfp8,2,4096,32,8,128,512,0.25\n");
  const std::vector<AttentionGroup> groups = read_attention_points(path, builtin_catalog());
  ASSERT_EQ(groups.size(), 1U);
  EXPECT_EQ(groups[0].device, "GB300");
  EXPECT_EQ(groups[0].format, DType::fp8);
  const AttentionShape& shape = groups[0].points.at(0).shape;
  EXPECT_EQ(shape.seq_kv, 4096);
  EXPECT_EQ(shape.kv_heads, 8);
  EXPECT_EQ(shape.window, 512);
  EXPECT_DOUBLE_EQ(groups[0].points[0].measured.value(), 2.5e-4);
  EXPECT_EQ(kernel_table_kind(path), KernelTable::attention);
}

TEST(KernelPoints, RefusesWithPlaceFoundAndExpected) {
  const auto read = [](const std::string& content) {
    return refusal([&] { read_gemm_points(table("bad.csv", content), builtin_catalog()); });
  };
  EXPECT_THAT(read(""), HasSubstr("empty"));
  EXPECT_THAT(read("gpu,dtype,m,n,latency_s\n"), HasSubstr("no column 'k'; found gpu, dtype, m, n, latency_s"));
  EXPECT_THAT(read("gpu,dtype,m,n,k,latency_s\nL4,bf16,1,2,3\n"), HasSubstr("bad.csv:2: 5 fields; expected 6"));
  EXPECT_THAT(read("gpu,dtype,m,n,k,latency_s\nL4,bf16,1,2,3,x\n"), HasSubstr("latency_s is 'x'"));
  EXPECT_THAT(read("gpu,dtype,m,n,k,latency_s\nL4,bf16,1,2,3,0\n"), HasSubstr("latency_s is '0'"));
  EXPECT_THAT(read("gpu,dtype,m,n,k,latency_s\nL4,bf16,-1,2,3,1e-5\n"), HasSubstr("m is '-1'"));
  EXPECT_THAT(read("gpu,dtype,m,n,k,latency_s\nL4,bfloat1,1,2,3,1e-5\n"), HasSubstr("did you mean 'bfloat16'"));
  EXPECT_THAT(refusal([] { kernel_table_kind(table("other.csv", "a,b\n1,2\n")); }), HasSubstr("neither a GEMM table"));
  EXPECT_THAT(refusal([] { read_gemm_points("absent.csv", builtin_catalog()); }), HasSubstr("absent.csv"));
}

TEST(KernelPoints, SkipsWhatTheCatalogueLacksWithAReason) {
  const auto path = table("skipped.csv", std::string(gemm_header) +
                                             "Z9000,bfloat16,,128,256,512,1e-5,1\n"
                                             "A100-SXM4-80GB,fp8,,128,256,512,1e-5,1\n"
                                             "A100-SXM4-80GB,bfloat16,,128,256,512,1e-5,0\n");
  const KernelCheck check = check_gemm_points(path, builtin_catalog());
  ASSERT_EQ(check.groups.size(), 3U);
  EXPECT_THAT(check.groups[0].skipped, HasSubstr("Z9000"));
  EXPECT_EQ(check.groups[1].skipped, "A100-SXM4-80GB has no fp8 peak");
  EXPECT_THAT(check.groups[2].skipped, HasSubstr("use for calibration"));
  EXPECT_EQ(check.groups[2].excluded, 1);
}

std::filesystem::path records() {
  const char* folder = std::getenv("MESHWRIGHT_RECORDS");
  return folder == nullptr ? std::filesystem::path{} : std::filesystem::path(folder) / "measurements";
}

TEST(KernelPoints, ShippedEfficienciesPredictThePublishedGemms) {
  if (records().empty()) GTEST_SKIP() << "MESHWRIGHT_RECORDS is not set: the published GEMM tables are left out";
  const KernelCheck check = check_gemm_points(records() / "gemm-points.csv.gz", builtin_catalog());
  ASSERT_GT(check.groups.size(), 20U);
  for (const KernelErrors& g : check.groups) {
    EXPECT_EQ(g.skipped, "") << g.device;
    EXPECT_LT(g.large_median_ape, 0.08) << g.device << " " << g.format << " " << g.source;
    EXPECT_LT(g.median_ape, 0.10) << g.device << " " << g.format << " " << g.source;
  }
}

TEST(KernelPoints, ShippedEfficienciesPredictThePublishedPrefills) {
  if (records().empty()) GTEST_SKIP() << "MESHWRIGHT_RECORDS is not set: the published attention tables are left out";
  const KernelCheck check = check_attention_points(records() / "attention.csv.gz", builtin_catalog());
  ASSERT_GT(check.groups.size(), 15U);
  for (const KernelErrors& g : check.groups) {
    EXPECT_EQ(g.skipped, "") << g.device;
    EXPECT_LT(g.median_ape, 0.06) << g.device << " " << g.source;
    EXPECT_LT(g.p90_ape, 0.15) << g.device << " " << g.source;
  }
}

}  // namespace
}  // namespace meshwright::calibrate
