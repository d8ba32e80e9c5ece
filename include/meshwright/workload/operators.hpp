#pragma once
// A step as a list of operators: each GEMM with its shape after sharding, attention, and the memory-bound kernels.
#include <string_view>
#include <vector>

#include "meshwright/workload/precision.hpp"
#include "meshwright/workload/transformer.hpp"

namespace meshwright::workload {

/// How one layer is cut. Sequence parallelism shards the norms and residuals by tp too.
struct Shard {
  int tp = 1, cp = 1, ep = 1, etp = 1;
  bool sequence_parallel = false;
  double imbalance = 1;  ///< tokens of the busiest expert rank over the mean
};

/// Where in the model an operator stands.
enum class OperatorPart { mixer, mlp, router, experts, embedding, head };

enum class OperatorKind { gemm, grouped_gemm, attention, memory_bound };

/// How a GEMM's weight is cut over the ranks of its group (tp, or etp inside an expert): by outputs, whose input every
/// rank needs whole; by inputs, whose outputs are partial sums; or not at all.
enum class Cut { none, column, row };

/// One forward operator of one rank; backward follows from the kind (GEMM: data and weight gradients, each of the
/// forward's FLOPs; attention: 2.5x with recomputed scores; memory-bound: about twice the bytes).
struct Operator {
  std::string_view name{};  ///< "qkv", "attention", "mlp_up", "router", ...
  OperatorKind kind = OperatorKind::gemm;
  OperatorPart part = OperatorPart::mixer;
  double m = 0, n = 0, k = 0;  ///< GEMM: tokens, outputs, inputs. For grouped GEMMs m is per expert
  double groups = 1;           ///< local experts of a grouped GEMM
  bool low_precision = true;   ///< runs in the recipe's GEMM format (fp8, ...) when there is one
  Cut cut = Cut::none;         ///< over tp, or over etp where `expert`
  bool expert = false;         ///< of a routed expert: its weight is held by ep * etp ranks, not by tp
  // attention
  double batch = 0, heads = 0, kv_heads = 0, seq_q = 0, seq_kv = 0, head_dim = 0, v_head_dim = 0;
  int window = 0;  ///< 0 = none
  // memory-bound kernels
  double bytes = 0;          ///< read + written in forward, fused as a good stack does it
  double unfused_bytes = 0;  ///< the same without fusion (0 = the same)
  int kernels = 1;           ///< launches
  double apart = 0;          ///< launches where each expert has its own; 0 = the same
  bool cast = false;         ///< quantises inputs of the GEMMs before it
  bool sorts = false;        ///< copies tokens into the order of their experts, or back
  // work and memory
  double flops = 0;                ///< forward, causal half for attention
  double weight_elements = 0;      ///< parameters of this rank that it reads
  double saved_bytes = 0;          ///< activation bytes kept for backward without recompute
  double unfused_saved_bytes = 0;  ///< the same without fusion (stored attention scores); 0 = the same
};

enum class LayerKind { dense, moe };

constexpr bool is_gemm(const Operator& op) {
  return op.kind == OperatorKind::gemm || op.kind == OperatorKind::grouped_gemm;
}
/// A product with a weight of the blocks: what a low-precision recipe, or a packed base of adapters, holds in its
/// format.
constexpr bool is_linear_layer(const Operator& op) { return is_gemm(op) && op.low_precision; }

/// Operators of one block for `micro_batch` sequences of `seq_len` tokens (before cutting by cp).
std::vector<Operator> layer_operators(const Transformer& model, const LayerShape& shape, double micro_batch,
                                      double seq_len, const Shard& shard, const Precision& precision);
/// The same for models without a `pattern`.
std::vector<Operator> layer_operators(const Transformer& model, LayerKind kind, double micro_batch, double seq_len,
                                      const Shard& shard, const Precision& precision, bool full_attention = true);
/// Input embedding (with its gradient scatter) and output head with loss; vocabulary padded to `vocab_multiple * tp`.
std::vector<Operator> embedding_operators(const Transformer& model, double micro_batch, double seq_len,
                                          const Shard& shard, const Precision& precision, int vocab_multiple = 128);
std::vector<Operator> head_operators(const Transformer& model, double micro_batch, double seq_len, const Shard& shard,
                                     const Precision& precision, int vocab_multiple = 128);
/// One multi-token-prediction module: its projection and block; `head_operators` follow once more for each.
std::vector<Operator> mtp_operators(const Transformer& model, double micro_batch, double seq_len, const Shard& shard,
                                    const Precision& precision);
/// Vocabulary after padding to a multiple.
int padded_vocab(int vocab, int multiple);

}  // namespace meshwright::workload
