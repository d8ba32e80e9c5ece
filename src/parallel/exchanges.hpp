#pragma once
// Communication of one block: what goes over its groups, and the kernels that it can run beside.
#include "meshwright/parallel/placement.hpp"
#include "parallel/block_cost.hpp"
#include "parallel/operator_kernels.hpp"

namespace meshwright::parallel {

/// GEMMs of a block that are cut alike over tp: what they exchange and how long they run.
struct CutGemms {
  int count = 0;
  double width = 0;  ///< sum of their whole inputs' (column) or outputs' (row) widths
  Seconds forward, data, weight;
  void add(double whole, const Kernels& t) {
    ++count, width += whole;
    forward += t.forward, data += t.data_gradient, weight += t.weight_gradient;
  }
};

/// Windows that communication of a block can hide behind.
struct Windows {
  CutGemms column, row;  ///< their input is gathered; their output is scattered
  CutGemms trained;      ///< column GEMMs whose weights have gradients
  AttentionTraffic attention;
  Kernels mlp;      ///< products of the MLP; beside a mixture, of its shared experts
  Kernels experts;  ///< all that a rank does for its experts
  void add(const Operator& op, const Kernels& t, bool gradients);
};

/// Tensor parallelism. With sequence parallelism every column GEMM gathers its input and every row GEMM scatters its
/// output (and their conjugates in backward, which gathers the saved input once more where the weights have gradients:
/// Megatron Core, tensor_parallel/layers.py, LinearWithFrozenWeight, and Transformer Engine, LayerNormLinear, don't for
/// frozen ones); without, one all-reduce of the row's output forward and of the column's input gradient backward
/// (Korthikanti et al. 2022, section 4.2). Megatron runs the backward gather of the input and the scatter of its
/// gradient beside the column GEMMs' gradients; userbuffers put the rest beside the GEMMs as well.
void add_tensor(BlockCost& cost, const BlockContext& context, const Windows& windows);
/// What context ranks exchange for attention, by the layout's kind of context parallelism.
void add_context(BlockCost& cost, const BlockContext& context, const Windows& windows);
/// Dispatch and combine of a mixture's tokens, in forward and in backward: an exchange over ep, and over etp a gather
/// of what the expert's tensor ranks share and a scatter of their partial sums. Another micro-batch runs beside them,
/// or the shared experts, or nothing.
void add_expert(BlockCost& cost, const BlockContext& context, const Windows& windows);

/// Bytes of `width` activations of each token of one micro-batch on one rank.
Bytes activation_bytes(const BlockContext& context, double width);

}  // namespace meshwright::parallel
