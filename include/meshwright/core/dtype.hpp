#pragma once
// Number formats of arithmetic and storage.
#include <array>
#include <string>
#include <string_view>

#include "meshwright/core/quantity.hpp"

namespace meshwright {

enum class DType { fp64, fp32, tf32, bf16, fp16, fp8, fp6, fp4, int8 };
inline constexpr std::size_t dtype_count = 9;

inline constexpr std::array<std::string_view, dtype_count> dtype_names = {"fp64", "fp32", "tf32", "bf16", "fp16",
                                                                          "fp8",  "fp6",  "fp4",  "int8"};
constexpr std::string_view name(DType t) { return dtype_names[static_cast<std::size_t>(t)]; }
/// Throws Error(where, ...) with the nearest spelling.
DType parse_dtype(std::string_view text, const std::string& where);
/// Bytes of one stored element (tf32 is stored in 4; fp6 in 0.75, fp4 in 0.5).
constexpr double bytes_per_element(DType t) {
  constexpr std::array<double, dtype_count> bytes = {8, 4, 4, 2, 2, 1, 0.75, 0.5, 1};
  return bytes[static_cast<std::size_t>(t)];
}

}  // namespace meshwright
