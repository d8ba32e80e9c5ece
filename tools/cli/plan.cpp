// meshwright plan: the best layout, why it is the best, and what to paste into the launcher.
#include <fmt/format.h>

#include <memory>

#include "command.hpp"
#include "job_options.hpp"
#include "meshwright/core/units.hpp"
#include "meshwright/parallel/launcher.hpp"
#include "meshwright/search/json.hpp"
#include "meshwright/search/search.hpp"
#include "prediction_text.hpp"
#include "table.hpp"

namespace meshwright::cli {
namespace {

struct Options {
  JobOptions job;
  SearchOptions search;
  std::string flags;
  bool json = false;
};

std::string runners_up(const SearchResult& result) {
  if (result.best.size() < 2) return "";
  Table table({{"runner-up", Align::left}, {"step"}, {"MFU"}, {"memory"}, {"against the best", Align::left}});
  for (std::size_t i = 1; i < result.best.size(); ++i) {
    const Prediction& p = result.best[i].prediction;
    table.add({fmt::format("{} {}", describe_layout(p.layout), name(p.layout.recompute)), format(p.step_time),
               format_percent(p.mfu), format(p.memory.reserved), result.best[i].why});
  }
  return table.render() + "\n";
}

std::string refusals(const SearchResult& result) {
  Table table({{"refused by", Align::left}, {"layouts"}});
  for (const auto& [rule, count] : result.refused) table.add({rule, with_commas(static_cast<long long>(count))});
  return table.render();
}

std::string flags_text(const Job& job, const Layout& layout, const std::string& dialect) {
  std::string out = bold(fmt::format("Launcher flags ({})", dialect)) + "\n";
  for (const std::string& flag : launcher_flags(job, layout, dialect)) out += "  " + flag + "\n";
  return out + "\n";
}

void print_people(const Job& job, const SearchResult& result, const std::string& dialect) {
  const Prediction& best = result.best.front().prediction;
  std::string out = job_text(job) + "\n" + bold("Recommended layout") + "\n" + summary_text(job, best) + "\n";
  out += waterfall_text(best) + "\n" + runners_up(result);
  if (!dialect.empty()) out += flags_text(job, best.layout, dialect);
  std::vector<std::string> assumptions = result.assumptions;
  out += notes_text(best.warnings, assumptions);
  out +=
      fmt::format("\n{} layouts timed of {} considered, in {}\n", with_commas(static_cast<long long>(result.evaluated)),
                  with_commas(static_cast<long long>(result.considered)), format(result.search_time));
  fmt::print("{}", out);
}

/// Why nothing fits: memory, or else the rule that refuses most.
std::string no_layout(const Job& job, const SearchResult& result) {
  for (const auto& [rule, count] : result.refused) {
    if (rule == "device memory") return "no layout fits into device memory; more devices or shorter sequences may";
  }
  const std::string rule = result.refused.empty() ? "" : result.refused.front().first;
  return fmt::format("no layout divides {} over {} accelerators with global batch {}{}", job.model.name,
                     job.accelerators, job.global_batch,
                     rule.empty() ? "" : fmt::format("; most are refused by: {}", rule));
}

void run(const Options& options, const Globals& globals) {
  const Job job = make_job(options.job, load_catalog(globals.hardware));
  if (!options.flags.empty()) launcher_flags(job, Layout{}, options.flags);  // a bad dialect is refused before the work
  const SearchResult result = search::search(job, options.search);
  if (options.json) {
    auto document = nlohmann::ordered_json::parse(to_json(result));
    if (!options.flags.empty() && !result.best.empty()) {
      document["flags"] = launcher_flags(job, result.best.front().prediction.layout, options.flags);
    }
    print_json(document);
  } else if (!result.best.empty()) {
    print_people(job, result, options.flags);
  }
  if (result.best.empty()) {
    if (!options.json) fmt::print("{}\n{}", job_text(job), refusals(result));
    throw Negative{no_layout(job, result)};
  }
}

}  // namespace

void add_plan(CLI::App& command, const Globals& globals) {
  auto options = std::make_shared<Options>();
  add_job_options(command, options->job);
  command.add_option("--top", options->search.top, "Layouts to show")
      ->check(whole_number(1, 1000))
      ->capture_default_str();
  command.add_option("--max-micro-batch", options->search.max_micro_batch, "Largest micro-batch tried")
      ->check(whole_number(1, 1024))
      ->capture_default_str();
  command.add_option("--threads", options->search.threads, "Threads; all cores by default")
      ->check(whole_number(1, 1024));
  command.add_option("--flags", options->flags, "Print launcher flags: megatron, torchtitan, ...")
      ->type_name("DIALECT")
      ->check(some_text());
  command.add_flag("--json", options->json, "One JSON document on stdout");
  command.callback([options, &globals] { run(*options, globals); });
}

}  // namespace meshwright::cli
