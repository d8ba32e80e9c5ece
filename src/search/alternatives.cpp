#include "meshwright/search/alternatives.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <set>

#include "meshwright/core/error.hpp"
#include "meshwright/core/units.hpp"
#include "meshwright/parallel/band.hpp"
#include "meshwright/parallel/memory.hpp"

namespace meshwright::search {
namespace {

constexpr int most_tries = 24, further_tries = 8;
constexpr int most_growth = 64;
constexpr double worth_saying = 0.95;  // of the accelerator-seconds

std::optional<Prediction> best_of(const Job& job, const SearchOptions& options) {
  SearchResult result = search(job, options);
  if (result.best.empty() || result.interrupted) return std::nullopt;
  return std::move(result.best.front().prediction);
}

std::string reached(const Prediction& p) {
  return fmt::format("{} a step, {} tokens/s a GPU, {}", format(p.step_time), format_rate(p.tokens_per_s_per_gpu),
                     describe_layout(p.layout));
}

Alternative other_batch(const Job& job, int batch, Prediction prediction) {
  const std::string words =
      fmt::format("global batch {} instead of {}: {}", batch, job.global_batch, reached(prediction));
  return {"global_batch", job.global_batch, batch, std::move(prediction), words};
}

Alternative other_count(const Job& job, int count, Prediction prediction) {
  const std::string words =
      fmt::format("{} accelerators instead of {}: {}", count, job.accelerators, reached(prediction));
  return {"accelerators", job.accelerators, count, std::move(prediction), words};
}

/// What fewer accelerators gain or cost against the answer.
Alternative fewer(const Job& job, int count, Prediction prediction, const Prediction& best) {
  Alternative other = other_count(job, count, std::move(prediction));
  const double longer = other.prediction.step_time / best.step_time;
  const double more = other.prediction.tokens_per_s_per_gpu / best.tokens_per_s_per_gpu;
  other.words =
      fmt::format("{} accelerators instead of {}: {} a step instead of {} ({:+.1f} %), {:+.1f} % tokens/s a GPU", count,
                  job.accelerators, format(other.prediction.step_time), format(best.step_time), 100 * (longer - 1),
                  100 * (more - 1));
  return other;
}

int percent_that_fits(const Prediction& p) { return static_cast<int>(std::lround(100 * p.fits_probability)); }

/// What surer memory costs against the answer.
Alternative surer(Prediction prediction, const Prediction& best) {
  const int from = percent_that_fits(best), to = percent_that_fits(prediction);
  const double longer = prediction.step_time / best.step_time - 1;
  const std::string words = fmt::format("{} % that it fits instead of {} %: {} a step ({:+.1f} %), {}, {}", to, from,
                                        format(prediction.step_time), 100 * longer, format(prediction.memory.reserved),
                                        describe_layout(prediction.layout));
  return {"memory", from, to, std::move(prediction), words};
}

/// Multiples of the data-parallel degrees that the accelerators allow, the nearest first.
std::vector<int> batches_near(const Job& job, const Limits& limits) {
  std::set<int> degrees;
  for (const ShardChoice& shard : shard_choices(job, limits)) {
    for (const int pp : pipeline_degrees(job, limits, shard)) {
      degrees.insert(data_degree(job, limits, shard, pp) * shard.micro_batch);
    }
  }
  std::set<int> batches;
  for (const int degree : degrees) {
    const int below = job.global_batch / degree * degree;
    batches.insert({below, below + degree});
  }
  batches.erase(0), batches.erase(job.global_batch);
  std::vector<int> nearest(batches.begin(), batches.end());
  std::stable_sort(nearest.begin(), nearest.end(),
                   [&](int a, int b) { return std::abs(a - job.global_batch) < std::abs(b - job.global_batch); });
  return nearest;
}

double rate(const Alternative& other) { return other.prediction.tokens_per_s_per_gpu; }

/// Those of `candidates` on one side for which answer(candidate) finds something: the first, and what is found by a few
/// further ones.
template <class Answer>
std::vector<Alternative> runs_of(const std::vector<int>& candidates, int asked, bool larger, Answer answer) {
  std::vector<Alternative> found;
  int tries = 0, last = most_tries;
  for (const int candidate : candidates) {
    if ((candidate > asked) != larger) continue;
    if (++tries > last) break;
    std::optional<Alternative> alternative = answer(candidate);
    if (!alternative) continue;
    if (found.empty()) last = std::min(most_tries, tries + further_tries);
    found.push_back(std::move(*alternative));
  }
  return found;
}

/// On each side of `asked` the nearest that runs; and where that makes poor use of the machine, the nearest that comes
/// near to the best of those looked at.
template <class Answer>
std::vector<Alternative> nearest_on_each_side(const std::vector<int>& candidates, int asked, Answer answer) {
  std::vector<Alternative> out;
  std::array sides = {runs_of(candidates, asked, false, answer), runs_of(candidates, asked, true, answer)};
  double best = 0;
  for (const auto& side : sides) {
    for (const Alternative& other : side) best = std::max(best, rate(other));
  }
  for (auto& side : sides) {
    if (side.empty()) continue;
    const auto good = std::ranges::find_if(side, [&](const Alternative& o) { return rate(o) >= worth_saying * best; });
    if (good != side.begin() && good != side.end()) {
      good->words += " (the nearest that uses its machine as well as any)";
      std::rotate(side.begin() + 1, good, good + 1);
      side.resize(2);
    } else {
      side.resize(1);
    }
    std::ranges::move(side, std::back_inserter(out));
  }
  return out;
}

/// `job` on many times its nodes; as it is where the cluster has no more of them.
Job grown(const Job& job) {
  try {
    return with_more_nodes(job, most_growth);
  } catch (const Error&) {
    return job;
  }
}

std::vector<int> counts_near(const Job& job, const Job& larger) {
  std::vector<int> counts = accelerator_counts(larger);
  std::erase(counts, job.accelerators);
  std::stable_sort(counts.begin(), counts.end(), [&](int a, int b) {
    return std::abs(static_cast<long long>(a) - job.accelerators) <
           std::abs(static_cast<long long>(b) - job.accelerators);
  });
  return counts;
}

bool is_power_of_two(int n) { return n > 0 && (n & (n - 1)) == 0; }

bool is_odd_for_the_machine(const Job& job) {
  const Node& node = job.cluster.node;
  const bool cut = job.accelerators > node.scale_up_domain && job.accelerators % node.scale_up_domain != 0;
  return cut || !is_power_of_two(std::max(1, job.accelerators / node.accelerators));
}

}  // namespace

std::vector<Alternative> nearest_that_run(const Job& job, const SearchOptions& asked) {
  const SearchOptions options = best_only(asked);
  SearchOptions of_any_memory = options;
  of_any_memory.any_memory = true;
  std::vector<Alternative> found;
  if (!best_of(job, of_any_memory)) {
    found = nearest_on_each_side(batches_near(job, options.space), job.global_batch, [&](int batch) {
      std::optional<Prediction> best = best_of(with_global_batch(job, batch), options);
      return best ? std::optional(other_batch(job, batch, std::move(*best))) : std::nullopt;
    });
  }
  const Job larger = grown(job);
  for (Alternative& other : nearest_on_each_side(counts_near(job, larger), job.accelerators, [&](int count) {
         std::optional<Prediction> best = best_of(with_accelerators(larger, count), options);
         return best ? std::optional(other_count(job, count, std::move(*best))) : std::nullopt;
       })) {
    found.push_back(std::move(other));
  }
  return found;
}

std::vector<Alternative> fewer_accelerators(const Job& job, const SearchOptions& asked, const Prediction& best) {
  const Job used = with_accelerators(job, best.layout.accelerators());
  if (!is_odd_for_the_machine(used)) return {};
  SearchOptions options = best_only(asked);
  options.objective = objective("gpu-time", "fewer_accelerators");
  const double seconds = used.accelerators * best.step_time.value();
  std::optional<Alternative> fastest, cheapest;
  double least = worth_saying * seconds;
  for (const int count : accelerator_counts(used)) {
    if (2 * count < used.accelerators || count == used.accelerators) continue;
    options.below = seconds * std::max(worth_saying, static_cast<double>(count) / used.accelerators);
    const std::optional<Prediction> found = best_of(with_accelerators(job, count), options);
    if (!found) continue;
    const Seconds as_fast = fastest ? fastest->prediction.step_time : best.step_time;
    if (found->step_time <= as_fast) fastest = fewer(used, count, *found, best);
    if (count * found->step_time.value() < least) {
      least = count * found->step_time.value();
      cheapest = fewer(used, count, *found, best);
    }
  }
  std::vector<Alternative> out;
  if (fastest) out.push_back(std::move(*fastest));
  if (cheapest && (out.empty() || out.front().to != cheapest->to)) out.push_back(std::move(*cheapest));
  return out;
}

std::optional<Alternative> with_memory_to_spare(const Job& job, const SearchOptions& asked, const Prediction& best) {
  if (best.fit == Fit::fits) return std::nullopt;
  const Job used = with_accelerators(job, best.layout.accelerators());
  SearchOptions options = best_only(asked);
  // Nine of ten measured peaks lie below so many times the predicted one.
  const Bytes surely = parallel::usable_memory(job) / parallel::memory_band(job).high;
  options.max_memory = options.max_memory > Bytes{} ? std::min(options.max_memory, surely) : surely;
  std::optional<Prediction> found = best_of(used, options);
  if (!found || percent_that_fits(*found) <= percent_that_fits(best)) return std::nullopt;
  return surer(std::move(*found), best);
}

}  // namespace meshwright::search
