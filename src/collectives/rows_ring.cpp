// Rings and chains: every rank talks to the next one only.
#include <algorithm>

#include "rows.hpp"

namespace meshwright::collectives::rows {

// In round i, rank r passes on chunk r - i.
Schedule ring_all_gather(const Shape& shape) {
  const int p = shape.ranks();
  Schedule s = flat_schedule(Collective::all_gather, shape, p);
  s.phases.push_back({.transfers = every_rank(p,
                                              [p](int r) {
                                                return Transfer{r, (r + 1) % p, r};
                                              }),
                      .repeats = p - 1,
                      .chunk_shift = -1});
  return s;
}

namespace {

constexpr std::string_view chan = "Chan, Heimlich, Purkayastha, van de Geijn 2007, sec. 4 (bucket algorithms)";

Schedule ring_reduce_scatter(const Shape& shape) {
  Schedule s = reversed(ring_all_gather(shape));
  s.collective = Collective::reduce_scatter;
  return s;
}
Schedule ring_all_reduce(const Shape& shape) {
  return then(ring_reduce_scatter(shape), ring_all_gather(shape), Collective::all_reduce);
}

LevelCoefficients ring_gather_form(const Shape& shape) {
  const int p = shape.ranks();
  return on_first_level({.rounds = p - 1, .messages = p - 1, .wire = most_of(p)});
}
LevelCoefficients ring_scatter_form(const Shape& shape) {
  const int p = shape.ranks();
  return on_first_level({.rounds = p - 1, .messages = p - 1, .wire = most_of(p), .reduced = most_of(p)});
}
LevelCoefficients ring_all_reduce_form(const Shape& shape) {
  const int p = shape.ranks();
  return on_first_level(
      {.rounds = 2 * (p - 1), .messages = 2 * (p - 1), .wire = most_of(p) * 2, .reduced = most_of(p)});
}

// Segment s leaves the root in round s and moves one rank a round.
Schedule chain_broadcast(const Shape& shape) {
  Schedule s = flat_schedule(Collective::broadcast, shape, shape.segments);
  std::vector<std::vector<Transfer>> stages;
  for (int r = 0; r + 1 < shape.ranks(); ++r) stages.push_back({{r, r + 1, 0}});
  s.phases = pipelined(stages, shape.segments, 1);
  return s;
}
Schedule chain_reduce(const Shape& shape) {
  Schedule s = reversed(chain_broadcast(shape));
  s.collective = Collective::reduce;
  return s;
}
LevelCoefficients chain_broadcast_form(const Shape& shape) {
  const int rounds = shape.ranks() - 2 + shape.segments;
  return on_first_level({.rounds = rounds, .messages = rounds, .wire = {rounds, shape.segments}});
}
LevelCoefficients chain_reduce_form(const Shape& shape) {
  const int rounds = shape.ranks() - 2 + shape.segments;
  const Ratio volume(rounds, shape.segments);
  return on_first_level({.rounds = rounds, .messages = rounds, .wire = volume, .reduced = volume});
}

Schedule neighbour_exchange(const Shape& shape) {
  const int p = shape.ranks();
  Schedule s = flat_schedule(Collective::send_recv, shape, p);
  s.phases.push_back({.transfers = every_rank(p, [p](int r) { return Transfer{r, (r + 1) % p, r}; })});
  return s;
}
LevelCoefficients neighbour_form(const Shape&) { return on_first_level({.rounds = 1, .messages = 1, .wire = 1}); }

/// Links of a ring through all ranks that join blocks of this level or of levels outside it.
constexpr int links_between(int ranks, int block) { return block >= ranks ? 0 : ranks / block; }

/// A chunk goes round, but for one link; at each boundary one rank of a block sends, each time another one: libraries
/// run a ring for every rank of a domain.
LevelLoad around_ring(const Span& s, int passes) {
  const double share = static_cast<double>(passes) * (s.ranks - 1) / s.ranks;
  const int hops = std::min(s.ranks - 1, links_between(s.ranks, s.block)) -
                   std::min(s.ranks - 1, links_between(s.ranks, s.block * s.members));
  return {.hops = 1.0 * passes * hops,
          .out = share / s.block,
          .in = share / s.block,
          .port = share / std::min(s.block, s.domain)};
}
LevelLoad around_ring_once(const Span& s) { return around_ring(s, 1); }
LevelLoad around_ring_twice(const Span& s) { return around_ring(s, 2); }

/// A chain has no link from its end to its start.
LevelLoad along_chain(const Span& s) {
  const int outer = s.block * s.members;
  return {.hops = 1.0 * (s.ranks / s.block - s.ranks / outer),
          .out = 1.0 / s.block,
          .in = 1.0 / s.block,
          .port = 1.0 / std::min(s.block, s.domain)};
}

/// Some neighbours meet only at the outermost level: that message, over the ports of one rank, is the one to wait for.
LevelLoad to_neighbour(const Span& s) {
  const bool outermost = s.block * s.members == s.ranks;
  return {.hops = outermost ? 1.0 : 0.0, .out = 1, .in = 1, .port = 1};
}

const Algorithm table[] = {
    {.name = "ring",
     .collective = Collective::all_reduce,
     .citation = chan,
     .closed_form = "2(p-1) alpha + 2(p-1)/p n beta + (p-1)/p n gamma",
     .supports = any_flat,
     .coefficients_of = ring_all_reduce_form,
     .schedule_of = ring_all_reduce,
     .concurrent_levels = true,
     .across = around_ring_twice,
     .elsewhere = {"Ring", "Ring", "ring", "ring"}},
    {.name = "ring",
     .collective = Collective::all_gather,
     .citation = chan,
     .closed_form = "(p-1) alpha + (p-1)/p n beta",
     .supports = any_flat,
     .coefficients_of = ring_gather_form,
     .schedule_of = ring_all_gather,
     .concurrent_levels = true,
     .across = around_ring_once,
     .elsewhere = {"Ring", "Ring", "ring", "ring"}},
    {.name = "ring",
     .collective = Collective::reduce_scatter,
     .citation = chan,
     .closed_form = "(p-1) alpha + (p-1)/p n (beta + gamma)",
     .supports = any_flat,
     .coefficients_of = ring_scatter_form,
     .schedule_of = ring_reduce_scatter,
     .concurrent_levels = true,
     .across = around_ring_once,
     .elsewhere = {"Ring", "Ring", "ring", "ring"}},
    {.name = "chain",
     .collective = Collective::broadcast,
     .citation = "Chan et al. 2007, sec. 5 (pipelined); NCCL Broadcast over its ring",
     .closed_form = "(p-2+k) (alpha + n/k beta), k segments",
     .supports = any_flat,
     .coefficients_of = chain_broadcast_form,
     .schedule_of = chain_broadcast,
     .pipelined = true,
     .concurrent_levels = true,
     .across = along_chain,
     .elsewhere = {"Ring", "Ring", "pipeline", "ring"}},
    {.name = "chain",
     .collective = Collective::reduce,
     .citation = "Chan et al. 2007, sec. 5 (pipelined); NCCL Reduce over its ring",
     .closed_form = "(p-2+k) (alpha + n/k (beta + gamma)), k segments",
     .supports = any_flat,
     .coefficients_of = chain_reduce_form,
     .schedule_of = chain_reduce,
     .pipelined = true,
     .concurrent_levels = true,
     .across = along_chain,
     .elsewhere = {"Ring", "Ring", "pipeline", "ring"}},
    {.name = "direct",
     .collective = Collective::send_recv,
     .citation = "nccl-tests, sendrecv_perf: every rank sends to the next one",
     .closed_form = "alpha + n beta",
     .supports = any_flat,
     .coefficients_of = neighbour_form,
     .schedule_of = neighbour_exchange,
     .pairs = true,
     .concurrent_levels = true,
     .traffic = Traffic::neighbour,
     .across = to_neighbour,
     .elsewhere = {"Send/Recv", "Send/Recv", "sendrecv", "send"}},
};

}  // namespace

std::span<const Algorithm> ring() { return table; }

}  // namespace meshwright::collectives::rows
