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
  Means means = Means::ranks;
  bool concurrent_levels = false;  ///< all levels are busy in every round: their times overlap, they don't add up
  std::span<const Stage> stages{};
};

/// Every algorithm, grouped by collective.
std::span<const Algorithm> algorithms();
/// The row of that collective and name ("RING", "double-binary-tree" are forgiven), or null.
const Algorithm* find_algorithm(Collective collective, std::string_view name);
/// The same; Error(where, ...) with the nearest spelling where there is none.
const Algorithm& algorithm(Collective collective, std::string_view name, const std::string& where);

/// The closed form of a row that supports the shape: exact, no allocation for flat rows.
LevelCoefficients coefficients(const Algorithm& algorithm, const Shape& shape);
/// The schedule of a row that supports the shape.
Schedule schedule(const Algorithm& algorithm, const Shape& shape);

/// The table as Markdown (docs/algorithms.md).
std::string algorithms_markdown();

}  // namespace meshwright::collectives
