#include "meshwright/search/why_not.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "meshwright/core/units.hpp"
#include "meshwright/parallel/constraints.hpp"

namespace meshwright::search {
namespace {

/// A layout that gets furthest through the rules, and what refuses it; nothing where one passes.
struct Refused {
  Layout layout;
  Rule rule;
};
std::optional<Refused> furthest(const Job& job, const Limits& limits) {
  std::optional<Refused> best;
  bool passes = false;
  each_layout(job, limits, [&](const Layout& layout) {
    const Rule rule = refused_by(job, layout);
    passes = rule == nullptr;
    if (!passes && (!best || index_of(rule) > index_of(best->rule))) best = {layout, rule};
    return !passes;
  });
  return passes ? std::nullopt : best;
}

void explain_refusal(WhyNot& answer, const Job& job, SearchOptions options) {
  const std::string wanted = fmt::format("{}", fmt::join(answer.wanted, ", "));
  if (const auto refused = furthest(job, options.space)) {
    answer.layout = refused->layout;
    answer.violation = violation_of(job, refused->layout, refused->rule);
    answer.words = fmt::format("{} cannot run: {}", wanted, answer.violation->text());
    return;
  }
  options.any_memory = true;
  options.objective = objective("memory", "why_not");
  const SearchResult least = search(job, options);
  if (least.best.empty()) {
    const std::string what = least.refused.empty() ? "no layout has it" : least.refused.front().first;
    answer.words = fmt::format("{} cannot run: {}", wanted, what);
    return;
  }
  const Prediction& p = least.best.front().prediction;
  answer.layout = p.layout;
  answer.violation = violation(job, p.layout);
  const std::string what = answer.violation ? answer.violation->text()
                                            : fmt::format("memory limit: needs {}, has {}", format(p.memory.reserved),
                                                          format(options.max_memory));
  answer.words = fmt::format("{} does not fit, not even as {}: {}", wanted, describe_layout(p.layout), what);
}

/// Nothing else runs: there is no answer to compare with.
void tell_alone(WhyNot& answer, const Ranked& found) {
  answer.prediction = found.prediction;
  answer.words = fmt::format("{} runs as {}: {} a step; nothing that was searched does", fmt::join(answer.wanted, ", "),
                             describe_layout(found.prediction.layout), format(found.prediction.step_time));
}

void compare(WhyNot& answer, const Ranked& found, const Ranked& best) {
  const std::string wanted = fmt::format("{}", fmt::join(answer.wanted, ", "));
  answer.prediction = found.prediction;
  if (found.prediction.layout == best.prediction.layout) {
    answer.words = fmt::format("{} is what the answer has", wanted);
    return;
  }
  answer.against_best = differences(best.prediction.time, found.prediction.time);
  const std::string terms = in_words(answer.against_best, best.prediction.step_time);
  answer.words =
      fmt::format("{} is at its best as {}: {} a step, {:+.1f} %{}{}", wanted, describe_layout(found.prediction.layout),
                  format(found.prediction.step_time),
                  100 * (found.prediction.step_time / best.prediction.step_time - 1), terms.empty() ? "" : ": ", terms);
}

}  // namespace

WhyNot why_not(const Job& job, const Filter& wanted, const SearchOptions& asked, const SearchResult& result,
               const std::string& where) {
  WhyNot answer;
  answer.wanted = wanted.stated();
  SearchOptions options = asked;
  options.top = 1;
  options.pareto.clear();
  options.space.filter.add(wanted, where);
  const SearchResult found = search(job, options);
  if (found.best.empty()) {
    explain_refusal(answer, job, options);
  } else if (result.best.empty()) {
    tell_alone(answer, found.best.front());
  } else {
    compare(answer, found.best.front(), result.best.front());
  }
  return answer;
}

}  // namespace meshwright::search
