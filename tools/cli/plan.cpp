// meshwright plan: the best layout, why it is the best, and what to paste into the launcher.
#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <optional>

#include "command.hpp"
#include "job_options.hpp"
#include "layout_outputs.hpp"
#include "meshwright/calibrate/nearest_run.hpp"
#include "meshwright/capacity/json.hpp"
#include "meshwright/capacity/objectives.hpp"
#include "meshwright/capacity/report.hpp"
#include "meshwright/core/units.hpp"
#include "meshwright/parallel/json.hpp"
#include "meshwright/parallel/launcher.hpp"
#include "meshwright/search/json.hpp"
#include "meshwright/search/report.hpp"
#include "meshwright/search/search.hpp"
#include "prediction_text.hpp"
#include "run_options.hpp"
#include "search_options.hpp"
#include "table.hpp"

namespace meshwright::cli {
namespace {

struct Options {
  JobOptions job;
  SearchChoices search;
  RunOptions run;
  LayoutOutputs outputs;
  bool json = false;
};

/// What the caller asked for, under the job.
std::string asked_for(const SearchResult& result, const Objective& objective) {
  std::string text;
  for (const std::string& stated : result.stated) text += (text.empty() ? "" : "; ") + stated;
  if (!objective.is_step_time)
    text += fmt::format("{}least {} ({})", text.empty() ? "" : "; ", objective.title, objective.name);
  return text.empty() ? "" : wrap("asked for " + text);
}

std::string value_text(const Objective& objective, double value) {
  constexpr std::string_view quantities[] = {"s", "B", "J", "$"};
  if (std::ranges::find(quantities, objective.unit) != std::end(quantities)) return format_in(value, objective.unit);
  return fmt::format("{:.6g}{}{}", value, objective.unit.empty() ? "" : " ", objective.unit);
}

std::string choice_text(const Layout& layout, bool counts) {
  const std::string text = describe_layout(layout);
  return counts ? fmt::format("{}: {}", with_commas(layout.accelerators()), text) : text;
}

std::string runners_up(const SearchResult& result, const SearchOptions& options) {
  if (result.best.size() < 2) return "";
  // Time and memory have columns of their own.
  const bool counts = !options.accelerators.empty(), by_value = options.objective.unit.empty() || counts;
  std::vector<Column> columns = {{counts ? "runner-up (GPUs: layout)" : "runner-up", Align::left}};
  if (by_value) columns.push_back({options.objective.name});
  for (const char* head : {"step", "MFU", "memory"}) columns.push_back({head});
  columns.push_back({"against the best", Align::left});
  Table table(columns);
  for (std::size_t i = 1; i < result.best.size(); ++i) {
    const Prediction& p = result.best[i].prediction;
    std::vector<std::string> cells = {choice_text(p.layout, counts)};
    if (by_value) cells.push_back(value_text(options.objective, result.best[i].value));
    for (const std::string& cell :
         {format(p.step_time), format_percent(p.mfu), format(p.memory.reserved), result.best[i].why}) {
      cells.push_back(cell);
    }
    table.add(cells);
  }
  return table.render() + "\n";
}

/// The front without points that another one is within 2 % of or below in every objective: --json has them all.
std::vector<const Ranked*> thinned(const std::vector<Ranked>& front) {
  std::vector<const Ranked*> kept;
  const auto near = [](double mine, double other) { return other <= 1.02 * mine; };
  for (const Ranked& ranked : front) {
    const bool stands_for = std::any_of(kept.begin(), kept.end(), [&](const Ranked* other) {
      return std::equal(ranked.values.begin(), ranked.values.end(), other->values.begin(), near);
    });
    if (!stands_for) kept.push_back(&ranked);
  }
  return kept;
}

std::string front_text(const SearchResult& result, const SearchOptions& options) {
  if (result.pareto.empty()) return "";
  std::vector<Column> columns = {{"nothing beats these in all", Align::left}};
  for (const Objective& objective : options.pareto) columns.push_back({objective.name});
  Table table(columns);
  const std::vector<const Ranked*> shown = thinned(result.pareto);
  for (const Ranked* ranked : shown) {
    std::vector<std::string> cells = {choice_text(ranked->prediction.layout, !options.accelerators.empty())};
    for (std::size_t i = 0; i < options.pareto.size(); ++i) {
      cells.push_back(value_text(options.pareto[i], ranked->values[i]));
    }
    table.add(cells);
  }
  const std::size_t left = result.pareto.size() - shown.size();
  const std::string more = left == 0 ? "" : fmt::format("  and {} within 2 % of one of them; --json lists all\n", left);
  return table.render() + more + "\n";
}

std::string refusals(const SearchResult& result) {
  Table table({{"refused by", Align::left}, {"layouts"}});
  for (const auto& [rule, count] : result.refused) table.add({rule, with_commas(static_cast<long long>(count))});
  return table.render();
}

std::string helps_text(const std::vector<Help>& helps) {
  if (helps.empty()) return "";
  Table table({{"what would help most", Align::left}, {"change", Align::left}, {"step"}, {"tokens/s"}});
  for (const Help& help : helps) {
    table.add({"  " + help.what, help.change, format(help.step_time), fmt::format("{:+.1f} %", 100 * help.gain)});
  }
  return table.render() + "\n";
}

/// What was left open: the best of each choice.
std::string open_text(const std::vector<Variant>& variants) {
  if (variants.empty()) return "";
  constexpr std::size_t most = 12;
  Table table({{"left open", Align::left}, {"step"}, {"MFU"}, {"memory"}, {"layout", Align::left}});
  std::size_t none = 0, shown = 0;
  for (const Variant& variant : variants) {
    none += variant.result.best.empty() ? 1 : 0;
    if (variant.result.best.empty() || ++shown > most) continue;
    const Prediction& p = variant.result.best.front().prediction;
    table.add({variant.words, format(p.step_time), format_percent(p.mfu), format(p.memory.reserved),
               describe_layout(p.layout)});
  }
  std::string out = table.render();
  if (shown > most) out += fmt::format("  and {} more; --json has all\n", shown - most);
  if (none > 0) out += fmt::format("  nothing runs with {} others\n", none);
  return out + "\n";
}

nlohmann::ordered_json open_json(const std::vector<Variant>& variants) {
  auto list = nlohmann::ordered_json::array();
  for (const Variant& variant : variants) {
    nlohmann::ordered_json entry = {{"choice", variant.words},
                                    {"precision", variant.job.precision.name},
                                    {"framework", variant.job.framework.name},
                                    {"best", nullptr}};
    if (!variant.result.best.empty())
      entry["best"] = nlohmann::ordered_json::parse(to_json(variant.result.best.front().prediction));
    list.push_back(std::move(entry));
  }
  return list;
}

/// Sentences under a title, each on lines of its own.
std::string said(const std::string& title, const std::vector<std::string>& sentences) {
  if (sentences.empty()) return "";
  std::string out = bold(title) + "\n";
  for (const std::string& sentence : sentences) out += wrap(sentence, 2);
  return out + "\n";
}

std::string alternatives_text(const Plan& plan) {
  std::string out;
  for (const auto& [title, sentences] : titled_alternatives(plan)) out += said(title, sentences);
  return out;
}

std::string why_not_text(const std::optional<WhyNot>& answer) { return answer ? said("Why not", {answer->words}) : ""; }

std::string work_text(const SearchResult& result) {
  const auto count = [](std::uint64_t n) { return with_commas(static_cast<long long>(n)); };
  return fmt::format("\n{} layouts timed and {} passed over by lower bounds, of {} considered, in {}\n",
                     count(result.evaluated), count(result.passed_over), count(result.considered),
                     format(result.search_time));
}

/// The run of each layout, best first; empty without --tokens.
std::vector<RunEstimate> runs_of(const Catalog& catalog, const Job& job, const SearchResult& result,
                                 const RunOptions& options, const RunAssumptions& assumptions) {
  std::vector<RunEstimate> runs;
  if (options.tokens.empty()) return runs;
  for (const Ranked& ranked : result.best) {
    const Job used = with_accelerators(job, ranked.prediction.layout.accelerators());
    runs.push_back(run_of(catalog, used, ranked.prediction, options, assumptions));
  }
  return runs;
}

nlohmann::ordered_json document_of(const Job& job, const Plan& plan, const std::vector<RunEstimate>& runs,
                                   const RunAssumptions& assumptions) {
  auto document = nlohmann::ordered_json::parse(to_json(plan));
  for (std::size_t i = 0; i < runs.size(); ++i) {
    document["layouts"][i]["run"] = nlohmann::ordered_json::parse(to_json(runs[i]));
    if (i == 0) document["best"]["run"] = document["layouts"][i]["run"];
  }
  if (!plan.result.best.empty()) {
    const Layout& best = plan.result.best.front().prediction.layout;
    const Job used = with_accelerators(job, best.accelerators());
    const auto set = [&](const char* key, const std::optional<NearestRun>& nearest) {
      if (nearest) document[key] = {{"id", nearest->id}, {"distance", nearest->distance}, {"words", nearest->words}};
    };
    set("nearest_run", nearest_run(used, best));
    set("nearest_own_run", nearest_own_run(used, best));
  }
  if (!runs.empty()) document["run_assumptions"] = assumption_lines(assumptions);
  return document;
}

/// What was measured that is most like the answer, under a title each.
std::vector<std::pair<std::string, std::string>> nearest_runs(const Job& job, const Layout& layout) {
  std::vector<std::pair<std::string, std::string>> out;
  if (const auto own = nearest_own_run(job, layout)) out.emplace_back("Nearest of your own runs", own->words);
  if (const auto nearest = nearest_run(job, layout)) out.emplace_back("Nearest published run", nearest->words);
  return out;
}

PlanPage page_of(const Job& job, const Plan& plan, const std::vector<RunEstimate>& runs,
                 const RunAssumptions& assumptions, const std::vector<std::string>& flags) {
  PlanPage page{.flags = flags};
  if (!runs.empty()) page.run = run_html(runs.front(), assumptions, "best/run/");
  if (plan.result.best.empty()) return page;
  const Layout& best = plan.result.best.front().prediction.layout;
  page.notes = nearest_runs(with_accelerators(job, best.accelerators()), best);
  return page;
}

void print_people(const Job& whole, const Plan& plan, const SearchOptions& options, const std::string& dialect,
                  const std::vector<RunEstimate>& runs) {
  const SearchResult& result = plan.result;
  const Prediction& best = result.best.front().prediction;
  const Job job = with_accelerators(whole, best.layout.accelerators());
  std::string out = job_text(job) + asked_for(result, options.objective) + "\n";
  if (result.interrupted) out += yellow("Interrupted: this is the best so far.") + "\n\n";
  out += bold("Recommended layout") + "\n" + summary_text(job, best) + "\n";
  out += waterfall_text(best) + "\n" + runners_up(result, options) + front_text(result, options);
  if (!plan.standings.words.empty()) out += said("Too close to call", {plan.standings.words});
  for (const auto& [title, words] : nearest_runs(job, best.layout)) out += said(title, {words});
  out += alternatives_text(plan) + why_not_text(plan.why_not) + helps_text(plan.helps);
  if (!runs.empty()) out += run_text(runs.front());
  if (!dialect.empty()) out += flags_text(job, best.layout, dialect);
  out += notes_text(best.warnings, result.assumptions) + work_text(result);
  std::cout << out;
}

bool has_flags(const Job& job, const Layout& layout, const std::string& dialect) {
  try {
    launcher_flags(job, layout, dialect);
    return true;
  } catch (const Error&) {
    return false;
  }
}

/// True where some plain layout has flags: what the launcher lacks is then the layout's, not the job's.
bool has_any_flags(const Job& job, const std::string& dialect) {
  for (const int zero_stage : {0, 1, 2, 3}) {
    for (const Recompute recompute : {Recompute::none, Recompute::full}) {
      if (has_flags(job, {.dp = job.accelerators, .zero_stage = zero_stage, .recompute = recompute}, dialect))
        return true;
    }
  }
  return false;
}

/// Where flags are asked for that the best layout lacks, only layouts that have them are searched. Throws Error where
/// the launcher has no key for something of the job.
void constrain_to_flags(const Job& job, const LayoutOutputs& outputs, SearchOptions& options) {
  if (outputs.flags.empty() && outputs.launch.empty()) return;
  const std::string dialect = outputs.flags;
  check_launch_ending(job, outputs.launch, dialect);  // refuses a bad dialect too, before the work
  const SearchResult found = search::search(job, best_only(options));
  if (found.best.empty()) return;
  const Layout& best = found.best.front().prediction.layout;
  if (has_flags(job, best, dialect)) return;
  if (!has_any_flags(job, dialect)) launcher_flags(job, best, dialect);  // refuses
  options.constraints.push_back({"flags of " + (dialect.empty() ? job.framework.name : dialect),
                                 [dialect](const Outcome& o) { return has_flags(o.job, o.layout, dialect); }});
}

/// Why nothing fits: memory, or else the rule that refuses most.
std::string no_layout(const Job& job, const SearchResult& result) {
  if (result.interrupted) return "interrupted before any layout was found";
  const auto refused_by = [&](std::string_view what) -> std::uint64_t {
    const auto row = std::ranges::find(result.refused, what, &std::pair<std::string, std::uint64_t>::first);
    return row == result.refused.end() ? 0 : row->second;
  };
  if (refused_by("memory limit") > 0) return "no layout fits into the memory that --max-memory leaves";
  const std::uint64_t host = refused_by("host memory"), device = refused_by("device memory");
  if (host > device)
    return "no layout fits: nodes lack host memory for what is moved there; more nodes, or fewer parts moved, may";
  if (device > 0) return "no layout fits into device memory; more devices or shorter sequences may";
  const std::string rule = result.refused.empty() ? "" : result.refused.front().first;
  std::string asked;
  for (const std::string& stated : result.stated) asked += (asked.empty() ? " with " : ", ") + stated;
  return fmt::format("no layout divides {} over {} accelerators with global batch {}{}{}", job.model.name,
                     job.accelerators, job.global_batch, asked,
                     rule.empty() ? "" : fmt::format("; most are refused by: {}", rule));
}

/// Prices and failures change nothing but runs, and orders by them.
void refuse_unused(const Options& options, const std::vector<Objective>& of_runs) {
  const std::string asked = options.search.objective + "," + options.search.pareto;
  const bool used = !options.run.tokens.empty() || std::ranges::any_of(of_runs, [&](const Objective& o) {
    return asked.find(o.name) != std::string::npos;
  });
  if (used) return;
  for (const auto& [flag, value] :
       {std::pair{"--gpu-hour", &options.run.gpu_hour}, {"--assume", &options.run.assume}}) {
    if (!value->empty())
      throw Error(flag, fmt::format("has a meaning with --tokens, or an objective of runs ({}) only",
                                    fmt::join(capacity::run_objective_names, ", ")));
  }
}

/// The job on the accelerators of its layout, whatever its layout.
Job without_layout(const Job& job) {
  if (!job.layout) return job;
  return with(job, [&](JobSpec& spec) {
    if (spec.cluster.accelerators == 0 && spec.cluster.nodes == 0) spec.cluster.accelerators = job.accelerators;
    spec.layout.reset();
  });
}

/// The layout that the file states, to be compared with the answer.
Filter layout_of(const Job& job) {
  Filter stated;
  if (!job.layout) return stated;
  for (const AxisRow& row : axis_rows()) {
    if (job.spec.layout->has(row.name)) stated.fix(row.axis, row.get(*job.layout), "layout");
  }
  return stated;
}

void run(const Options& options, const Globals& globals) {
  const Catalog catalog = load_catalog(globals.hardware);
  const Job described = make_job(job_spec(options.job), catalog);
  const Job stated = without_layout(described);
  if (!options.run.tokens.empty()) parse_tokens(options.run.tokens, "--tokens");
  const RunAssumptions assumptions = run_assumptions(options.run);
  const std::vector<Objective> of_runs = run_objectives(catalog, assumptions);
  refuse_unused(options, of_runs);
  PlanOptions wanted = plan_options(options.search, stated, of_runs);
  if (wanted.why_not.empty()) wanted.why_not = layout_of(described);
  constrain_to_flags(stated, options.outputs, wanted.search);
  const std::vector<Variant> variants = open_variants(options.search, stated, wanted.search);
  const Job job = variants.empty() ? stated : variants.front().job;
  if (!variants.empty()) wanted.search.space = variants.front().space;
  const Plan plan = plan_with_progress(job, wanted);
  const SearchResult& result = plan.result;
  const std::vector<RunEstimate> runs = runs_of(catalog, job, result, options.run, assumptions);
  std::vector<std::string> flags;
  if (!options.outputs.flags.empty() && !result.best.empty()) {
    const Layout& best = result.best.front().prediction.layout;
    flags = launcher_flags(with_accelerators(job, best.accelerators()), best, options.outputs.flags);
  }
  if (!options.outputs.html.empty())
    write_file(options.outputs.html, to_html(job, plan, page_of(job, plan, runs, assumptions, flags)));
  if (!options.outputs.launch.empty() && !result.best.empty()) {
    const Prediction& best = result.best.front().prediction;
    write_file(options.outputs.launch,
               launch_file(with_accelerators(job, best.layout.accelerators()), best, options.outputs.flags));
  }
  if (options.json) {
    auto document = document_of(job, plan, runs, assumptions);
    if (!variants.empty()) document["open"] = open_json(variants);
    if (!flags.empty()) {
      document["flags"] = flags;
      document["flags_release"] = launcher_release(job, options.outputs.flags);
    }
    print_json(document);
  } else if (!result.best.empty()) {
    std::cout << open_text(variants);
    print_people(job, plan, wanted.search, options.outputs.flags, runs);
  }
  if (result.best.empty()) {
    if (!options.json) {
      std::cout << job_text(job) << asked_for(result, wanted.search.objective) << "\n"
                << refusals(result) << "\n"
                << why_not_text(plan.why_not) << alternatives_text(plan);
    }
    throw Negative{no_layout(job, result)};
  }
}

}  // namespace

void add_plan(CLI::App& command, const Globals& globals) {
  auto options = std::make_shared<Options>();
  add_job_options(command, options->job);
  add_search_options(command, options->search);
  add_run_options(command, options->run);
  add_layout_outputs(command, options->outputs);
  command.add_flag("--json", options->json, "One JSON document on stdout");
  command.callback([options, &globals] { run(*options, globals); });
}

}  // namespace meshwright::cli
