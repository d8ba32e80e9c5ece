#pragma once
// Formats of matrix products as files name them: a number format, or fp8 with a scale per block of 128.
#include <string>
#include <string_view>

#include "meshwright/hardware/efficiency.hpp"

namespace meshwright::hardware {

struct GemmFormat {
  DType dtype = DType::bf16;
  bool block_scaled = false;
};
/// "bf16", "fp8", "fp8-block". Throws Error(where, ...) for an unknown name.
GemmFormat parse_gemm_format(std::string_view name, const std::string& where);

/// Where the figures of a format stand.
inline GemmEfficiency& own_figures(DeviceEfficiency& device, GemmFormat format) {
  return format.block_scaled && format.dtype == DType::fp8 ? device.gemm_fp8_block : device.of(format.dtype);
}
/// The figures of a format: of scales per block those of one scale a tensor where the device has no others.
inline const GemmEfficiency& efficiency_of(const DeviceEfficiency& device, GemmFormat format) {
  const GemmEfficiency& block = device.gemm_fp8_block;
  const bool own = format.block_scaled && format.dtype == DType::fp8 && block.ceiling > 0;
  return own ? block : device.of(format.dtype);
}

}  // namespace meshwright::hardware
