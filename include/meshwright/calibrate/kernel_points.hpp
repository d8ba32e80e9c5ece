#pragma once
// Tables of kernel timings (CSV, plain or .gz): GEMM and attention, grouped by device, format and source; and how well
// the kernel models predict them.
#include <filesystem>
#include <string>
#include <vector>

#include "meshwright/cost/kernel.hpp"
#include "meshwright/hardware/catalog.hpp"

namespace meshwright::calibrate {

struct GemmPoint {
  double m = 0, n = 0, k = 0;
  Seconds measured{};
};

/// The points of one device, format and source. A quantised format includes the cast of the activations.
struct GemmGroup {
  std::string device;  ///< name in the catalogue, or as the table spells it where the catalogue has none
  std::string format;  ///< "bf16", "fp16", "fp8", "fp8-block", "fp4"
  std::string source;
  std::vector<GemmPoint> points;
  long excluded = 0;  ///< rows that the table marks as no use for calibration (use_for_calibration = 0)
};

struct AttentionPoint {
  AttentionShape shape;
  Seconds measured{};
};

/// Forward attention of an inference prefill.
struct AttentionGroup {
  std::string device;
  DType format = DType::bf16;  ///< of the key-value cache
  std::string source;
  std::vector<AttentionPoint> points;
};

enum class KernelTable { gemm, attention };
/// What the header line of a table says it is; Error where it is neither.
KernelTable kernel_table_kind(const std::filesystem::path& path);

/// Columns gpu, dtype, m, n, k, latency_s; optional source, use_for_calibration; others are passed over. Devices are
/// named as the catalogue names them.
/// Error("file:LINE", ...) for a missing column, a value that is no number, or an unknown dtype.
std::vector<GemmGroup> read_gemm_points(const std::filesystem::path& path, const Catalog& catalog);
/// Columns system, dtype, batch, seqlen, heads, kv_heads, head_dim, window, latency_ms; optional source.
std::vector<AttentionGroup> read_attention_points(const std::filesystem::path& path, const Catalog& catalog);

/// The kernel that a group's format stands for, cast included.
Gemm gemm_of(const GemmPoint& point, std::string_view format);
/// The library that a source names, "h100_sxm/trtllm_1.3" -> "trtllm"; "" where it names none.
std::string library_of(std::string_view source);
/// The device's efficiency for that format, or that of the library where it has one of its own.
const GemmEfficiency& efficiency_of(const Accelerator& device, std::string_view format, std::string_view library);

/// Errors of one group: |predicted / measured - 1|.
struct KernelErrors {
  std::string device = {}, format = {}, source = {};
  std::string kernel = {};  ///< "gemm" or "attention"
  long count = 0;           ///< points predicted
  long excluded = 0;        ///< rows that the table itself excludes
  double median_ape = 0, mean_ape = 0, p90_ape = 0;
  double bias = 0;                  ///< median of predicted / measured - 1
  long large_count = 0;             ///< GEMM: m, n and k of at least 1024; attention: at least 4096 tokens
  double large_median_ape = 0;      ///< over those
  std::string skipped = {};         ///< why nothing was predicted, or ""
  std::vector<double> errors = {};  ///< predicted / measured - 1, in the table's order
};

/// Errors of the kernel models on a group, with the parameters that `device` carries.
KernelErrors kernel_errors(const GemmGroup& group, const Accelerator& device);
KernelErrors kernel_errors(const AttentionGroup& group, const Accelerator& device);

/// One entry a group. A device that the catalogue lacks, or a format that it does not support, is skipped with a
/// reason.
struct KernelCheck {
  std::vector<KernelErrors> groups;
};
KernelCheck check_gemm_points(const std::filesystem::path& path, const Catalog& catalog);
KernelCheck check_attention_points(const std::filesystem::path& path, const Catalog& catalog);

}  // namespace meshwright::calibrate
