#include "meshwright/calibrate/kernel_points.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

#include "calibrate/csv.hpp"
#include "meshwright/core/error.hpp"
#include "meshwright/core/names.hpp"
#include "meshwright/core/text.hpp"
#include "meshwright/hardware/gemm_format.hpp"

namespace meshwright::calibrate {
namespace {

/// Bounds of a point that can have been measured: a dimension of a tensor, the time of one kernel.
constexpr double most_size = 1e9, most_seconds = 1e4;

struct Spelling {
  std::string_view table, ours;
};

constexpr std::array formats = {Spelling{"bfloat16", "bf16"},
                                Spelling{"bf16", "bf16"},
                                Spelling{"float16", "fp16"},
                                Spelling{"fp16", "fp16"},
                                Spelling{"fp8", "fp8"},
                                Spelling{"fp8_e4m3", "fp8"},
                                Spelling{"mxfp8", "fp8"},
                                Spelling{"fp8_block", "fp8-block"},
                                Spelling{"fp8-block", "fp8-block"},
                                Spelling{"nvfp4", "fp4"},
                                Spelling{"fp4", "fp4"}};

std::string gemm_format(const CsvTable& table, std::string_view dtype) {
  const auto found = std::ranges::find(formats, dtype, &Spelling::table);
  if (found != formats.end()) return std::string(found->ours);
  std::vector<std::string> known;
  known.reserve(formats.size());
  for (const Spelling& s : formats) known.emplace_back(s.table);
  throw Error(table.where(), fmt::format("unknown dtype '{}'{}", printable(dtype), suggestion(dtype, known)));
}

/// The group of a key, in the order of first appearance.
template <class Group>
Group& group_of(std::vector<Group>& groups, std::map<std::string, std::size_t, std::less<>>& index,
                std::string_view device, std::string_view dtype, std::string_view source, auto make) {
  const std::string key = fmt::format("{},{},{}", device, dtype, source);
  const auto [place, fresh] = index.try_emplace(key, groups.size());
  if (fresh) groups.push_back(make());
  return groups[place->second];
}

/// The catalogue's name of a device as tables spell it ("h200_sxm", "H200-SXM5-141GB"), or that spelling.
std::string device_named(const Catalog& catalog, std::string_view spelling) {
  const Accelerator* device = find_named(catalog.accelerators, spelling);
  return device != nullptr ? device->name : std::string(spelling);
}

}  // namespace

KernelTable kernel_table_kind(const std::filesystem::path& path) {
  const CsvTable table(path);
  if (table.has("m") && table.has("n") && table.has("k")) return KernelTable::gemm;
  if (table.has("seqlen") && table.has("head_dim")) return KernelTable::attention;
  throw Error(path.string() + ":1",
              "neither a GEMM table (columns gpu, dtype, m, n, k, latency_s) nor an attention table (system, dtype, "
              "batch, seqlen, heads, kv_heads, head_dim, window, latency_ms)");
}

std::vector<GemmGroup> read_gemm_points(const std::filesystem::path& path, const Catalog& catalog) {
  CsvTable table(path);
  const std::size_t gpu = table.column("gpu"), dtype = table.column("dtype"), m = table.column("m"),
                    n = table.column("n"), k = table.column("k"), latency = table.column("latency_s");
  const bool has_source = table.has("source"), has_use = table.has("use_for_calibration");
  const std::size_t source = has_source ? table.column("source") : 0,
                    use = has_use ? table.column("use_for_calibration") : 0;
  std::vector<GemmGroup> groups;
  std::map<std::string, std::size_t, std::less<>> index;
  while (table.next()) {
    const std::string_view from = has_source ? table.text(source) : "";
    GemmGroup& group = group_of(groups, index, table.text(gpu), table.text(dtype), from, [&] {
      return GemmGroup{
          device_named(catalog, table.text(gpu)), gemm_format(table, table.text(dtype)), std::string(from), {}, 0};
    });
    if (has_use && table.text(use) == "0") {
      ++group.excluded;
      continue;
    }
    group.points.push_back({.m = table.number(m, 1, most_size),
                            .n = table.number(n, 1, most_size),
                            .k = table.number(k, 1, most_size),
                            .measured = Seconds::base(table.number(latency, 1e-9, most_seconds))});
  }
  return groups;
}

std::vector<AttentionGroup> read_attention_points(const std::filesystem::path& path, const Catalog& catalog) {
  CsvTable table(path);
  const std::size_t system = table.column("system"), dtype = table.column("dtype"), batch = table.column("batch"),
                    seq = table.column("seqlen"), heads = table.column("heads"), kv = table.column("kv_heads"),
                    dim = table.column("head_dim"), window = table.column("window"),
                    latency = table.column("latency_ms");
  const bool has_source = table.has("source");
  const std::size_t source = has_source ? table.column("source") : 0;
  std::vector<AttentionGroup> groups;
  std::map<std::string, std::size_t, std::less<>> index;
  while (table.next()) {
    const std::string_view from = has_source ? table.text(source) : "";
    AttentionGroup& group = group_of(groups, index, table.text(system), table.text(dtype), from, [&] {
      const bool fp8 = table.text(dtype).find("fp8") != std::string_view::npos;
      return AttentionGroup{device_named(catalog, table.text(system)),
                            fp8 ? DType::fp8 : DType::bf16,
                            fmt::format("{} {}", from, table.text(dtype)),
                            {}};
    });
    const double length = table.number(seq, 1, most_size), width = table.number(dim, 1, most_size);
    group.points.push_back({.shape = {.batch = table.number(batch, 1, most_size),
                                      .heads = table.number(heads, 1, most_size),
                                      .kv_heads = table.number(kv, 1, most_size),
                                      .seq_q = length,
                                      .seq_kv = length,
                                      .head_dim = width,
                                      .v_head_dim = width,
                                      .window = static_cast<int>(table.number(window, 0, most_size))},
                            .measured = Seconds::base(table.number(latency, 1e-6, most_seconds * 1e3) * 1e-3)});
  }
  return groups;
}

Gemm gemm_of(const GemmPoint& point, std::string_view format) {
  Gemm gemm{.m = point.m, .n = point.n, .k = point.k};
  const GemmFormat known = parse_gemm_format(format, "format");
  gemm.dtype = known.dtype, gemm.block_scaled = known.block_scaled;
  gemm.cast = gemm.dtype == DType::fp8 || gemm.dtype == DType::fp4;
  return gemm;
}

std::string library_of(std::string_view source) {
  const std::size_t slash = source.find('/');
  if (slash == std::string_view::npos) return "";
  const std::string_view rest = source.substr(slash + 1);
  return std::string(rest.substr(0, rest.find('_')));
}

const GemmEfficiency& efficiency_of(const Accelerator& device, std::string_view format, std::string_view library) {
  for (const LibraryGemm& own : device.efficiency.gemm_by_library) {
    if (own.library == library && own.format == format) return own.efficiency;
  }
  return hardware::efficiency_of(device.efficiency, parse_gemm_format(format, "format"));
}

}  // namespace meshwright::calibrate
