#include "search_options.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "interrupt.hpp"
#include "meshwright/capacity/objectives.hpp"
#include "meshwright/core/units.hpp"
#include "meshwright/search/counts.hpp"
#include "progress.hpp"
#include "table.hpp"

namespace meshwright::cli {
namespace {

const Objective& picked(const std::string& name, const std::string& flag, const std::vector<Objective>& others) {
  std::vector<std::string> names;
  for (const auto& rows : {objectives(), std::span<const Objective>(others)}) {
    for (const Objective& row : rows) {
      if (row.name == name) return row;
      names.push_back(row.name);
    }
  }
  throw Error(flag, fmt::format("unknown objective '{}'{}", name, suggestion(name, names)));
}

std::vector<Objective> listed_objectives(const std::string& text, const std::string& flag,
                                         const std::vector<Objective>& others) {
  std::vector<Objective> out;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    out.push_back(picked(text.substr(begin, end - begin), flag, others));
    begin = end + 1;
  }
  check_front(out, flag);
  return out;
}

/// "tp=8,order=tp-cp-ep-dp-pp" without its order of ranks, which is no axis but the whole numbering.
std::string without_order(std::string_view text, std::optional<RankOrder>& order) {
  constexpr std::string_view key = "order=";
  std::string left;
  if (text.find(key) == std::string_view::npos) return std::string(text);
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), part.size() + 1));
    const std::size_t begin = std::min(part.find_first_not_of(' '), part.size());
    if (part.substr(begin).starts_with(key))
      order = read_order(part.substr(begin + key.size()), "--fix: order");
    else
      left.append(left.empty() ? "" : ",").append(part);
  }
  return left;
}

std::string objective_names() {
  std::string out;
  for (const Objective& row : objectives()) out += (out.empty() ? "" : ", ") + row.name;
  return fmt::format("{}, {}", out, fmt::join(capacity::run_objective_names, ", "));
}

}  // namespace

void add_search_options(CLI::App& command, SearchChoices& c) {
  command.add_option("--fix", c.fixed, "Axes that are given: tp=8,mb=2,recompute=none, or order=tp-cp-ep-dp-pp")
      ->type_name("AXIS=VALUE,")
      ->check(some_text());
  command.add_option("--exclude", c.excluded, "Axes to leave alone, or single values: cp,zero_stage=3")
      ->type_name("AXIS,")
      ->check(some_text());
  command.add_option("--max-memory", c.max_memory, "Of a device, or a share of it: 64GB, 90%")
      ->type_name("SIZE")
      ->check(some_text());
  command.add_flag("--max-tp-domain", c.options.space.tp_in_domain, "Tensor parallelism only inside a scale-up domain");
  command.add_option("--objective", c.objective, objective_names())->type_name("NAME")->check(some_text());
  command.add_option("--pareto", c.pareto, "Also what nothing beats in all of them: time,memory")
      ->type_name("NAME,NAME")
      ->check(some_text());
  command.add_option("--why-not", c.why_not, "What stands in the way of a layout that you expected: tp=8,pp=4")
      ->type_name("AXIS=VALUE,")
      ->check(some_text());
  constexpr std::size_t help_width = 70;  // of what stands beside an option
  std::string open = wrap(fmt::format("Also: {}", fmt::join(open_choices(), ", ")), 0, help_width);
  open.pop_back();  // its last line break
  command.add_option("--open", c.open, open)->type_name("NAME,")->delimiter(',');
  command.add_option("--top", c.options.top, "Layouts to show")->check(whole_number(1, 1000))->capture_default_str();
  command.add_option("--max-micro-batch", c.options.space.max_micro_batch, "Largest micro-batch tried")
      ->check(whole_number(1, 1024))
      ->capture_default_str();
  command.add_option("--threads", c.options.threads, "Threads; all cores by default")->check(whole_number(1, 1024));
}

PlanOptions plan_options(const SearchChoices& c, const Job& job, const std::vector<Objective>& others) {
  PlanOptions plan{.search = c.options};
  SearchOptions& options = plan.search;
  for (const std::string& text : c.why_not) fix(plan.why_not, text, "--why-not");
  for (const std::string& text : c.fixed) {
    const std::string axes = without_order(text, options.space.order);
    if (!axes.empty()) fix(options.space.filter, axes, "--fix");
  }
  for (const std::string& text : c.excluded) exclude(options.space.filter, text, "--exclude");
  if (!c.max_memory.empty()) options.max_memory = memory_limit(c.max_memory, job, "--max-memory");
  if (!c.objective.empty()) options.objective = picked(c.objective, "--objective", others);
  if (!c.pareto.empty()) options.pareto = listed_objectives(c.pareto, "--pareto", others);
  const bool counts = options.objective.over_counts || std::any_of(options.pareto.begin(), options.pareto.end(),
                                                                   [](const Objective& o) { return o.over_counts; });
  if (counts) options.accelerators = accelerator_counts(job);
  return plan;
}

std::vector<Variant> open_variants(const SearchChoices& choices, const Job& job, SearchOptions options) {
  if (choices.open.empty()) return {};
  const Interrupt interrupt;
  Progress shown("searching");
  options.progress = [&](const search::Progress& progress) {
    shown.show(progress.done, progress.total);
    return !interrupt.asked();
  };
  options.top = 1;
  options.pareto.clear();
  return search_open(job, options, choices.open, "--open");
}

Plan plan_with_progress(const Job& job, PlanOptions options) {
  const Interrupt interrupt;
  Progress shown("searching");
  options.search.progress = [&](const search::Progress& progress) {
    shown.show(progress.done, progress.total);
    return !interrupt.asked();
  };
  return search::plan(job, options);
}

}  // namespace meshwright::cli
