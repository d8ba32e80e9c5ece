#pragma once
// Training recipes: which number format each part of a step runs in.
#include <string>
#include <string_view>
#include <vector>

#include "meshwright/core/dtype.hpp"

namespace meshwright::workload {

/// One row of the recipe table. `gemm` is the format of the linear layers; attention, logits, norms and the router
/// stay in `rest` unless said otherwise.
struct Precision {
  std::string_view name;  ///< "bf16", "fp16", "fp32", "fp8-ds", "fp8-cs", "fp8-block", "fp8-rowwise", "fp8", "mxfp8",
                          ///< "nvfp4", "int8"
  DType gemm = DType::bf16;
  DType rest = DType::bf16;
  double cast_bytes_per_element = 0;  ///< HBM traffic of quantising one GEMM input element (read + write + scales)
  double stored_input_bytes = 2;      ///< bytes kept for backward of one element of a GEMM input
  std::string_view note;
  bool block_scaled = false;  ///< GEMM inputs have a scale per tile or block of 128
  /// Scales of blocks are applied by the matrix units, which devices with fp4 units have.
  bool scaled_in_units = false;
  bool any_recipe = false;             ///< stands for whatever recipe of its format a stack has
  double stored_activation_bytes = 0;  ///< bytes kept for backward of one input of a nonlinearity; 0 = as computed
  double stored_attention_bytes = 0;   ///< of one output of attention where it is kept once; 0 = as each user needs it
};

const std::vector<Precision>& precisions();
/// Throws Error(where, ...) with the nearest spelling.
const Precision& precision(std::string_view name, const std::string& where);

}  // namespace meshwright::workload
