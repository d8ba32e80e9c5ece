// All-to-all. Piece `distance * p + source` is what `source` sends to the rank `distance` after it.
#include "rows.hpp"

namespace meshwright::rows {
namespace {

constexpr std::string_view thakur = "Thakur, Rabenseifner, Gropp 2005, sec. 4.4";

Schedule all_to_all_of(const Shape& shape) {
  const int p = shape.ranks();
  return flat_schedule(Collective::all_to_all, shape, p * p);
}

// Round i: every rank sends to the rank i after it, and receives from the rank i before it.
Schedule pairwise(const Shape& shape) {
  const int p = shape.ranks();
  Schedule s = all_to_all_of(shape);
  s.phases.push_back({.transfers = every_rank(p,
                                              [p](int r) {
                                                return Transfer{r, (r + 1) % p, p + r};
                                              }),
                      .repeats = p - 1,
                      .chunk_shift = p,
                      .peer_shift = 1});
  return s;
}
LevelCoefficients pairwise_form(const Shape& shape) {
  const int p = shape.ranks();
  return on_first_level({.rounds = p - 1, .messages = p - 1, .wire = most_of(p)});
}

// Everything is posted at once: one latency, p - 1 message overheads.
Schedule linear(const Shape& shape) {
  const int p = shape.ranks();
  Schedule s = all_to_all_of(shape);
  Phase phase;
  for (int distance = 1; distance < p; ++distance) {
    for (int r = 0; r < p; ++r) phase.transfers.push_back({r, (r + distance) % p, distance * p + r});
  }
  s.phases.push_back(std::move(phase));
  return s;
}
LevelCoefficients linear_form(const Shape& shape) {
  const int p = shape.ranks();
  return on_first_level({.rounds = 1, .messages = p - 1, .wire = most_of(p)});
}

// A piece of distance d travels by the powers of two that d is made of, least first.
Schedule bruck(const Shape& shape) {
  const int p = shape.ranks();
  Schedule s = all_to_all_of(shape);
  for (int step = 1; step < p; step *= 2) {
    Phase phase;
    for (int r = 0; r < p; ++r) {
      for (int distance = step; distance < p; ++distance) {
        const int source = ((r - distance % step) % p + p) % p;
        if ((distance & step) != 0) phase.transfers.push_back({r, (r + step) % p, distance * p + source});
      }
    }
    s.phases.push_back(std::move(phase));
  }
  return s;
}
/// Numbers below p in which the bit `step` is set.
constexpr int count_with_bit(int p, int step) {
  const int rest = p % (2 * step);
  return p / (2 * step) * step + (rest > step ? rest - step : 0);
}
LevelCoefficients bruck_form(const Shape& shape) {
  const int p = shape.ranks();
  Coefficients c{.rounds = ceil_log2(p), .messages = ceil_log2(p)};
  for (int step = 1; step < p; step *= 2) c.wire += Ratio(count_with_bit(p, step), p);
  return on_first_level(c);
}

const Algorithm table[] = {
    {.name = "pairwise",
     .collective = Collective::all_to_all,
     .citation = thakur,
     .closed_form = "(p-1) alpha + (p-1)/p n beta",
     .supports = any_flat,
     .coefficients_of = pairwise_form,
     .schedule_of = pairwise},
    {.name = "linear",
     .collective = Collective::all_to_all,
     .citation = "Thakur, Rabenseifner, Gropp 2005, sec. 4.4 (isend/irecv); NCCL grouped send/recv",
     .closed_form = "alpha + (p-1) alpha' + (p-1)/p n beta, alpha' = max(o, g)",
     .supports = any_flat,
     .coefficients_of = linear_form,
     .schedule_of = linear},
    {.name = "bruck",
     .collective = Collective::all_to_all,
     .citation = "Bruck et al. 1997; Thakur et al. 2005, sec. 4.4",
     .closed_form = "ceil(lg p) alpha + n/p sum_k |{d < p: bit k of d}| beta (n/2 lg p beta for p = 2^k)",
     .supports = any_flat,
     .coefficients_of = bruck_form,
     .schedule_of = bruck},
};

}  // namespace

std::span<const Algorithm> all_to_all() { return table; }

}  // namespace meshwright::rows
