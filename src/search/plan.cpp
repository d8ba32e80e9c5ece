#include "meshwright/search/plan.hpp"

#include <algorithm>

#include "meshwright/search/counts.hpp"

namespace meshwright::search {

Plan plan(const Job& job, const PlanOptions& options) {
  Plan out;
  out.result = search(job, options.search);
  if (out.result.interrupted) return out;
  if (!options.why_not.empty()) out.why_not = why_not(job, options.why_not, options.search, out.result, "why_not");
  if (out.result.best.empty()) {
    out.alternatives = nearest_that_run(job, options.search);
    return out;
  }
  out.standings = standings(job, out.result);
  const Prediction& best = out.result.best.front().prediction;
  const Job used = with_accelerators(job, best.layout.accelerators());
  out.helps = what_helps(used, best.layout);
  if (std::optional<Help> help = larger_batch_anew(used, best.layout, options.search)) {
    const auto less = std::ranges::find_if(out.helps, [&](const Help& other) { return other.gain < help->gain; });
    out.helps.insert(less, std::move(*help));
  }
  if (options.search.accelerators.empty()) out.alternatives = fewer_accelerators(job, options.search, best);
  return out;
}

}  // namespace meshwright::search
