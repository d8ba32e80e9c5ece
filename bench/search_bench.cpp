// Layouts a second, with the full breakdown of each: the whole search of a job on one core, tables included.
// Peers: Calculon 185 to 350 layouts a second, SimuMax 10 to 30 (both on one core).
#include <benchmark/benchmark.h>

#include "meshwright/parallel/step.hpp"
#include "meshwright/search/search.hpp"

namespace meshwright::tests {
namespace {

Job job(const char* model, const char* cluster, int nodes, int seq_len, int global_batch) {
  JobSpec spec{.model = model, .seq_len = seq_len, .global_batch = global_batch};
  spec.cluster = {.of = cluster, .nodes = nodes};
  return make_job(spec, builtin_catalog());
}

void count(benchmark::State& state, std::uint64_t evaluated, std::uint64_t considered) {
  state.counters["layouts/s"] = benchmark::Counter(static_cast<double>(evaluated), benchmark::Counter::kIsRate);
  state.counters["considered/s"] = benchmark::Counter(static_cast<double>(considered), benchmark::Counter::kIsRate);
}

/// The whole search of a job, tables included.
void search_job(benchmark::State& state, const Job& searched) {
  std::uint64_t evaluated = 0, considered = 0;
  for (auto _ : state) {
    const SearchResult result = search::search(searched, {.top = 5, .threads = 1});
    evaluated += result.evaluated;
    considered += result.considered;
  }
  count(state, evaluated, considered);
}
BENCHMARK_CAPTURE(search_job, llama_405b, job("llama-3.1-405b", "dgx-h100", 2048, 8192, 2048))
    ->Unit(benchmark::kMillisecond);
// Expert parallelism makes the space an order larger.
BENCHMARK_CAPTURE(search_job, deepseek_v3, job("deepseek-v3", "dgx-h800", 256, 4096, 15360))
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(search_job, kimi_k2, job("kimi-k2", "gb200-nvl72", 1152, 4096, 18432))->Unit(benchmark::kMillisecond);

/// Phase 1 alone: step_time() with all ten terms over layouts of the Llama-3.1-405B space, tables filled before.
void step_time_llama_405b(benchmark::State& state) {
  const Job llama = job("llama-3.1-405b", "dgx-h100", 2048, 8192, 2048);
  Tables tables(llama);
  std::vector<Layout> layouts;
  std::vector<Entries> entries;
  for (const int tp : {4, 8}) {
    for (const int pp : {8, 16, 32}) {
      for (const Recompute recompute : {Recompute::none, Recompute::selective, Recompute::full}) {
        for (const int zero : {0, 1, 2, 3}) {
          Layout l{.tp = tp, .pp = pp, .dp = 16384 / (tp * pp), .zero_stage = zero, .recompute = recompute};
          layouts.push_back(l);
          entries.push_back(tables.entries(l));
        }
      }
    }
  }
  std::uint64_t evaluated = 0;
  for (auto _ : state) {
    for (std::size_t i = 0; i < layouts.size(); ++i) {
      benchmark::DoNotOptimize(step_time(tables.constants(), entries[i], layouts[i]));
    }
    evaluated += layouts.size();
  }
  count(state, evaluated, evaluated);
}
BENCHMARK(step_time_llama_405b);

}  // namespace
}  // namespace meshwright::tests
