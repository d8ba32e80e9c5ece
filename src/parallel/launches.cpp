#include "parallel/launches.hpp"

#include <algorithm>
#include <cmath>

#include "meshwright/parallel/job_recipe.hpp"
#include "parallel/operator_kernels.hpp"

namespace meshwright::parallel {
namespace {

/// Operators that the host launches, and further launches inside them.
struct Launches {
  double operators = 0, inside = 0;
  Launches& operator+=(const Launches& b) {
    operators += b.operators, inside += b.inside;
    return *this;
  }
};

/// A pair of passes: forward, and backward after it.
struct Passes {
  Launches forward, backward;
};

/// Backward of a streaming kernel is one or two.
constexpr double stream_backward = 1.5;
/// Products of a module that is called once an expert: slice, products, activation between, and what adds the results.
constexpr double list_overhead = 2;

/// Forward one product, backward two: of all experts in one launch, or of each in its own.
Passes of_products(const Operator& op, const RecipeKernels& recipe) {
  if (op.kind != OperatorKind::grouped_gemm) return {{1, 0}, {2, 0}};
  switch (recipe.expert_gemm) {
    case ExpertGemm::list:
      return {{list_overhead * op.groups, 0}, {2 * list_overhead * op.groups, 0}};
    case ExpertGemm::streams:
      return {{1, op.groups - 1}, {2, 2 * (op.groups - 1)}};
    case ExpertGemm::grouped:
    case ExpertGemm::fused:
      break;
  }
  return {{1, 0}, {2, 0}};
}

/// Casts run inside the modules whose inputs they are: input forward, gradient backward.
Passes of_streams(const Operator& op, const RecipeKernels& recipe) {
  if (inside_product(op, recipe)) return {};
  const bool apart = op.apart > 0 && recipe.expert_gemm <= ExpertGemm::streams;
  const double kernels = apart ? op.apart : op.kernels;
  if (op.cast) return {{0, kernels}, {0, kernels}};
  if (apart) return {{1, kernels - 1}, {stream_backward, stream_backward * (kernels - 1)}};
  const bool one = op.part == OperatorPart::router && recipe.fused_router;
  return {{one ? 1 : kernels, 0}, {stream_backward * (one ? 1 : kernels), 0}};
}

bool in_graph(const Operator& op, const RecipeKernels& recipe) {
  if (recipe.cuda_graphs != CudaGraphs::partial) return recipe.cuda_graphs != CudaGraphs::none;
  const auto has = [&](GraphPart part) { return recipe.graph_parts.has(static_cast<std::size_t>(part)); };
  switch (op.part) {
    case OperatorPart::mixer:
      return has(GraphPart::attention);
    case OperatorPart::mlp:
      return has(GraphPart::mlp) && op.apart == 0;
    case OperatorPart::router:
      return has(GraphPart::router);
    case OperatorPart::experts:
    case OperatorPart::embedding:
    case OperatorPart::head:
      break;
  }
  return false;
}

/// What moves tokens to their experts: counts and tables (`preprocess`), permutation where it is apart, the exchange.
Launches of_dispatch(const BlockContext& x) {
  const RecipeKernels& r = x.job.recipe.kernels;
  if (r.cuda_graphs == CudaGraphs::full_iteration || r.cuda_graphs == CudaGraphs::per_layer) return {};
  double launches = dispatcher(r.dispatcher).launches;
  const auto preprocess = static_cast<std::size_t>(GraphPart::preprocess);
  constexpr double counts = 0.4;  // share of the launches that only count tokens
  if (r.cuda_graphs == CudaGraphs::partial && r.graph_parts.has(preprocess)) launches *= 1 - counts;
  constexpr double apart = 8;  // sort, two gathers and two scatters, forward and backward
  return {launches + (r.fused_permute ? 0 : apart), 0};
}

/// A gather or scatter at every cut of a block, forward and backward.
double tensor_launches(const BlockContext& x) {
  if (x.layout.tp <= 1) return 0;
  return x.layout.sequence_parallel ? 8 : 4;
}

}  // namespace

void add_host(BlockCost& cost, const BlockContext& x, std::span<const Operator> operators) {
  const Framework& f = x.job.framework;
  const RecipeKernels& r = x.job.recipe.kernels;
  Launches both, again, selective;
  bool experts = false;
  for (const Operator& op : operators) {
    experts = experts || op.expert;
    if (in_graph(op, r)) continue;
    const Passes p = is_gemm(op) ? of_products(op, r) : of_streams(op, r);
    both += p.forward, both += p.backward, again += p.forward;
    if (redone_selectively(op, x.job)) selective += p.forward;
  }
  if (experts) {
    const Launches dispatch = of_dispatch(x);
    both += dispatch, again.operators += dispatch.operators / 2;
  }
  if (r.cuda_graphs == CudaGraphs::none) both.operators += tensor_launches(x);
  const double share = r.compiled ? f.launch.compiled : 1;
  const auto time = [&](const Launches& l) {
    return x.job.cluster.host.time * (share * l.operators * f.launch.kernel + l.inside * f.launch.inside);
  };
  const double further_nodes = std::ceil(static_cast<double>(x.layout.tp) / x.job.cluster.node.accelerators) - 1;
  Seconds floor = f.host.per_layer + further_nodes * f.host.per_layer_tp;
  const double rows = static_cast<double>(x.layout.micro_batch) * x.job.model.heads / x.layout.tp;
  if (!attention_kernel(x.job).fused && std::fmod(rows, 4) != 0) floor += f.host.softmax_fallback;
  cost.host = {std::max(floor, time(both)), std::max(floor, time(both) + time(selective)),
               std::max(floor, time(both) + time(again))};
  const bool waits = experts && dispatcher(r.dispatcher).waits && !r.static_shapes;
  // Token counts are read where tokens are first sent: forward, and where all of it is done again. The way back has
  // them already.
  if (!waits || r.cuda_graphs == CudaGraphs::full_iteration) return;
  cost.awaited = {time(again), time(again), 2 * time(again)};
}

}  // namespace meshwright::parallel
