// Rows of the table on a cluster: which apply, on which shape, and what each cost model says.
#include <algorithm>

#include "meshwright/collectives/estimate.hpp"
#include "meshwright/collectives/evaluate.hpp"
#include "meshwright/hardware/network.hpp"

namespace meshwright::collectives {
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
  return is_torus(s.cluster.node.scale_up) && s.place.levels.size() <= level_limit &&
         std::all_of(s.place.levels.begin(), s.place.levels.end(), [](const Level& l) { return l.rings == 2; });
}

/// With a port for each way round a ring, a link carries half of what the level does.
PlacedShape torus_place(const Setting& s) {
  PlacedShape torus = s.placed;
  for (LevelLink& link : torus.links) link.cost.beta = link.cost.beta * 2;
  return torus;
}

/// NVLS combines in a scale-up switch, SHARP in the network's: whether that level can.
bool can_combine(const Setting& s, const Algorithm& row, std::size_t level) {
  if (row.traffic != Traffic::in_switch && row.traffic != Traffic::in_network) return true;
  const LevelKind kind = row.traffic == Traffic::in_switch ? LevelKind::scale_up : LevelKind::scale_out;
  return level < s.place.levels.size() && s.place.levels[level].reduces && s.place.levels[level].kind == kind;
}

/// Every level that the row combines at must be able to.
bool switches_reduce(const Algorithm& row, const Setting& s) {
  if (row.stages.empty())
    return row.means != Means::switch_reduction || (s.place.levels.size() == 1 && can_combine(s, row, 0));
  return std::all_of(row.stages.begin(), row.stages.end(), [&](const Stage& stage) {
    return can_combine(s, row_of(stage), static_cast<std::size_t>(stage.level));
  });
}

/// More pairs of ranks than a schedule is written out for.
constexpr int most_ranks_of_pairs = 512;

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

/// The outer two levels as one, the slower of them counting.
PlacedShape folded(const PlacedShape& placed) {
  PlacedShape two = placed;
  two.shape.extent = {placed.shape.extent[0], placed.shape.extent[1] * placed.shape.extent[2], 1};
  if (placed.shape.extent[2] > 1) {
    two.links[1].cost.alpha = std::max(placed.links[1].cost.alpha, placed.links[2].cost.alpha);
    if (placed.links[2].cost.beta > placed.links[1].cost.beta) {
      two.links[1].cost.beta = placed.links[2].cost.beta;
      two.links[1].link = placed.links[2].link;
    }
    two.links[1].efficiency = std::min(placed.links[1].efficiency, placed.links[2].efficiency);
  }
  return two;
}

/// A row on the shape that it takes: the group's own, with its outer levels as one, or flat, laid over the levels.
struct Fit {
  PlacedShape placed;
  Shape shape;
  bool laid_over = false;
};
std::optional<Fit> fit(const Algorithm& row, const Setting& s) {
  if (row.routed || !switches_reduce(row, s) || (row.pairs && s.size > most_ranks_of_pairs)) return std::nullopt;
  if (row.means == Means::torus_links && !on_torus(s)) return std::nullopt;
  const PlacedShape own = row.means == Means::torus_links ? torus_place(s) : s.placed;
  for (const PlacedShape& placed : {own, folded(own)}) {
    if (row.supports(placed.shape)) return Fit{placed, placed.shape, false};
  }
  if (!row.supports(flat_shape(s.size))) return std::nullopt;
  return Fit{own, flat_shape(s.size), true};
}

/// Where few ranks of a domain talk to the outside at a time (a ring), a library runs one channel for each rank, every
/// channel entering and leaving by another one: the groups, once for every turn of the ranks inside their domains.
std::vector<std::vector<int>> turned(const Setting& s, const Schedule& row) {
  const int inside = row.shape.extent[0];
  std::vector<std::vector<int>> channels;
  for (const std::vector<int>& group : s.groups) {
    for (int turn = 0; turn < inside; ++turn) {
      std::vector<int>& channel = channels.emplace_back();
      for (int r = 0; r < row.ranks(); ++r) {
        const int place = r / inside * inside + (r + turn) % inside;
        channel.push_back(group[static_cast<std::size_t>(place)]);
      }
    }
  }
  return channels;
}
bool few_leave(const Schedule& row) {
  int most = 0;
  for (const Phase& phase : row.phases) {
    int leaving = 0;
    for (const Transfer& t : phase.transfers) leaving += transfer_level(row, t) > 0;
    most = std::max(most, leaving);
  }
  return row.switch_levels.empty() && most > 0 && 2 * most <= row.ranks();
}

std::optional<FlowEvaluation> flows_of_row(const Schedule& row, const Setting& s, const LevelLinks& links) {
  const RouteOptions routes = routes_of(s.cluster);
  if (!few_leave(row)) return flow_evaluation(row, s.n, *s.fabric, s.groups, links, routes);
  return flow_evaluation(row, s.n / row.shape.extent[0], *s.fabric, turned(s, row), links, routes);
}

std::optional<Seconds> scheduled_time(const Schedule& row, const Setting& s, const LevelLinks& links,
                                      std::string& limiting) {
  if (s.model == CostModel::alpha_beta) return alpha_beta_time(row, s.n, links);
  if (s.model == CostModel::loggp) {
    std::size_t outermost = 0;
    for (std::size_t level = 1; level < level_limit; ++level) {
      if (row.shape.extent[level] > 1) outermost = level;
    }
    return loggp_time(row, s.n, links[outermost].cost);
  }
  const auto flow = flows_of_row(row, s, links);
  if (!flow) return std::nullopt;
  limiting = flow->limiting_resource;
  return flow->time + round_latencies(row, links);
}

std::optional<CollectiveEvaluation> evaluate_row(const Algorithm& row, const Setting& s) {
  std::optional<Fit> found = fit(row, s);
  if (!found) return std::nullopt;
  found->shape.segments = best_segments(row, found->shape, s.n, found->placed.links);
  CollectiveEvaluation result{
      .algorithm = row.name, .segments = found->shape.segments, .limiting_link = limiting_level(found->placed)};
  if (s.model == CostModel::alpha_beta && !found->laid_over) {
    result.time = alpha_beta_time(row, found->shape, s.n, found->placed.links);
    return result;
  }
  Schedule spelled_out = schedule(row, found->shape);
  spelled_out.shape.extent = found->placed.shape.extent;
  const auto time = scheduled_time(spelled_out, s, found->placed.links, result.limiting_link);
  if (!time) return std::nullopt;
  result.time = *time;
  return result;
}

std::vector<CollectiveEvaluation> calibrated(Collective collective, Bytes n, const Cluster& cluster, int size,
                                             int stride, std::string_view wanted) {
  std::vector<CollectiveEvaluation> results;
  const GroupPlace place = place_group(cluster, size, stride);
  const CollectiveOptions options{.algorithm = std::string(wanted), .protocol = ""};
  const Platform platform = platform_of(cluster);
  if (!applies(collective, place, platform, options)) return results;
  for (const CollectiveEstimate& e : candidates(collective, n, place, platform, options))
    results.push_back(
        {.algorithm = e.algorithm, .time = e.time, .protocol = e.protocol, .limiting_link = e.limiting_link});
  return results;
}

}  // namespace

std::vector<CollectiveEvaluation> evaluate(CostModel model, Collective collective, Bytes n, const Cluster& cluster,
                                           int size, int stride, std::string_view wanted) {
  std::vector<CollectiveEvaluation> results;
  if (!wanted.empty()) algorithm(collective, wanted, "algorithm");  // refuses names that don't exist
  if (size < 2) return results;
  if (model == CostModel::calibrated) return calibrated(collective, n, cluster, size, stride, wanted);
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
  s.size = s.place.size();  // parts that aren't alike count as the largest
  s.placed = placed_shape(s.place, platform_of(cluster));
  if (model == CostModel::flow) {
    s.fabric = build_fabric(cluster);
    s.groups = groups_of(cluster.accelerators(), s.size, stride);
    if (s.groups.empty()) return results;
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

}  // namespace meshwright::collectives
