// Rows of the table on a cluster: which apply, on which shape, and what each cost model says.
#include <algorithm>

#include "meshwright/collectives/evaluate.hpp"

namespace meshwright {
namespace {

/// The question and what all rows share.
struct Setting {
  CostModel model;
  Collective collective;
  Bytes n;
  const Cluster& cluster;
  int size, stride;
  GroupPlace place;
  PlacedShape placed;
  std::optional<Fabric> fabric;
  std::vector<std::vector<int>> groups;
};

/// All groups of the axis: group g starts at g % stride in block g / stride of size * stride ranks.
std::vector<std::vector<int>> groups_of(int accelerators, int size, int stride) {
  std::vector<std::vector<int>> groups;
  for (int block = 0; (block + 1) * size * stride <= accelerators; ++block) {
    for (int offset = 0; offset < stride; ++offset) {
      std::vector<int>& group = groups.emplace_back();
      for (int r = 0; r < size; ++r) group.push_back(block * size * stride + offset + r * stride);
    }
  }
  return groups;
}

/// The group covers whole rings of the torus: one level a dimension, each with both ways round.
bool on_torus(const Setting& s) {
  const ScaleUpKind kind = s.cluster.node.scale_up;
  return (kind == ScaleUpKind::torus_2d || kind == ScaleUpKind::torus_3d) && s.place.levels.size() <= level_limit &&
         std::all_of(s.place.levels.begin(), s.place.levels.end(), [](const Level& l) { return l.rings == 2; });
}

/// With a port for each way round a ring, a link carries half of what the level does.
PlacedShape torus_place(const Setting& s) {
  PlacedShape torus = s.placed;
  for (LevelLink& link : torus.links) link.cost.beta = link.cost.beta * 2;
  return torus;
}

/// Every level that the row combines at must be able to.
bool switches_reduce(const Algorithm& row, const Setting& s) {
  if (row.means != Means::switch_reduction) return true;
  const auto reduces = [&](std::size_t level) {
    return level < s.place.levels.size() && s.place.levels[level].reduces;
  };
  if (row.stages.empty()) return s.place.levels.size() == 1 && reduces(0);
  return std::all_of(row.stages.begin(), row.stages.end(), [&](const Stage& stage) {
    const bool in_switch = stage.algorithm == "nvls" || stage.algorithm == "sharp";
    return !in_switch || reduces(static_cast<std::size_t>(stage.level));
  });
}

/// Rows that list a transfer for every pair of ranks are left out where that is too many.
bool small_enough(const Algorithm& row, int ranks) {
  const bool pairs = row.collective == Collective::all_to_all || row.name == "direct";
  return !pairs || row.name == "pairwise" || ranks <= 2048;
}

/// The level with the least bandwidth.
std::string limiting_level(const PlacedShape& placed) {
  std::size_t slowest = 0;
  for (std::size_t level = 1; level < level_limit; ++level) {
    if (placed.shape.extent[level] > 1 && placed.links[level].cost.beta > placed.links[slowest].cost.beta)
      slowest = level;
  }
  return placed.links[slowest].link;
}

/// Latency of the rounds, each at the outermost level that it uses.
Seconds round_latencies(const Schedule& schedule, const LevelLinks& links) {
  Seconds sum{};
  for (const Phase& phase : schedule.phases) {
    Seconds slowest{};
    for (const Transfer& t : phase.transfers)
      slowest = std::max(slowest, links[static_cast<std::size_t>(transfer_level(schedule, t))].cost.alpha);
    sum += slowest * phase.repeats;
  }
  return sum;
}

std::optional<CollectiveEvaluation> evaluate_row(const Algorithm& row, const Setting& s) {
  if (row.routed || !switches_reduce(row, s) || !small_enough(row, s.size)) return std::nullopt;
  if ((row.means == Means::torus_links) && !on_torus(s)) return std::nullopt;
  const PlacedShape placed = row.means == Means::torus_links ? torus_place(s) : s.placed;
  Shape shape = placed.shape;
  const bool laid_over = !row.supports(shape);  // a flat row on a group of several levels
  if (laid_over) shape = flat_shape(s.size);
  if (!row.supports(shape)) return std::nullopt;
  shape.segments = best_segments(row, shape, s.n, placed.links);
  CollectiveEvaluation result{.algorithm = row.name, .segments = shape.segments};
  result.limiting_link = limiting_level(placed);
  if (s.model == CostModel::alpha_beta && !laid_over) {
    result.time = alpha_beta_time(row, shape, s.n, placed.links);
    return result;
  }
  Schedule schedule_of_row = schedule(row, shape);
  schedule_of_row.shape.extent = placed.shape.extent;
  if (s.model == CostModel::alpha_beta) {
    result.time = alpha_beta_time(schedule_of_row, s.n, placed.links);
  } else if (s.model == CostModel::loggp) {
    std::size_t outermost = 0;
    for (std::size_t level = 1; level < level_limit; ++level) {
      if (placed.shape.extent[level] > 1) outermost = level;
    }
    const auto time = loggp_time(schedule_of_row, s.n, placed.links[outermost].cost);
    if (!time) return std::nullopt;
    result.time = *time;
  } else {
    const auto flow = flow_evaluation(schedule_of_row, s.n, *s.fabric, s.groups, placed.links);
    if (!flow) return std::nullopt;
    result.time = flow->time + round_latencies(schedule_of_row, placed.links);
    result.limiting_link = flow->limiting_resource;
  }
  return result;
}

}  // namespace

std::vector<CollectiveEvaluation> evaluate(CostModel model, Collective collective, Bytes n, const Cluster& cluster,
                                           int size, int stride, std::string_view wanted) {
  std::vector<CollectiveEvaluation> results;
  if (!wanted.empty()) algorithm(collective, wanted, "algorithm");  // refuses names that don't exist
  if (size < 2) return results;
  Setting s{.model = model,
            .collective = collective,
            .n = n,
            .cluster = cluster,
            .size = size,
            .stride = stride,
            .place = place_group(cluster, size, stride),
            .placed = {},
            .fabric = {},
            .groups = {}};
  s.placed = placed_shape(s.place, platform_of(cluster));
  if (model == CostModel::flow) {
    s.fabric = build_fabric(cluster);
    s.groups = groups_of(cluster.accelerators(), size, stride);
  }
  const Algorithm* only = wanted.empty() ? nullptr : find_algorithm(collective, wanted);
  for (const Algorithm& row : algorithms()) {
    if (row.collective != collective || (only != nullptr && only != &row)) continue;
    if (const auto result = evaluate_row(row, s)) results.push_back(*result);
  }
  std::stable_sort(results.begin(), results.end(),
                   [](const CollectiveEvaluation& a, const CollectiveEvaluation& b) { return a.time < b.time; });
  return results;
}

}  // namespace meshwright
