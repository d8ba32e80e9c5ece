#pragma once
// The table of collective algorithms: the only list there is. A row states its schedule and its closed form; the laws
// in tests/laws prove for every row that the schedule implements the collective and that both agree exactly.
#include <span>
#include <string>
#include <string_view>

#include "meshwright/collectives/coefficients.hpp"
#include "meshwright/collectives/schedule.hpp"

namespace meshwright::collectives {

/// Which lower bounds apply to a row.
enum class Means { ranks, torus_links, switch_reduction };

/// Which measured parameters of a medium price a flat row's hops and bytes (hardware/medium.hpp): rings and all that a
/// library would build from the same channels; the double binary tree; a reducing switch of the scale-up domain or of
/// the network; an exchange of every rank with every other; a message between two neighbours.
enum class Traffic { ring, tree, in_switch, in_network, exchange, neighbour };

/// How a row meets scale-up domains: not at all; as its innermost level, whatever the size; in libraries, only where
/// each holds one rank.
enum class Domains { any, innermost, of_one };

/// A level of a group as a flat row meets it: `ranks` in all, in blocks of `block` consecutive ones, `members` of which
/// the level joins; `domain` of them share a scale-up domain.
struct Span {
  int ranks, block, members, domain;
};

/// What a flat row puts on one level while it moves n = 1, its rounds or segments streaming.
struct LevelLoad {
  double hops = 0;         ///< dependent messages at this level
  double out = 0, in = 0;  ///< through the busiest block's boundary, over the ranks of the block
  double port = 0;         ///< through the boundary at this level of the busiest domain, over its ranks
  double busiest() const { return out > in ? out : in; }
};

/// What other libraries call the row; empty where they lack it.
struct Elsewhere {
  std::string_view nccl{}, rccl{}, mpi{};  ///< NCCL_ALGO's spelling; RCCL's; Open MPI's coll_tuned_*_algorithm
  std::string_view torus{};  ///< what machines whose accelerators form a torus do (XLA's collectives on TPUs)
};

/// One step of a hierarchical algorithm: a flat row on one level, on the share of the vector that a rank holds there
/// (1 on the innermost level, 1/extent[0] on the next, ...).
struct Stage {
  int level;
  std::string_view algorithm;
  Collective collective;
};

/// One row. Rows with stages have schedule and coefficients made from the rows that they name.
struct Algorithm {
  std::string_view name;  ///< "ring", as NCCL_ALGO and our command line spell it, in lower case
  Collective collective = Collective::all_reduce;
  std::string_view citation;     ///< "Thakur, Rabenseifner, Gropp 2005, sec. 4.1"
  std::string_view closed_form;  ///< for people: "2(p-1) alpha + 2(p-1)/p n beta + (p-1)/p n gamma"
  bool (*supports)(const Shape&) = nullptr;
  LevelCoefficients (*coefficients_of)(const Shape&) = nullptr;
  Schedule (*schedule_of)(const Shape&) = nullptr;
  bool pipelined = false;  ///< takes Shape::segments
  bool routed = false;     ///< takes Shape::token_nodes and token_ranks
  bool pairs = false;      ///< its schedule lists a transfer for every pair of ranks
  Means means = Means::ranks;
  bool concurrent_levels = false;  ///< all levels are busy in every round: their times overlap, they don't add up
  std::span<const Stage> stages{};
  bool streams = false;  ///< stages: libraries run those of different pieces at once, so that levels overlap
  Traffic traffic = Traffic::ring;
  Domains domains = Domains::any;
  /// Flat rows: the load on one level of a group of several, in closed form; without it, it is counted.
  LevelLoad (*across)(const Span&) = nullptr;
  Elsewhere elsewhere{};
};

/// Every algorithm, grouped by collective.
std::span<const Algorithm> algorithms();
/// The rows of one collective.
std::span<const Algorithm> algorithms(Collective collective);
/// The row of that collective and name ("RING", "nvls-tree" are forgiven), or null.
const Algorithm* find_algorithm(Collective collective, std::string_view name);
/// How a name fits a row: its own name; what another library calls it; its family ("collnet" of collnet_chain).
enum class Called { no, family, elsewhere, by_name };
Called called(const Algorithm& algorithm, std::string_view name);
/// The same; Error(where, ...) with the nearest spelling where there is none.
const Algorithm& algorithm(Collective collective, std::string_view name, const std::string& where);

/// The closed form of a row that supports the shape: exact, no allocation for flat rows.
LevelCoefficients coefficients(const Algorithm& algorithm, const Shape& shape);
/// The schedule of a row that supports the shape.
Schedule schedule(const Algorithm& algorithm, const Shape& shape);
/// The flat row of a stage.
const Algorithm& row_of(const Stage& stage);

/// The table as Markdown (docs/algorithms.md).
std::string algorithms_markdown();

}  // namespace meshwright::collectives
