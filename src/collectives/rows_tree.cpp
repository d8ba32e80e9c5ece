// Trees: binomial (one-shot), the double binary tree (pipelined), and van de Geijn's scatter + all-gather.
#include <algorithm>

#include "rows.hpp"

namespace meshwright::collectives::rows {
namespace {

// ------------------------------------------------------------------------------------------------ binomial
// In round k, the 2^k ranks that hold the vector send it 2^k ranks on.
Schedule binomial_broadcast(const Shape& shape) {
  const int p = shape.ranks();
  Schedule s = flat_schedule(Collective::broadcast, shape, 1);
  for (int step = 1; step < p; step *= 2) {
    Phase phase;
    for (int r = 0; r < std::min(step, p - step); ++r) phase.transfers.push_back({r, r + step, 0});
    s.phases.push_back(std::move(phase));
  }
  return s;
}
Schedule binomial_reduce(const Shape& shape) {
  Schedule s = reversed(binomial_broadcast(shape));
  s.collective = Collective::reduce;
  return s;
}
LevelCoefficients binomial_broadcast_form(const Shape& shape) {
  const int rounds = ceil_log2(shape.ranks());
  return on_first_level({.rounds = rounds, .messages = rounds, .wire = rounds});
}
LevelCoefficients binomial_reduce_form(const Shape& shape) {
  const int rounds = ceil_log2(shape.ranks());
  return on_first_level({.rounds = rounds, .messages = rounds, .wire = rounds, .reduced = rounds});
}

// The root's subtrees get their blocks, largest first.
Schedule binomial_scatter(const Shape& shape) {
  const int p = shape.ranks();
  Schedule s = flat_schedule(Collective::broadcast, shape, p);
  for (int step = 1 << (ceil_log2(p) - 1); step >= 1; step /= 2) {
    Phase phase;
    for (int r = 0; r + step < p; r += 2 * step)
      phase.transfers.push_back({r, r + step, r + step, std::min(step, p - r - step)});
    s.phases.push_back(std::move(phase));
  }
  return s;
}
Schedule scatter_ring(const Shape& shape) {
  return then(binomial_scatter(shape), ring_all_gather(shape), Collective::broadcast);
}
Schedule scatter_doubling(const Shape& shape) {
  return then(binomial_scatter(shape), recursive_doubling_all_gather(shape), Collective::broadcast);
}
template <Schedule (*broadcast)(const Shape&)>
Schedule backwards(const Shape& shape) {
  Schedule s = reversed(broadcast(shape));
  s.collective = Collective::reduce;
  return s;
}
constexpr Coefficients scatter_gather(int p, int gather_rounds, bool reduce) {
  const int rounds = ceil_log2(p) + gather_rounds;
  return {.rounds = rounds, .messages = rounds, .wire = most_of(p) * 2, .reduced = reduce ? most_of(p) : Ratio(0)};
}

// Backwards, the scatter is a gather of finished blocks: nothing is combined in it.
Schedule ring_gather(const Shape& shape) {
  Schedule s = backwards<scatter_ring>(shape);
  const int scatter_phases = ceil_log2(shape.ranks());
  for (auto phase = s.phases.end() - scatter_phases; phase != s.phases.end(); ++phase) {
    for (Transfer& t : phase->transfers) t.reduce = false;
  }
  return s;
}
Schedule halving_gather(const Shape& shape) {
  Schedule s = backwards<scatter_doubling>(shape);
  const int scatter_phases = ceil_log2(shape.ranks());
  for (auto phase = s.phases.end() - scatter_phases; phase != s.phases.end(); ++phase) {
    for (Transfer& t : phase->transfers) t.reduce = false;
  }
  return s;
}

LevelCoefficients scatter_ring_form(const Shape& s) {
  return on_first_level(scatter_gather(s.ranks(), s.ranks() - 1, false));
}
LevelCoefficients scatter_doubling_form(const Shape& s) {
  return on_first_level(scatter_gather(s.ranks(), floor_log2(s.ranks()), false));
}
LevelCoefficients ring_gather_form(const Shape& s) {
  return on_first_level(scatter_gather(s.ranks(), s.ranks() - 1, true));
}
LevelCoefficients halving_gather_form(const Shape& s) {
  return on_first_level(scatter_gather(s.ranks(), floor_log2(s.ranks()), true));
}

// ---------------------------------------------------------------------------------------- double binary tree
// The in-order binary tree over 0 .. p-1 with odd ranks as leaves. Its twin, mirrored (p even) or shifted by one (p
// odd), has the even ranks as leaves, so that together every rank sends and receives at most two packets a round, and
// each tree carries half of the vector.
int parent_in_tree(int rank, int p) {
  const int bit = rank & -rank;
  const int up = (rank ^ bit) | (bit << 1);
  return up < p ? up : rank ^ bit;
}

/// Stage d: what ranks of depth d send to their children, in both trees. Chunk t belongs to tree t.
std::vector<std::vector<Transfer>> double_tree_stages(int p) {
  std::vector<std::vector<Transfer>> stages(static_cast<std::size_t>(ceil_log2(p)));
  for (int tree = 0; tree < 2; ++tree) {
    const auto actual = [=](int r) { return tree == 0 ? r : p % 2 == 0 ? p - 1 - r : (r + 1) % p; };
    for (int r = 1; r < p; ++r) {
      std::size_t depth = 0;
      for (int up = parent_in_tree(r, p); up != 0; up = parent_in_tree(up, p)) ++depth;
      stages[depth].push_back({actual(parent_in_tree(r, p)), actual(r), tree});
    }
  }
  return stages;
}

Schedule double_tree_all_reduce(const Shape& shape) {
  Schedule down = flat_schedule(Collective::all_reduce, shape, 2 * shape.segments);
  down.phases = pipelined(double_tree_stages(shape.ranks()), shape.segments, 2);
  return then(reversed(down), down, Collective::all_reduce);
}

/// Packets of n/2k through the busiest port on the way down, h + k - 1 rounds: two a round, but one in the first (roots
/// have one child), and one in three more corners (p = 2; p = 3; k = 1 and p = 2^j + 1: a second single child).
constexpr int double_tree_packets(int p, int k) {
  if (p == 2) return k;
  const bool corner = p == 3 || (k == 1 && power_of_two(p - 1));
  return 2 * (ceil_log2(p) + k - 1) - 1 - (corner ? 1 : 0);
}
LevelCoefficients double_tree_form(const Shape& shape) {
  const int p = shape.ranks(), k = shape.segments;
  const int rounds = ceil_log2(p) + k - 1, packets = double_tree_packets(p, k);
  return on_first_level({.rounds = 2 * rounds,
                         .messages = 2 * (p == 3 ? rounds : packets),
                         .wire = {packets, k},
                         .reduced = {packets, 2 * k}});
}

/// Both trees over blocks of ranks: a rank sends what two trees carry, half of it each; with two or three ranks, less.
/// A block of consecutive ranks has an edge to the outside for each of the levels that the in-order trees have inside
/// it.
LevelLoad over_trees(const Span& s) {
  const int blocks = s.ranks / s.block, outer = std::max(1, blocks / s.members), unit = std::min(s.block, s.domain);
  const double of_rank = s.ranks == 2 ? 1 : s.ranks == 3 ? 1.5 : 2;
  const auto share = [&](int ranks) { return of_rank * std::min(1.0, (1.0 + ceil_log2(ranks)) / ranks); };
  return {.hops = 2.0 * (ceil_log2(blocks) - ceil_log2(outer)),
          .out = share(s.block),
          .in = share(s.block),
          .port = share(unit)};
}

constexpr std::string_view thakur_broadcast = "Thakur, Rabenseifner, Gropp 2005, sec. 4.2 (van de Geijn)";
constexpr std::string_view thakur_reduce = "Thakur, Rabenseifner, Gropp 2005, sec. 4.5 (Rabenseifner's reduce)";

const Algorithm table[] = {
    {.name = "double_tree",
     .collective = Collective::all_reduce,
     .citation = "Sanders, Speck, Traeff 2009 (two-tree), k segments",
     .closed_form = "2(h+k-1) alpha + c/k n beta + c/2k n gamma; h = ceil(lg p), c = 2(h+k-1) - 1",
     .supports = any_flat,
     .coefficients_of = double_tree_form,
     .schedule_of = double_tree_all_reduce,
     .pipelined = true,
     .concurrent_levels = true,
     .traffic = Traffic::tree,
     .across = over_trees},
    {.name = "binomial",
     .collective = Collective::broadcast,
     .citation = "Thakur, Rabenseifner, Gropp 2005, sec. 4.2",
     .closed_form = "ceil(lg p) (alpha + n beta)",
     .supports = any_flat,
     .coefficients_of = binomial_broadcast_form,
     .schedule_of = binomial_broadcast,
     .elsewhere = {"", "", "binomial"}},
    {.name = "scatter_ring",
     .collective = Collective::broadcast,
     .citation = thakur_broadcast,
     .closed_form = "(ceil(lg p) + p - 1) alpha + 2(p-1)/p n beta",
     .supports = any_flat,
     .coefficients_of = scatter_ring_form,
     .schedule_of = scatter_ring,
     .elsewhere = {"", "", "scatter_allgather_ring"}},
    {.name = "scatter_doubling",
     .collective = Collective::broadcast,
     .citation = thakur_broadcast,
     .closed_form = "2 lg p alpha + 2(p-1)/p n beta, p = 2^k",
     .supports = flat_power_of_two,
     .coefficients_of = scatter_doubling_form,
     .schedule_of = scatter_doubling,
     .elsewhere = {"", "", "scatter_allgather"}},
    {.name = "binomial",
     .collective = Collective::reduce,
     .citation = "Thakur, Rabenseifner, Gropp 2005, sec. 4.5",
     .closed_form = "ceil(lg p) (alpha + n beta + n gamma)",
     .supports = any_flat,
     .coefficients_of = binomial_reduce_form,
     .schedule_of = binomial_reduce,
     .elsewhere = {"", "", "binomial"}},
    {.name = "ring_gather",
     .collective = Collective::reduce,
     .citation = thakur_reduce,
     .closed_form = "(ceil(lg p) + p - 1) alpha + 2(p-1)/p n beta + (p-1)/p n gamma",
     .supports = any_flat,
     .coefficients_of = ring_gather_form,
     .schedule_of = ring_gather},
    {.name = "halving_gather",
     .collective = Collective::reduce,
     .citation = thakur_reduce,
     .closed_form = "2 lg p alpha + 2(p-1)/p n beta + (p-1)/p n gamma, p = 2^k",
     .supports = flat_power_of_two,
     .coefficients_of = halving_gather_form,
     .schedule_of = halving_gather,
     .elsewhere = {"", "", "rabenseifner"}},
};

}  // namespace

std::span<const Algorithm> tree() { return table; }

}  // namespace meshwright::collectives::rows
