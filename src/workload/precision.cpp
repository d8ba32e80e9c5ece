#include "meshwright/workload/precision.hpp"

#include <algorithm>

#include "meshwright/core/names.hpp"

namespace meshwright::workload {

// Cast traffic: a quantised GEMM input is read in bf16 (2 B) and written once row-wise and once transposed for the
// weight gradient (TN-only tensor cores on Hopper; two scaling directions for block formats), plus its scales.
// Current scaling reads the tensor once more for its maximum; delayed scaling takes it from history.
// Sources: Transformer Engine user guide, "FP8 primer" and "MXFP8 and NVFP4" pages
// (https://docs.nvidia.com/deeplearning/transformer-engine/user-guide/); block sizes 1x128 and 128x128 from the
// DeepSeek-V3 report (arXiv 2412.19437, sec. 3.3), 32 for MXFP8 (OCP MX v1.0), 16 for NVFP4. Stored for backward: the
// transposed copy with its scales.
const std::vector<Precision>& precisions() {
  static const std::vector<Precision> rows = {
      {"bf16", DType::bf16, DType::bf16, 0, 2, "no casts"},
      {"fp16", DType::fp16, DType::fp16, 0, 2, "no casts; loss scaling"},
      {"fp32", DType::fp32, DType::fp32, 0, 4, "no tensor cores"},
      {"tf32", DType::tf32, DType::fp32, 0, 4, "tensor cores on fp32 data"},
      {"fp8", DType::fp8, DType::bf16, 4, 1, "per-tensor scaling, recipe not said: as fp8-ds", false, false, true},
      {"fp8-ds", DType::fp8, DType::bf16, 4, 1, "per-tensor delayed scaling (amax history)"},
      {"fp8-cs", DType::fp8, DType::bf16, 6, 1, "per-tensor current scaling: one more read for the maximum"},
      {"fp8-rowwise", DType::fp8, DType::bf16, 6, 1, "one scale a row, bf16 input quantised twice"},
      {"fp8-block", DType::fp8, DType::bf16, 4 + 8.0 / 128, 1 + 4.0 / 128, "1x128 tiles with fp32 scales", true},
      {"mxfp8", DType::fp8, DType::bf16, 4 + 2.0 / 32, 1 + 1.0 / 32, "32-element blocks with 8-bit scales", false,
       true},
      {"mxfp4", DType::fp4, DType::bf16, 5 + 2.0 / 32, 0.5 + 1.0 / 32, "32-element blocks with 8-bit scales", false,
       true},
      {"nvfp4", DType::fp4, DType::bf16, 5 + 2.0 / 16, 0.5 + 1.0 / 16,
       "16-element blocks with fp8 scales, one read for the tensor scale, Hadamard transform in the cast", false, true},
      {"int8", DType::int8, DType::bf16, 4, 1, "per-tensor int8 (AQT)"},
  };
  return rows;
}

const Precision& precision(std::string_view name, const std::string& where) {
  const auto& rows = precisions();
  const auto row = std::find_if(rows.begin(), rows.end(), [&](const Precision& p) { return p.name == name; });
  if (row != rows.end()) return *row;
  std::vector<std::string> names;
  names.reserve(rows.size());
  for (const Precision& p : rows) names.emplace_back(p.name);
  throw UnknownName(where, "unknown precision '" + std::string(name) + "'" + suggestion(name, names));
}

}  // namespace meshwright::workload
