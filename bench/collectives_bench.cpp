// Collectives: closed forms and NCCL's choice are hot paths of a search; schedules and sweeps are looked up once.
#include <benchmark/benchmark.h>

#include "meshwright/collectives/evaluate.hpp"
#include "meshwright/collectives/message_program.hpp"
#include "meshwright/collectives/nccl_policy.hpp"
#include "meshwright/collectives/verify.hpp"

namespace meshwright::tests {
namespace {

/// Goal: over 10 million flat closed forms a second.
void closed_form(benchmark::State& state) {
  const Algorithm& row = algorithm(Collective::all_reduce, "ring", "bench");
  Shape shape = flat_shape(128);
  for (auto _ : state) benchmark::DoNotOptimize(coefficients(row, shape));
}
BENCHMARK(closed_form);

void closed_form_of_stages(benchmark::State& state) {
  const Algorithm& row = algorithm(Collective::all_reduce, "two_level", "bench");
  for (auto _ : state) benchmark::DoNotOptimize(coefficients(row, {.extent = {8, 256, 1}}));
}
BENCHMARK(closed_form_of_stages);

/// Goal: a choice in a few microseconds.
void choice_of_nccl(benchmark::State& state) {
  const NcclGraphs graphs = nccl_graphs({.domains = 64});
  for (auto _ : state) benchmark::DoNotOptimize(nccl_choice(graphs, Collective::all_reduce, Bytes::base(1 << 24)));
}
BENCHMARK(choice_of_nccl);

/// Building the schedule of a ring, whatever its size, is linear in the ranks.
void ring_schedule(benchmark::State& state) {
  const Algorithm& row = algorithm(Collective::all_reduce, "ring", "bench");
  for (auto _ : state) benchmark::DoNotOptimize(schedule(row, flat_shape(static_cast<int>(state.range(0)))));
  state.SetComplexityN(state.range(0));
}
BENCHMARK(ring_schedule)->Range(64, 65536)->Complexity(benchmark::oN);

/// Messages a second of the clock sweep.
void clock_sweep(benchmark::State& state) {
  const int ranks = static_cast<int>(state.range(0));
  const Schedule ring = schedule(algorithm(Collective::all_reduce, "ring", "bench"), flat_shape(ranks));
  const MessageProgram program = message_program(ring, 1 << 20);
  for (auto _ : state) benchmark::DoNotOptimize(simulate(program, {}));
  state.SetItemsProcessed(state.iterations() * 2 * ranks * (ranks - 1));
}
BENCHMARK(clock_sweep)->Arg(16)->Arg(128)->Unit(benchmark::kMillisecond);

void symbolic_play(benchmark::State& state) {
  const Schedule ring = schedule(algorithm(Collective::all_reduce, "ring", "bench"), flat_shape(128));
  for (auto _ : state) benchmark::DoNotOptimize(find_fault(ring));
}
BENCHMARK(symbolic_play)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace meshwright::tests
