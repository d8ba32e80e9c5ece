#pragma once
// Builds the operator list of one block: what is cut how, and the rows that mixers and feed-forwards share.
#include <vector>

#include "meshwright/workload/operators.hpp"

namespace meshwright::workload {

/// Rows of one rank under a shard, and bytes per element. `rows` enter the GEMMs; `norm_rows` the norms, residuals and
/// the router, which sequence parallelism shards by tp too (Korthikanti et al. 2022, fig. 5).
struct OperatorList {
  OperatorList(const Transformer& transformer, const Precision& recipe, const Shard& cut, double micro_batch,
               double seq_len);

  const Transformer& model;
  const Precision& precision;
  Shard shard;
  double batch, sequence, rows, norm_rows;
  double element;                           ///< bytes of an activation element outside the GEMM format
  OperatorPart part = OperatorPart::mixer;  ///< of the operators that come next
  std::vector<Operator> operators;

  /// `saved_rows` of its input are kept for backward in the recipe's format; 0 = the tensor is kept by an earlier row.
  Operator& gemm(std::string_view name, Cut cut, double m, double n, double k, double saved_rows, bool bias = false);
  /// Of the routed experts.
  Operator& grouped_gemm(std::string_view name, Cut cut, double m, double n, double k, double groups);
  Operator& stream(std::string_view name, double bytes, double saved_bytes = 0);
  void norm(std::string_view name, double norm_row_count, double width);
  /// Residual add after a sub-block, with bias and dropout fused in.
  void residual(std::string_view name, double inputs = 2);
  void activation(std::string_view name, double row_count, double inner);
  /// Quantisation of the GEMM inputs listed so far, as one row; nothing for recipes without casts.
  void casts(std::string_view name);

 private:
  std::size_t cast_up_to_ = 0;  ///< operators whose casts are listed
};

void append_mixer(OperatorList& list, const LayerShape& shape);
void append_feed_forward(OperatorList& list, const LayerShape& shape);

}  // namespace meshwright::workload
