#pragma once
// A collective algorithm as data: who sends which chunks to whom, in which round. A schedule knows no machine.
//
// Chunks. A vector of n bytes is cut into `chunks` equal pieces; rank r owns pieces [r, r+1) * chunks / p of a gathered
// or scattered vector. In an all-to-all there are p * p pieces of n / p bytes: piece `distance * p + source` is what
// `source` sends to rank `source + distance`. Chunk numbers are taken modulo `chunks`, so runs and shifts may wrap.
//
// Rounds. All transfers of a round read what their sources held before it, except that a switch forwards within the
// round what it receives in it (cut-through), after combining everything that it receives for one chunk.
#include <array>
#include <vector>

#include "meshwright/collectives/collective.hpp"
#include "meshwright/core/ratio.hpp"

namespace meshwright::collectives {

inline constexpr int level_limit = 3;

/// The shape of a group, innermost level first: {8, 16} is 16 nodes of 8, {4, 4, 4} a torus; a flat group of p is {p}.
/// The rank with coordinates (x, y, z) is x + extent[0] * (y + extent[1] * z).
struct Shape {
  std::array<int, level_limit> extent{1, 1, 1};
  int segments = 1;     ///< pieces that a pipelined algorithm cuts its message into
  int token_nodes = 1;  ///< node-limited dispatch: nodes that each token visits,
  int token_ranks = 1;  ///< and ranks that it visits in each of them

  constexpr int ranks() const { return extent[0] * extent[1] * extent[2]; }
  constexpr bool flat() const { return extent[1] == 1 && extent[2] == 1; }
};
constexpr Shape flat_shape(int ranks, int segments = 1) { return {.extent = {ranks, 1, 1}, .segments = segments}; }

/// `count` chunks, `stride` apart, from `chunk` on. With `reduce` the target combines them with what it holds.
struct Transfer {
  int source = 0, target = 0;
  int chunk = 0, count = 1;
  bool reduce = false;
  int stride = 1;
};

/// A round, or `repeats` alike rounds: round i moves chunk numbers by i * chunk_shift and targets by i * peer_shift
/// (modulo the ranks). So a ring of 4096 ranks is 8,192 transfers, and a pairwise exchange 4,096.
struct Phase {
  std::vector<Transfer> transfers{};
  int repeats = 1;
  int chunk_shift = 0;
  int peer_shift = 0;
};

/// What an all-to-all carries: one piece for every pair of ranks, or tokens that visit several (mixture of experts).
/// Dispatch and combine split the tokens of each source over p groups, n / p each; group (g, l), numbered g * m + l,
/// visits the `token_nodes` nodes from its own + g on, in each the `token_ranks` ranks from local rank + l on (balanced
/// routing). n is the bytes of a rank's tokens, each counted once; the chunk number is group * p + source.
enum class Routing { uniform, dispatch, combine };

struct Schedule {
  Collective collective = Collective::all_reduce;
  Routing routing = Routing::uniform;
  Shape shape;
  int chunks = 1;
  std::vector<Phase> phases{};
  /// Switches that combine and multicast take part as actors ranks(), ranks() + 1, ...; here the level of each.
  std::vector<int> switch_levels{};
  /// True where a rank has a port of its own to every neighbour (a torus); otherwise one port a level, both ways.
  bool port_per_neighbour = false;

  int ranks() const { return shape.ranks(); }
  bool is_switch(int actor) const { return actor >= ranks(); }
};

/// Size of one chunk over n.
Ratio chunk_share(const Schedule& schedule);
/// The outermost level in which two ranks differ (0 .. level_limit - 1), or the level of the switch among them.
int transfer_level(const Schedule& schedule, const Transfer& transfer);
/// Round `repeat` of a phase, spelled out (no shifts left; chunk numbers already modulo `chunks`).
std::vector<Transfer> round_of(const Schedule& schedule, const Phase& phase, int repeat);
/// Rounds of all phases.
int round_count(const Schedule& schedule);

/// The schedule run backwards, every copy turned into a combination: an all-gather gives a reduce-scatter, a broadcast
/// a reduce, a dispatch a combine. (Each chunk spreads over a tree; backwards, the same tree gathers it.)
Schedule reversed(const Schedule& schedule);
/// One after the other: the phases of `second` appended to `first`, as `collective`.
Schedule then(Schedule first, const Schedule& second, Collective collective);
/// `stages` (the rounds of the first segment) pipelined over `segments`: segment s runs stage j in round s + j, its
/// chunk numbers moved by s * `segment_chunks`.
std::vector<Phase> pipelined(const std::vector<std::vector<Transfer>>& stages, int segments, int segment_chunks);
/// Appends a flat schedule on every line of ranks along `level` of `whole`, on the share of the vector that the line
/// owns: chunk f of the flat schedule becomes the chunks s + inner * (f + flat.chunks * u), where s is the place of the
/// line among the `inner` ranks of the levels below. Each line brings its own switches.
void append_stage(Schedule& whole, const Schedule& flat, int level);

}  // namespace meshwright::collectives
