#pragma once
// The geometry of a layout: which ranks form the groups of each axis, what one rank holds and computes, and which
// layers each pipeline stage has. Memory, step, search, launchers and everything that is printed read it here.
#include <compare>
#include <optional>
#include <span>
#include <vector>

#include "meshwright/parallel/job.hpp"
#include "meshwright/parallel/layout.hpp"
#include "meshwright/parallel/stages.hpp"
#include "meshwright/topology/place.hpp"
#include "meshwright/workload/operators.hpp"

namespace meshwright::parallel {

/// Ranks of one group: `size` of them, `stride` apart in rank order; in blocks of `block` ranks that are `jump` apart
/// where the axes of the group are not neighbours in the order (0 = one block).
struct Group {
  int size = 1, stride = 1;
  int block = 0, jump = 0;
  friend auto operator<=>(const Group&, const Group&) = default;
};

/// Every group of a layout.
struct Groups {
  Group tensor, context, pipeline;
  Group data;           ///< gradients of attention, norms, embeddings and dense MLPs: dp * cp ranks
  Group shard;          ///< ranks that a parameter is sharded over (ZeRO); = data unless HSDP
  Group replica;        ///< replicas of a shard (HSDP); size 1 otherwise
  Group expert;         ///< ranks that hold different experts
  Group expert_tensor;  ///< ranks that hold parts of the same experts
  Group expert_data;    ///< gradients of routed experts
};

/// How a stack spreads routed experts over ranks.
struct ExpertFold {
  bool cut_by_tp = true;  ///< etp is tp where a layout does not say; false: 1
  bool over_tp = true;    ///< over tp * cp * dp ranks; false: over cp * dp
  bool over_cp = true;    ///< false: over dp, context ranks hold the same experts
};
inline ExpertFold expert_fold(const Framework& stack) noexcept {
  return {stack.defaults.experts_cut_by_tp, stack.rules.experts_fold_over_tp, stack.rules.experts_fold_over_cp};
}
/// Tensor parallel degree inside an expert: the layout's, or the stack's default.
int expert_tensor_parallel(const Layout& layout, ExpertFold fold) noexcept;
inline int expert_tensor_parallel(const Layout& layout, const Framework& stack) noexcept {
  return expert_tensor_parallel(layout, expert_fold(stack));
}
/// Ranks that hold the same routed experts: what ep and etp leave of the ranks that experts are spread over; at
/// least 1.
int expert_data_parallel(const Layout& layout, ExpertFold fold) noexcept;
/// Ranks that share the states (ZeRO) of a dense parameter and of a routed expert's; as many for every ZeRO stage.
struct StateRanks {
  int dense = 1, experts = 1;
};
StateRanks state_ranks(const Layout& layout, ExpertFold fold) noexcept;
/// Ranks of dp alone that share states, as stacks state them whose context ranks always share them besides (torchtitan,
/// accelerate): hsdp_shard without cp, dp where it is unset; nothing where cp does not divide hsdp_shard.
std::optional<int> data_shard(const Layout& layout) noexcept;
/// The inverse: hsdp_shard of that many ranks of dp.
constexpr double hsdp_shard_of(double data_shard, double cp) noexcept { return data_shard * cp; }
/// Kind of context parallelism: the layout's, or the stack's default.
ContextKind context_kind(const Layout& layout, const Framework& framework) noexcept;
/// The groups under the layout's order of ranks, or the stack's. Dense axes are numbered as the order says; routed
/// experts by the same order with ep in place of cp (Megatron Core, parallel_state.py: two rank generators).
Groups groups(const Layout& layout, const Framework& framework) noexcept;
/// The pipeline stage of a rank under that order.
int pipeline_stage(const Layout& layout, const Framework& framework, int rank) noexcept;
/// The order in which ranks are numbered: the layout's, or the stack's default.
const RankOrder& rank_order(const Layout& layout, const Framework& framework) noexcept;
/// The layout with the stack's defaults of etp and, with context parallelism, of cp_kind stated.
Layout complete(const Job& job, const Layout& layout);

/// How operators are cut on one rank.
Shard shard_of(const Job& job, const Layout& layout) noexcept;
/// Tokens of one micro-batch on one rank: those that attention and MLP see, and those that norms, residuals and sends
/// see, which sequence parallelism shards over tp.
struct RankTokens {
  double all = 0, sharded = 0;
};
RankTokens rank_tokens(const Job& job, const Layout& layout) noexcept;
/// Activations of one micro-batch at a stage boundary, on one rank.
Bytes boundary_bytes(const Job& job, const Layout& layout) noexcept;
/// Vocabulary after padding, and the part of it that a rank holds.
double rank_vocabulary(const Job& job, const Layout& layout) noexcept;

/// Parameters of one rank, before ZeRO.
struct RankParameters {
  double dense = 0;    ///< attention, norms, dense MLPs, embedding, head
  double experts = 0;  ///< routed experts
};
RankParameters parameters_of(std::span<const Operator> operators) noexcept;

/// Where the groups of one axis sit in the fabric.
struct AxisPlace {
  Axis axis = Axis::tp;
  Group group;
  GroupPlace place;
};
/// One stage of the pipeline.
struct StagePlace {
  std::vector<Chunk> chunks;  ///< in model order
  int layers = 0;
  RankParameters parameters;  ///< of one of its ranks
  double in_flight = 1;       ///< micro-batches whose activations it keeps at most
};
struct Placement {
  Layout layout;  ///< complete()
  RankOrder order;
  Groups groups;
  Shard shard;
  RankTokens tokens;
  double heads = 0, kv_heads = 0, experts = 0, vocabulary = 0;  ///< of one rank
  StateRanks state_ranks;
  std::vector<AxisPlace> axes;  ///< of more than one rank, in the layout's order
  std::vector<StagePlace> stages;
  Bytes boundary;
};
/// Where the groups that are alike to `group` sit.
GroupPlace place_of(const Cluster& cluster, const Group& group);
/// Ranks of a group reach each other over the network; so does the job, as one group of all its accelerators.
bool over_network(const Cluster& cluster, const Group& group);
bool over_network(const Job& job);
/// The whole geometry of a layout that the stack's rules accept.
Placement placement(const Job& job, const Layout& layout);

}  // namespace meshwright::parallel
