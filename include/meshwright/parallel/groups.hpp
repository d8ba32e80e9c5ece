#pragma once
// Which ranks talk to each other: groups of each parallel axis under the default order tp-cp-ep-dp-pp (tensor ranks
// neighbours, pipeline stages furthest apart), as Megatron-Core, nanotron and torchtitan number them.
#include "meshwright/parallel/layout.hpp"

namespace meshwright::parallel {

/// Ranks of one group: `size` of them, `stride` apart in rank order.
struct Group {
  int size = 1, stride = 1;
  friend bool operator==(const Group&, const Group&) = default;
};

/// Every group of a layout.
struct Groups {
  Group tensor, context, expert, pipeline;
  Group data;         ///< gradients of attention, norms, embeddings and dense MLPs: dp * cp ranks
  Group expert_data;  ///< gradients of routed experts: what is left of dp * cp * tp after ep * etp
  Group shard;        ///< ranks that a parameter is sharded over (ZeRO); = data unless HSDP
  Group replica;      ///< replicas of a shard (HSDP); size 1 otherwise
};
Groups groups(const Layout& layout) noexcept;

}  // namespace meshwright::parallel
