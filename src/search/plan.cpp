#include "meshwright/search/plan.hpp"

#include <algorithm>

#include "meshwright/search/counts.hpp"

namespace meshwright::search {

std::vector<std::pair<std::string, std::vector<std::string>>> titled_alternatives(const Plan& plan) {
  std::vector<std::pair<std::string, std::vector<std::string>>> out;
  for (const Alternative& other : plan.alternatives) {
    const char* title = plan.result.best.empty() ? "What would run"
                        : other.what == "memory" ? "With memory to spare"
                                                 : "Fewer accelerators";
    if (out.empty() || out.back().first != title) out.emplace_back(title, std::vector<std::string>{});
    out.back().second.push_back(other.words);
  }
  return out;
}

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
  if (auto other = with_memory_to_spare(job, options.search, best)) out.alternatives.push_back(std::move(*other));
  return out;
}

}  // namespace meshwright::search
