#include "workload/operator_list.hpp"

namespace meshwright::workload {

OperatorList::OperatorList(const Transformer& transformer, const Precision& recipe, const Shard& cut,
                           double micro_batch, double seq_len)
    : model(transformer),
      precision(recipe),
      shard(cut),
      batch(micro_batch),
      sequence(seq_len),
      rows(micro_batch * seq_len / cut.cp),
      norm_rows(rows / (cut.sequence_parallel ? cut.tp : 1)),
      element(bytes_per_element(recipe.rest)) {
  operators.reserve(24);
}

Operator& OperatorList::gemm(std::string_view name, Cut cut, double m, double n, double k, double saved_rows,
                             bool bias) {
  operators.push_back({.name = name,
                       .kind = OperatorKind::gemm,
                       .part = part,
                       .m = m,
                       .n = n,
                       .k = k,
                       .cut = cut,
                       .bytes = element * (m * k + n * k + m * n),
                       .flops = 2 * m * n * k,
                       .weight_elements = n * k + (bias ? n : 0),
                       .saved_bytes = precision.stored_input_bytes * saved_rows * k});
  return operators.back();
}

Operator& OperatorList::grouped_gemm(std::string_view name, Cut cut, double m, double n, double k, double groups) {
  Operator& row = gemm(name, cut, m * groups, n, k, m * groups);
  row.kind = OperatorKind::grouped_gemm;
  row.expert = true;
  row.m = m;
  row.groups = groups;
  row.weight_elements = groups * (n * k + (model.mlp_bias ? n : 0));
  row.bytes = element * groups * (m * k + n * k + m * n);
  return row;
}

Operator& OperatorList::stream(std::string_view name, double bytes, double saved_bytes) {
  operators.push_back({.name = name,
                       .kind = OperatorKind::memory_bound,
                       .part = part,
                       .low_precision = false,
                       .bytes = bytes,
                       .saved_bytes = saved_bytes});
  return operators.back();
}

void OperatorList::norm(std::string_view name, double norm_row_count, double width) {
  const double elements = norm_row_count * width;
  Operator& row = stream(name, 2 * element * elements, element * elements);
  row.weight_elements = model.norm_weights ? width * (model.layer_norm_bias ? 2 : 1) : 0;
  // LayerNorm is one kernel everywhere; an RMSNorm written in primitives casts to fp32 (read + 4), squares (8), takes
  // the mean (4), scales (8), casts back (4 + write) and applies the weight (read + write).
  if (!model.layer_norm_bias) row.unfused_bytes = (4 * element + 28) * elements;
}

void OperatorList::residual(std::string_view name, double inputs) {
  const double elements = norm_rows * model.hidden, mask = model.dropout ? 1 : 0;
  Operator& row = stream(name, ((inputs + 1) * element + mask) * elements, mask * elements);
  const double dropout = model.dropout ? 2 * element + mask : 0;
  const double bias = model.mlp_bias || model.attention_output_bias ? 2 * element : 0;
  row.unfused_bytes = ((inputs + 1) * element + dropout + bias) * elements;
}

void OperatorList::activation(std::string_view name, double row_count, double inner) {
  const double elements = row_count * inner, inputs = model.gated_mlp ? 2 : 1;
  const double kept = precision.stored_activation_bytes > 0 ? precision.stored_activation_bytes : element;
  Operator& row = stream(name, (inputs + 1) * element * elements, inputs * kept * elements);
  // Gated: the nonlinearity, then the product; plain: bias add, then the nonlinearity.
  const double apart = model.gated_mlp ? 5 : model.mlp_bias ? 4 : 2;
  row.unfused_bytes = apart * element * elements;
}

void OperatorList::casts(std::string_view name) {
  double elements = 0;
  int kernels = 0;
  double apart = 0;
  for (; cast_up_to_ < operators.size(); ++cast_up_to_) {
    const Operator& row = operators[cast_up_to_];
    if (!row.low_precision) continue;
    elements += row.m * row.groups * row.k;
    ++kernels;
    apart += row.groups;
  }
  const double bytes = precision.cast_bytes_per_element * elements;
  if (bytes <= 0) return;
  Operator& row = stream(name, bytes);
  row.cast = true;
  row.kernels = kernels;
  row.apart = apart > kernels ? apart : 0;
}

}  // namespace meshwright::workload
