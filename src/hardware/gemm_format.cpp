#include "meshwright/hardware/gemm_format.hpp"

namespace meshwright::hardware {

GemmFormat parse_gemm_format(std::string_view name, const std::string& where) {
  if (name == "fp8-block") return {DType::fp8, true};
  return {parse_dtype(name, where)};
}

}  // namespace meshwright::hardware
