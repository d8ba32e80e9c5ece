#pragma once
// Times of NCCL's algorithms on a ladder of levels; estimate.cpp chooses among them.
#include <optional>
#include <string_view>

#include "collectives/ladder.hpp"
#include "meshwright/collectives/collective.hpp"

namespace meshwright::collectives {

/// Seconds. time = latency + the slowest rung's wire + fill.
struct Cost {
  double latency = 0, wire = 0, fill = 0;
  const Rung* limit = nullptr;  ///< the rung that dominates
  double time() const { return latency + wire + fill; }
};

/// What a candidate is priced for.
struct Question {
  Collective collective;
  double bytes;
  const Ladder& ladder;
  double base;  ///< launch: scale-up's base, and the network's where it takes part
};

/// Each gives nothing where the algorithm doesn't exist for that collective, place or protocol.
std::optional<Cost> ring_cost(const Question& q, Protocol protocol);
std::optional<Cost> tree_cost(const Question& q, Protocol protocol);
std::optional<Cost> nvls_cost(const Question& q);
std::optional<Cost> nvls_tree_cost(const Question& q);
std::optional<Cost> collnet_cost(const Question& q);
std::optional<Cost> pairwise_cost(const Question& q, const Platform& platform, Protocol protocol);
std::optional<Cost> direct_cost(const Question& q);

/// Bytes that the busiest node of a double binary tree over `domains` nodes sends for one all-reduced byte. Two nodes
/// are each root of one tree and leaf of the other and send 1; with three the busiest sends 1.5, with more 2.
double tree_traffic(double domains);

}  // namespace meshwright::collectives
