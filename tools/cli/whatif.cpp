// meshwright whatif: candidate clusters against workloads, prices and failures.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>

#include "command.hpp"
#include "interrupt.hpp"
#include "meshwright/capacity/report.hpp"
#include "meshwright/core/units.hpp"
#include "output.hpp"
#include "prediction_text.hpp"
#include "progress.hpp"
#include "table.hpp"

namespace meshwright::cli {
namespace {

struct Options {
  std::string scenario, html, csv, store;
  int threads = 0;
  bool json = false;
};

constexpr std::size_t most_rows = 40;

std::string results_text(const Scenario& scenario, const WhatIf& answer, const Best& best) {
  std::vector<const Result*> rows;
  for (const Result& r : answer.results) {
    if (r.workload == best.workload) rows.push_back(&r);
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [&](const Result* a, const Result* b) { return better(scenario, *a, *b); });
  Table table({{best.workload, Align::left},
               {"GPUs"},
               {"days"},
               {"goodput"},
               {"purchase"},
               {"cost"},
               {"MW"},
               {"", Align::left}});
  for (std::size_t i = 0; i < rows.size() && i < most_rows; ++i) {
    const Result& r = *rows[i];
    if (!r.runs()) {
      table.add({r.candidate, with_commas(r.accelerators), "", "", "", "", "", r.refusal});
      continue;
    }
    table.add({r.candidate, with_commas(r.accelerators), fmt::format("{:.1f}", r.days), format_percent(r.goodput),
               r.rented ? "rented" : format(Dollars::base(r.capex)), format(Dollars::base(r.cost)),
               fmt::format("{:.2f}", r.power_mw), kept_limits(scenario, r)});
  }
  std::string out = table.render();
  if (rows.size() > most_rows)
    out += fmt::format("  and {} more; --json and --csv have all\n",
                       with_commas(static_cast<long long>(rows.size() - most_rows)));
  return out + "\n";
}

std::string verdict_text(const WhatIf& answer, const Best& best) {
  const auto at = best.result ? best.result : best.unlimited;
  if (!at) return fmt::format("{}: no candidate can run it\n", best.workload);
  const Result& r = answer.results[*at];
  std::string out =
      best.result ? bold(r.candidate) : yellow("nothing keeps every limit; best without them: ") + bold(r.candidate);
  out += fmt::format(": {:.1f} days ({:.1f} to {:.1f}), {} ({} to {})", r.days, r.days_band.p10, r.days_band.p90,
                     format(Dollars::base(r.cost)), format(Dollars::base(r.cost_band.p10)),
                     format(Dollars::base(r.cost_band.p90)));
  for (const auto& [candidate, share] : best.chances) {
    if (candidate == r.candidate) out += fmt::format(", best in {:.0f} % of draws", share * 100);
  }
  out += "\n" + wrap("layout " + r.layout_text, 2);
  std::string front;
  for (const std::size_t i : best.pareto)
    front += (front.empty() ? "" : "; ") + fmt::format("{} {:.1f} days {}", answer.results[i].candidate,
                                                       answer.results[i].days,
                                                       format(Dollars::base(answer.results[i].cost)));
  if (best.pareto.size() > 1) out += wrap("not beaten in both time and money: " + front, 2);
  for (std::size_t i = 0; i < best.flips.size() && i < 6; ++i) {
    const Flip& f = best.flips[i];
    out += wrap(fmt::format("{} wins beyond {} = {}", f.to, f.what, f.at_text), 2);
  }
  return out;
}

std::string tornado_text(const Scenario& scenario, const WhatIf& answer, const Best& best) {
  const auto at = best.result ? best.result : best.unlimited;
  if (!at || best.sensitivity.empty()) return "";
  const Result& r = answer.results[*at];
  const bool by_cost = scenario.by_cost();
  Table table({{fmt::format("what moves the {}", by_cost ? "cost" : "time"), Align::left},
               {"from"},
               {"to"},
               {"low"},
               {"high"},
               {"", Align::left}});
  for (std::size_t i = 0; i < best.sensitivity.size() && i < 10; ++i) {
    const Sensitivity& s = best.sensitivity[i];
    const double low = by_cost ? s.at_low.cost / r.cost - 1 : s.at_low.days / r.days - 1;
    const double high = by_cost ? s.at_high.cost / r.cost - 1 : s.at_high.days / r.days - 1;
    table.add({"  " + s.input, s.low_text, s.high_text, fmt::format("{:+.1f} %", low * 100),
               fmt::format("{:+.1f} %", high * 100), bar(s.effect / best.sensitivity.front().effect, 20)});
  }
  return table.render() + "\n";
}

void print_people(const Report& report) {
  const Scenario& scenario = report.scenario;
  std::string out =
      bold(scenario.name) + "\n" + (scenario.description.empty() ? "" : wrap(scenario.description)) + "\n";
  for (const Best& best : report.answer.best)
    out += results_text(scenario, report.answer, best) + verdict_text(report.answer, best) + "\n" +
           tornado_text(scenario, report.answer, best);
  for (const Answer& a : report.answers) {
    out += bold(a.name) + "\n";
    for (const std::string& line : a.lines) out += wrap(line, 2);
    out += "\n";
  }
  std::vector<std::string> stated;
  for (const Input& input : scenario.assumptions.inputs.rows()) {
    if (input.stated) stated.push_back(describe(input));
  }
  out += fmt::format("{} inputs are defaults with dated sources: --json and --html list them all\n",
                     report.answer.assumptions.size() - stated.size());
  std::cout << out;
}

/// Files that would write over each other, or over what is asked.
void check_outputs(const Options& options) {
  const std::pair<const char*, const std::string&> outputs[] = {
      {"--csv", options.csv}, {"--html", options.html}, {"--store", options.store}};
  std::error_code failed;
  for (const auto& [flag, file] : outputs) {
    if (file.empty()) continue;
    const std::filesystem::path path = std::filesystem::absolute(file, failed).lexically_normal();
    for (const auto& [other_flag, other] : outputs) {
      if (&other != &file && !other.empty() && std::filesystem::absolute(other, failed).lexically_normal() == path)
        throw Error(flag, fmt::format("{} is also the file of {}, expected another", file, other_flag));
    }
    if (std::filesystem::equivalent(path, options.scenario, failed))
      throw Error(flag, fmt::format("{} is the scenario itself, expected another file", file));
  }
}

void run(const Options& options, const Globals& globals) {
  check_outputs(options);
  const Catalog catalog = load_catalog(globals.hardware);
  const Scenario scenario = read_scenario(std::filesystem::path(options.scenario));
  WhatIfOptions wanted{.threads = options.threads, .store = options.store, .progress = {}};
  WhatIf answer;
  {
    const Interrupt interrupt;
    Progress shown("planning");
    wanted.progress = [&](std::uint64_t done, std::uint64_t total) {
      shown.show(done, total);
      return !interrupt.asked();
    };
    answer = run_whatif(scenario, catalog, wanted);
  }
  if (answer.interrupted && !options.store.empty())
    throw Negative{fmt::format("interrupted after {} of {} points; the same command goes on from there",
                               answer.results.size(), scenario.point_count())};
  if (answer.interrupted) throw Negative{"interrupted"};
  const std::vector<Answer> answers = answer_questions(scenario, catalog, answer.plans);
  const Report report = make_report(scenario, answer, answers, catalog);
  if (!options.csv.empty()) write_file(options.csv, to_csv(answer, scenario));
  if (!options.html.empty()) write_file(options.html, to_html(report));
  if (options.json)
    prints_data(), std::cout << to_json(report) << "\n";
  else
    print_people(report);
  if (std::none_of(answer.best.begin(), answer.best.end(), [](const Best& b) { return b.result.has_value(); }))
    throw Negative{"no candidate does any workload within the limits"};
}

}  // namespace

void add_whatif(CLI::App& command, const Globals& globals) {
  auto options = std::make_shared<Options>();
  command.add_option("scenario", options->scenario, "Candidates, workloads, prices, failures, limits: a JSON file")
      ->required()
      ->type_name("SCENARIO")
      ->check(some_text());
  command.add_flag("--json", options->json, "One JSON document on stdout");
  command.add_option("--csv", options->csv, "Also a table of all results")->type_name("FILE")->check(output_file());
  command.add_option("--html", options->html, "Also a page to mail: no scripts, nothing from elsewhere")
      ->type_name("FILE")
      ->check(output_file());
  command.add_option("--store", options->store, "Keep results here, and go on from them after an interruption")
      ->type_name("FILE")
      ->check(output_file());
  command.add_option("--threads", options->threads, "Threads; all cores by default")->check(whole_number(1, 1024));
  command.callback([options, &globals] { run(*options, globals); });
}

}  // namespace meshwright::cli
