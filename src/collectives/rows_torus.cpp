// Bucket algorithms on rings and tori, where a rank has a port of its own to each of its neighbours.
#include <algorithm>

#include "rows.hpp"

namespace meshwright::collectives::rows {
namespace {

using Point = std::array<int, level_limit>;

/// A part of the vector that travels on its own: the order in which its reduce-scatter takes the dimensions, and which
/// way round each ring it goes.
struct Part {
  std::array<std::size_t, level_limit> order{};
  int direction = 1;
};

std::size_t dimensions(const Shape& shape) { return shape.extent[2] > 1 ? 3 : shape.extent[1] > 1 ? 2 : 1; }

Point point_of(const Shape& s, int rank) {
  return {rank % s.extent[0], rank / s.extent[0] % s.extent[1], rank / (s.extent[0] * s.extent[1])};
}
int rank_of(const Shape& s, const Point& at) { return at[0] + s.extent[0] * (at[1] + s.extent[1] * at[2]); }

/// Two parts around every ring, all in the same order of dimensions; or with `rotated`, two for every rotation of it.
std::vector<Part> parts_of(const Shape& shape, bool rotated) {
  const std::size_t count = dimensions(shape);
  std::vector<Part> parts;
  for (std::size_t rotation = 0; rotation < (rotated ? count : 1); ++rotation) {
    for (const int direction : {1, -1}) {
      Part part{.direction = direction};
      for (std::size_t i = 0; i < count; ++i) part.order[i] = (i + rotation) % count;
      parts.push_back(part);
    }
  }
  return parts;
}

/// Calls `take(owner)` for the ranks level with `at` in the dimensions of `part` up to `stage`, anywhere in later ones.
template <class Take>
void for_owners(const Shape& shape, const Part& part, std::size_t stage, Point at, Take take) {
  if (stage + 1 == dimensions(shape)) return take(rank_of(shape, at));
  const std::size_t free = part.order[stage + 1];
  for (at[free] = 0; at[free] < shape.extent[free]; ++at[free]) for_owners(shape, part, stage + 1, at, take);
}

/// What `rank` passes on in round `i` of the all-gather along the `stage`-th dimension of `part`: the blocks of the
/// owners i steps behind it there, level with it in the earlier dimensions, anywhere in the later ones.
void add_passed_on(std::vector<Transfer>& out, const Shape& shape, const Part& part, std::size_t stage, int i, int rank,
                   int parts, int part_index) {
  const std::size_t along = part.order[stage];
  const int edge = shape.extent[along];
  Point next = point_of(shape, rank), owners = next;
  next[along] = (next[along] + part.direction + edge) % edge;
  owners[along] = ((owners[along] - i * part.direction) % edge + edge) % edge;
  const int target = rank_of(shape, next);
  for_owners(shape, part, stage, owners, [&](int owner) { out.push_back({rank, target, owner * parts + part_index}); });
}

/// Every part takes its dimensions one after another, all parts at once; where edges differ, those on a short one wait.
Schedule torus_all_gather(const Shape& shape, bool rotated) {
  const std::vector<Part> parts = parts_of(shape, rotated);
  const int count = static_cast<int>(parts.size());
  Schedule s{.collective = Collective::all_gather, .shape = shape, .chunks = count * shape.ranks()};
  s.port_per_neighbour = true;
  for (std::size_t stage = dimensions(shape); stage-- > 0;) {
    const auto rounds = [&](const Part& part) { return shape.extent[part.order[stage]] - 1; };
    const int most = rounds(*std::ranges::max_element(parts, {}, rounds));
    for (int i = 0; i < most; ++i) {
      Phase phase;
      for (int q = 0; q < count; ++q) {
        const Part& part = parts[static_cast<std::size_t>(q)];
        for (int rank = 0; i < rounds(part) && rank < shape.ranks(); ++rank)
          add_passed_on(phase.transfers, shape, part, stage, i, rank, count, q);
      }
      s.phases.push_back(std::move(phase));
    }
  }
  return s;
}

template <bool rotated>
Schedule gather(const Shape& shape) {
  return torus_all_gather(shape, rotated);
}
template <bool rotated>
Schedule scatter(const Shape& shape) {
  Schedule s = reversed(torus_all_gather(shape, rotated));
  s.collective = Collective::reduce_scatter;
  return s;
}
template <bool rotated>
Schedule reduce(const Shape& shape) {
  return then(scatter<rotated>(shape), torus_all_gather(shape, rotated), Collective::all_reduce);
}

/// One dimension after the other; half of the vector each way: (X-1)/X n / (product of the edges before) / 2 a link.
LevelCoefficients bucket_form(const Shape& shape, int passes, bool combines) {
  LevelCoefficients levels{};
  int before = 1;
  for (std::size_t d = 0; d < dimensions(shape); ++d) {
    const int edge = shape.extent[d], rounds = passes * (edge - 1);
    const Ratio volume(edge - 1, edge * before);
    levels[d] = {.rounds = rounds,
                 .messages = 2 * rounds,
                 .wire = volume * Ratio(passes, 2),
                 .reduced = combines ? volume : Ratio(0)};
    before *= edge;
  }
  return levels;
}

/// All dimensions at once, each the first of one part in D, the second of another, and so on: 1/D of the traffic where
/// edges are equal.
LevelCoefficients rotated_form(const Shape& shape, int passes, bool combines) {
  LevelCoefficients levels{};
  const std::size_t count = dimensions(shape);
  for (std::size_t d = 0; d < count; ++d) {
    const int edge = shape.extent[d], rounds = passes * static_cast<int>(count) * (edge - 1);
    Ratio volume(0);
    for (std::size_t place = 0; place < count; ++place) {
      int before = 1;
      for (std::size_t i = 1; i <= place; ++i) before *= shape.extent[(d + count - i) % count];
      volume = volume + Ratio(edge - 1, static_cast<std::int64_t>(edge) * before);
    }
    volume = volume / Ratio(static_cast<std::int64_t>(count));
    levels[d] = {.rounds = rounds,
                 .messages = 2 * rounds,
                 .wire = volume * Ratio(passes, 2),
                 .reduced = combines ? volume : Ratio(0)};
  }
  return levels;
}

template <int passes, bool combines>
LevelCoefficients bucket(const Shape& shape) {
  return bucket_form(shape, passes, combines);
}
template <int passes, bool combines>
LevelCoefficients rotated(const Shape& shape) {
  return rotated_form(shape, passes, combines);
}

/// Edges of at least three, so that both ways round are different links.
bool is_torus(const Shape& s) {
  for (std::size_t d = 0; d < dimensions(s); ++d) {
    if (s.extent[d] < 3) return false;
  }
  return true;
}
bool several_dimensions(const Shape& s) { return is_torus(s) && !s.flat(); }

constexpr std::string_view bucket_source =
    "Barnett, Littlefield, Payne, van de Geijn 1995 (bucket); Jouppi et al. 2023, TPU v4 (arXiv 2304.01433)";
constexpr std::string_view rotated_source =
    "Sack, Gropp 2015, Collective algorithms for multiported torus networks (doi 10.1145/2686882)";

const Algorithm table[] = {
    {.name = "torus_bucket",
     .collective = Collective::all_reduce,
     .citation = bucket_source,
     .closed_form = "sum_d 2(X_d-1) (alpha + n/(2 X_1..X_d) beta), both ways round each ring; + gamma",
     .supports = is_torus,
     .coefficients_of = bucket<2, true>,
     .schedule_of = reduce<false>,
     .means = Means::torus_links,
     .elsewhere = {.torus = "bucket"}},
    {.name = "torus_rotated",
     .collective = Collective::all_reduce,
     .citation = rotated_source,
     .closed_form =
         "2D(X-1) alpha + (p-1)/(pD) n beta a link, all 2D links busy (X the longest edge); + (p-1)/p n gamma",
     .supports = several_dimensions,
     .coefficients_of = rotated<2, true>,
     .schedule_of = reduce<true>,
     .means = Means::torus_links,
     .concurrent_levels = true,
     .elsewhere = {.torus = "rotated"}},
    {.name = "torus_bucket",
     .collective = Collective::all_gather,
     .citation = bucket_source,
     .closed_form = "sum_d (X_d-1) (alpha + n/(2 X_1..X_d) beta)",
     .supports = is_torus,
     .coefficients_of = bucket<1, false>,
     .schedule_of = gather<false>,
     .means = Means::torus_links,
     .elsewhere = {.torus = "bucket"}},
    {.name = "torus_rotated",
     .collective = Collective::all_gather,
     .citation = rotated_source,
     .closed_form = "D(X-1) alpha + (p-1)/(2pD) n beta a link",
     .supports = several_dimensions,
     .coefficients_of = rotated<1, false>,
     .schedule_of = gather<true>,
     .means = Means::torus_links,
     .concurrent_levels = true,
     .elsewhere = {.torus = "rotated"}},
    {.name = "torus_bucket",
     .collective = Collective::reduce_scatter,
     .citation = bucket_source,
     .closed_form = "sum_d (X_d-1) (alpha + n/(2 X_1..X_d) beta); + gamma",
     .supports = is_torus,
     .coefficients_of = bucket<1, true>,
     .schedule_of = scatter<false>,
     .means = Means::torus_links,
     .elsewhere = {.torus = "bucket"}},
    {.name = "torus_rotated",
     .collective = Collective::reduce_scatter,
     .citation = rotated_source,
     .closed_form = "D(X-1) alpha + (p-1)/(2pD) n beta a link; + (p-1)/p n gamma",
     .supports = several_dimensions,
     .coefficients_of = rotated<1, true>,
     .schedule_of = scatter<true>,
     .means = Means::torus_links,
     .concurrent_levels = true,
     .elsewhere = {.torus = "rotated"}},
};

}  // namespace

std::span<const Algorithm> torus() { return table; }

}  // namespace meshwright::collectives::rows
