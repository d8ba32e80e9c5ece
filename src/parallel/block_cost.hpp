#pragma once
// Cost of one block on one rank: its operators' kernels and the communication between and beside them.
#include <span>

#include "meshwright/parallel/tables.hpp"
#include "meshwright/workload/operators.hpp"
#include "parallel/communication.hpp"

namespace meshwright::parallel {

/// What is being cut: kernels and communication of a job under the keys of ShardCosts.
struct BlockContext {
  const Job& job;
  const Layout& layout;
  Communication& communication;
};

BlockCost layer_cost(const BlockContext& context, const LayerShape& shape);
/// One multi-token-prediction module without its head.
BlockCost mtp_cost(const BlockContext& context);
BlockCost embedding_cost(const BlockContext& context);
BlockCost head_cost(const BlockContext& context);

}  // namespace meshwright::parallel
