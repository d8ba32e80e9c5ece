// Recursive doubling and halving, Bruck and PAT: ceil(lg p) rounds with partners at distances of powers of two.
#include <algorithm>

#include "rows.hpp"

namespace meshwright::collectives::rows {

// In round k, rank r gives its 2^k blocks to the rank whose number differs in bit k.
Schedule recursive_doubling_all_gather(const Shape& shape) {
  const int p = shape.ranks();
  Schedule s = flat_schedule(Collective::all_gather, shape, p);
  for (int step = 1; step < p; step *= 2) {
    s.phases.push_back({every_rank(p, [step](int r) { return Transfer{r, r ^ step, r / step * step, step}; })});
  }
  return s;
}

namespace {

Schedule as(Collective collective, Schedule s) {
  s.collective = collective;
  return s;
}

Schedule recursive_halving_reduce_scatter(const Shape& shape) {
  return as(Collective::reduce_scatter, reversed(recursive_doubling_all_gather(shape)));
}

// In round k, rank r holds the blocks r .. r + 2^k - 1 and gives them to rank r - 2^k; the last round gives what lacks.
Schedule bruck_all_gather(const Shape& shape) {
  const int p = shape.ranks();
  Schedule s = flat_schedule(Collective::all_gather, shape, p);
  for (int step = 1; step < p; step *= 2) {
    const int count = std::min(step, p - step);
    s.phases.push_back({every_rank(p, [=](int r) { return Transfer{r, (r - step + p) % p, r, count}; })});
  }
  return s;
}
Schedule bruck_reduce_scatter(const Shape& shape) {
  return as(Collective::reduce_scatter, reversed(bruck_all_gather(shape)));
}

// Binomial trees of all owners at once, shifted by rank, farthest partner first: in the round of distance d, the rank
// at place x (a multiple of 2d) of an owner's tree serves place x + d.
Schedule pat_all_gather(const Shape& shape) {
  const int p = shape.ranks();
  Schedule s = flat_schedule(Collective::all_gather, shape, p);
  for (int distance = 1 << (ceil_log2(p) - 1); distance >= 1; distance /= 2) {
    Phase phase;
    for (int r = 0; r < p; ++r) {
      const int count = (p - distance - 1) / (2 * distance) + 1;
      phase.transfers.push_back({r, (r + distance) % p, r, count, false, -2 * distance});
    }
    s.phases.push_back(std::move(phase));
  }
  return s;
}
Schedule pat_reduce_scatter(const Shape& shape) {
  return as(Collective::reduce_scatter, reversed(pat_all_gather(shape)));
}

// Every rank gives its block to every other in one round (a full mesh or a switch with many ports).
Schedule direct_all_gather(const Shape& shape) {
  const int p = shape.ranks();
  Schedule s = flat_schedule(Collective::all_gather, shape, p);
  Phase phase;
  for (int r = 0; r < p; ++r) {
    for (int distance = 1; distance < p; ++distance) phase.transfers.push_back({r, (r + distance) % p, r});
  }
  s.phases.push_back(std::move(phase));
  return s;
}
Schedule direct_reduce_scatter(const Shape& shape) {
  return as(Collective::reduce_scatter, reversed(direct_all_gather(shape)));
}
LevelCoefficients direct_gather_form(const Shape& shape) {
  return on_first_level({.rounds = 1, .messages = shape.ranks() - 1, .wire = most_of(shape.ranks())});
}
LevelCoefficients direct_scatter_form(const Shape& shape) {
  const Ratio volume = most_of(shape.ranks());
  return on_first_level({.rounds = 1, .messages = shape.ranks() - 1, .wire = volume, .reduced = volume});
}

LevelCoefficients log_gather_form(const Shape& shape) {
  const int rounds = ceil_log2(shape.ranks());
  return on_first_level({.rounds = rounds, .messages = rounds, .wire = most_of(shape.ranks())});
}
LevelCoefficients log_scatter_form(const Shape& shape) {
  const int rounds = ceil_log2(shape.ranks());
  const Ratio volume = most_of(shape.ranks());
  return on_first_level({.rounds = rounds, .messages = rounds, .wire = volume, .reduced = volume});
}

Schedule recursive_doubling_all_reduce(const Shape& shape) {
  const int p = shape.ranks();
  Schedule s = flat_schedule(Collective::all_reduce, shape, 1);
  for (int step = 1; step < p; step *= 2) {
    s.phases.push_back({every_rank(p, [step](int r) { return Transfer{r, r ^ step, 0, 1, true}; })});
  }
  return s;
}
LevelCoefficients recursive_doubling_form(const Shape& shape) {
  const int rounds = floor_log2(shape.ranks());
  return on_first_level({.rounds = rounds, .messages = rounds, .wire = rounds, .reduced = rounds});
}

// With p' = 2^floor(lg p): ranks p' .. p-1 first give their vector to rank - p' and get the result from it at the end.
Schedule rabenseifner(const Shape& shape) {
  const int p = shape.ranks(), core = 1 << floor_log2(p), extra = p - core;
  Schedule s = flat_schedule(Collective::all_reduce, shape, core);
  const Schedule gather = recursive_doubling_all_gather(flat_shape(core));
  const Schedule scatter = reversed(gather);
  Phase fold, unfold;
  for (int r = 0; r < extra; ++r) {
    fold.transfers.push_back({core + r, r, 0, core, true});
    unfold.transfers.push_back({r, core + r, 0, core});
  }
  if (extra > 0) s.phases.push_back(std::move(fold));
  s.phases.insert(s.phases.end(), scatter.phases.begin(), scatter.phases.end());
  s.phases.insert(s.phases.end(), gather.phases.begin(), gather.phases.end());
  if (extra > 0) s.phases.push_back(std::move(unfold));
  return s;
}
LevelCoefficients rabenseifner_form(const Shape& shape) {
  const int bits = floor_log2(shape.ranks()), core = 1 << bits, fold = power_of_two(shape.ranks()) ? 0 : 1;
  return on_first_level({.rounds = 2 * (bits + fold),
                         .messages = 2 * (bits + fold),
                         .wire = most_of(core) * 2 + Ratio(2 * fold),
                         .reduced = most_of(core) + Ratio(fold)});
}

const Algorithm table[] = {
    {.name = "recursive_doubling",
     .collective = Collective::all_reduce,
     .citation = "Thakur, Rabenseifner, Gropp 2005, sec. 4.5",
     .closed_form = "lg p (alpha + n beta + n gamma), p = 2^k",
     .supports = flat_power_of_two,
     .coefficients_of = recursive_doubling_form,
     .schedule_of = recursive_doubling_all_reduce,
     .elsewhere = {"", "", "recursive_doubling"}},
    {.name = "rabenseifner",
     .collective = Collective::all_reduce,
     .citation = "Rabenseifner 2004; Thakur, Rabenseifner, Gropp 2005, sec. 4.5",
     .closed_form = "2 lg p alpha + 2(p-1)/p n beta + (p-1)/p n gamma; p not 2^k: p' = 2^floor(lg p), and 2 alpha + "
                    "2 n beta + n gamma more",
     .supports = any_flat,
     .coefficients_of = rabenseifner_form,
     .schedule_of = rabenseifner,
     .elsewhere = {"", "", "rabenseifner"}},
    {.name = "recursive_doubling",
     .collective = Collective::all_gather,
     .citation = "Thakur, Rabenseifner, Gropp 2005, sec. 4.1",
     .closed_form = "lg p alpha + (p-1)/p n beta, p = 2^k",
     .supports = flat_power_of_two,
     .coefficients_of = log_gather_form,
     .schedule_of = recursive_doubling_all_gather,
     .elsewhere = {"", "", "recursive_doubling"}},
    {.name = "bruck",
     .collective = Collective::all_gather,
     .citation = "Bruck, Ho, Kipnis, Upfal, Weathersby 1997; Thakur et al. 2005, sec. 4.1",
     .closed_form = "ceil(lg p) alpha + (p-1)/p n beta",
     .supports = any_flat,
     .coefficients_of = log_gather_form,
     .schedule_of = bruck_all_gather,
     .elsewhere = {"", "", "bruck"}},
    {.name = "pat",
     .collective = Collective::all_gather,
     .citation = "Jeaugey 2025, PAT: parallel aggregated trees (arXiv 2506.20252), fully aggregated",
     .closed_form = "ceil(lg p) alpha + (p-1)/p n beta",
     .supports = any_flat,
     .coefficients_of = log_gather_form,
     .schedule_of = pat_all_gather,
     .domains = Domains::of_one,
     .elsewhere = {"PAT", "", ""}},
    {.name = "direct",
     .collective = Collective::all_gather,
     .citation = "NCCL CollNetDirect and symmetric kernels, inside a domain",
     .closed_form = "alpha + (p-2) alpha' + (p-1)/p n beta",
     .supports = any_flat,
     .coefficients_of = direct_gather_form,
     .schedule_of = direct_all_gather,
     .pairs = true,
     .elsewhere = {"", "", "direct-messaging"}},
    {.name = "direct",
     .collective = Collective::reduce_scatter,
     .citation = "NCCL CollNetDirect and symmetric kernels, inside a domain",
     .closed_form = "alpha + (p-2) alpha' + (p-1)/p n (beta + gamma)",
     .supports = any_flat,
     .coefficients_of = direct_scatter_form,
     .schedule_of = direct_reduce_scatter,
     .pairs = true},
    {.name = "recursive_halving",
     .collective = Collective::reduce_scatter,
     .citation = "Thakur, Rabenseifner, Gropp 2005, sec. 4.3",
     .closed_form = "lg p alpha + (p-1)/p n (beta + gamma), p = 2^k",
     .supports = flat_power_of_two,
     .coefficients_of = log_scatter_form,
     .schedule_of = recursive_halving_reduce_scatter,
     .elsewhere = {"", "", "recursive_halving"}},
    {.name = "bruck",
     .collective = Collective::reduce_scatter,
     .citation = "Bruck et al. 1997, run backwards (commutative operation)",
     .closed_form = "ceil(lg p) alpha + (p-1)/p n (beta + gamma)",
     .supports = any_flat,
     .coefficients_of = log_scatter_form,
     .schedule_of = bruck_reduce_scatter},
    {.name = "pat",
     .collective = Collective::reduce_scatter,
     .citation = "Jeaugey 2025, PAT: parallel aggregated trees (arXiv 2506.20252), fully aggregated",
     .closed_form = "ceil(lg p) alpha + (p-1)/p n (beta + gamma)",
     .supports = any_flat,
     .coefficients_of = log_scatter_form,
     .schedule_of = pat_reduce_scatter,
     .domains = Domains::of_one,
     .elsewhere = {"PAT", "", ""}},
};

}  // namespace

std::span<const Algorithm> recursive() { return table; }

}  // namespace meshwright::collectives::rows
