// A simulated rank as Nsight Systems exports it.
#include <fmt/format.h>
#include <sqlite3.h>

#include <array>
#include <memory>
#include <stdexcept>

#include "calibrate/simulated_trace.hpp"

namespace meshwright::calibrate {
namespace {

/// Names as NCCL and libraries give them; NCCL exchanges all to all by sends and receives.
constexpr std::array kernel_names = {"nvjet_hsh_128x256_64x4_1x2_h_bz_coopA_NTT",
                                     "void cutlass::device_kernel<GroupProblemShape>()",
                                     "void flash::flash_fwd_kernel<Flash_fwd_traits<128, 128, 64>>()",
                                     "void scaled_upper_triang_masked_softmax_warp_forward<bfloat16>()",
                                     "void at::native::vectorized_elementwise_kernel<4>()",
                                     "void multi_tensor_apply_kernel<AdamFunctor<float>>()",
                                     "Memcpy DtoD (Device -> Device)"};
constexpr std::array collective_kernels = {"ncclDevKernel_AllReduce_Sum_bf16_RING_LL",
                                           "ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL",
                                           "ncclDevKernel_AllGather_RING_LL",
                                           "ncclDevKernel_SendRecv",
                                           "ncclDevKernel_SendRecv",
                                           "ncclDevKernel_Broadcast_RING_LL"};

std::size_t name_of(const TraceKernel& k) {
  return k.kind == KernelKind::collective ? kernel_names.size() + static_cast<std::size_t>(k.collective)
                                          : static_cast<std::size_t>(k.kind);
}

struct Close {
  void operator()(sqlite3* db) const { sqlite3_close(db); }
};

}  // namespace

void write_nsight(const RankTrace& trace, const std::filesystem::path& path) {
  std::filesystem::remove(path);
  std::string script = fmt::format(
      "BEGIN;"
      "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);"
      "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT, end INT, deviceId INT, streamId INT, demangledName INT);"
      "CREATE TABLE TARGET_INFO_GPU (id INT, name TEXT);"
      "INSERT INTO TARGET_INFO_GPU VALUES (0, '{}');",
      trace.device);
  for (std::size_t i = 0; i < kernel_names.size(); ++i)
    script += fmt::format("INSERT INTO StringIds VALUES ({}, '{}');", i, kernel_names[i]);
  for (std::size_t i = 0; i < collective_kernels.size(); ++i)
    script += fmt::format("INSERT INTO StringIds VALUES ({}, '{}');", kernel_names.size() + i, collective_kernels[i]);
  for (const TraceKernel& k : trace.kernels) {
    script += fmt::format("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES ({:.0f}, {:.0f}, 0, {}, {});", 1e9 * k.start,
                          1e9 * k.end, trace.streams[static_cast<std::size_t>(k.stream)], name_of(k));
  }
  script += "COMMIT;";
  sqlite3* raw = nullptr;
  const bool opened = sqlite3_open(path.c_str(), &raw) == SQLITE_OK;
  const std::unique_ptr<sqlite3, Close> db(raw);
  if (!opened || sqlite3_exec(raw, script.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK)
    throw std::runtime_error(sqlite3_errmsg(raw));
}

}  // namespace meshwright::calibrate
