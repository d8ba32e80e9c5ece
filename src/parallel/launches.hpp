#pragma once
// What the host launches for one block, and how long that takes it.
#include <span>

#include "parallel/block_cost.hpp"

namespace meshwright::parallel {

/// Sets `cost.host` and `cost.awaited` from the block's operators. An eager host launches an operator at a time, and
/// inside some of them a kernel for each expert; graphs take what they hold off its hands, compiling leaves a share.
/// The floor of a stack whose passes were measured as a whole (host.per_layer) holds where it is more.
void add_host(BlockCost& cost, const BlockContext& context, std::span<const Operator> operators);

}  // namespace meshwright::parallel
