// Reduction and multicast in a switch (NVLink SHARP, InfiniBand SHARP). The switch is actor p; it combines what it
// receives in a round and forwards it in the same round.
#include "rows.hpp"

namespace meshwright::collectives::rows {
namespace {

constexpr std::string_view nvls_source =
    "Klenk, Jiang, Thorson, Dennison 2020 (in-network reduction on NVSwitch); NCCL NVLS (multimem)";

Schedule with_switch(Collective collective, const Shape& shape, int chunks) {
  Schedule s = flat_schedule(collective, shape, chunks);
  s.switch_levels = {0};
  return s;
}

// Every rank loads its slice; the switch pulls it from all ranks and combines.
std::vector<Transfer> pull_slices(int p) {
  std::vector<Transfer> round = every_rank(p, [p](int r) { return Transfer{r, p, 0, p, true}; });
  for (int r = 0; r < p; ++r) round.push_back({p, r, r});
  return round;
}
// Every rank stores its slice; the switch gives it to all ranks.
std::vector<Transfer> push_slices(int p) {
  std::vector<Transfer> round = every_rank(p, [p](int r) { return Transfer{r, p, r}; });
  for (int r = 0; r < p; ++r) round.push_back({p, r, 0, p});
  return round;
}

Schedule nvls_all_reduce(const Shape& shape) {
  const int p = shape.ranks();
  Schedule s = with_switch(Collective::all_reduce, shape, p * shape.segments);
  s.phases = pipelined({pull_slices(p), push_slices(p)}, shape.segments, p);
  return s;
}
/// A port carries n up for the loads and n/p for the stores, and the same down; the two overlap but for the ends.
LevelCoefficients nvls_all_reduce_form(const Shape& shape) {
  const int p = shape.ranks(), k = shape.segments;
  return on_first_level({.rounds = k + 1, .messages = k + 1, .wire = {2 * p + (k - 1) * (p + 1), k * p}});
}

Schedule nvls_reduce_scatter(const Shape& shape) {
  Schedule s = with_switch(Collective::reduce_scatter, shape, shape.ranks());
  s.phases.push_back({pull_slices(shape.ranks())});
  return s;
}
Schedule nvls_all_gather(const Shape& shape) {
  Schedule s = with_switch(Collective::all_gather, shape, shape.ranks());
  s.phases.push_back({push_slices(shape.ranks())});
  return s;
}

Schedule sharp_all_reduce(const Shape& shape) {
  const int p = shape.ranks();
  Schedule s = with_switch(Collective::all_reduce, shape, 1);
  std::vector<Transfer> round = every_rank(p, [p](int r) { return Transfer{r, p, 0, 1, true}; });
  for (int r = 0; r < p; ++r) round.push_back({p, r, 0});
  s.phases.push_back({std::move(round)});
  return s;
}

LevelCoefficients one_pass_form(const Shape&) { return on_first_level({.rounds = 1, .messages = 1, .wire = 1}); }

/// Loads pull n from every rank and bring it n/p; stores carry n/p up and n down.
LevelLoad pulled(const Span& s) { return {.hops = 1, .out = 1, .in = 1.0 / s.ranks, .port = 1}; }
LevelLoad pushed(const Span& s) { return {.hops = 1, .out = 1.0 / s.ranks, .in = 1, .port = 1}; }

const Algorithm table[] = {
    {.name = "nvls",
     .collective = Collective::all_reduce,
     .citation = nvls_source,
     .closed_form = "(k+1) alpha + (1 + 1/p + (1 - 1/p)/k) n beta, k segments",
     .supports = any_flat,
     .coefficients_of = nvls_all_reduce_form,
     .schedule_of = nvls_all_reduce,
     .pipelined = true,
     .means = Means::switch_reduction,
     .traffic = Traffic::in_switch,
     .elsewhere = {"NVLS", "", ""}},
    {.name = "sharp",
     .collective = Collective::all_reduce,
     .citation = "Graham et al. 2016, SHARP: in-network reduction, one rank a port",
     .closed_form = "alpha + n beta",
     .supports = any_flat,
     .coefficients_of = one_pass_form,
     .schedule_of = sharp_all_reduce,
     .means = Means::switch_reduction,
     .traffic = Traffic::in_network},
    {.name = "nvls",
     .collective = Collective::all_gather,
     .citation = nvls_source,
     .closed_form = "alpha + n beta (a rank's own block returns to it)",
     .supports = any_flat,
     .coefficients_of = one_pass_form,
     .schedule_of = nvls_all_gather,
     .means = Means::switch_reduction,
     .traffic = Traffic::in_switch,
     .across = pushed,
     .elsewhere = {"NVLS", "", ""}},
    {.name = "nvls",
     .collective = Collective::reduce_scatter,
     .citation = nvls_source,
     .closed_form = "alpha + n beta",
     .supports = any_flat,
     .coefficients_of = one_pass_form,
     .schedule_of = nvls_reduce_scatter,
     .means = Means::switch_reduction,
     .traffic = Traffic::in_switch,
     .across = pulled,
     .elsewhere = {"NVLS", "", ""}},
};

}  // namespace

std::span<const Algorithm> in_switch() { return table; }

}  // namespace meshwright::collectives::rows
