// meshwright predict: one layout, explained.
#include <fmt/format.h>

#include <iostream>
#include <memory>

#include "command.hpp"
#include "layout_outputs.hpp"
#include "meshwright/core/units.hpp"
#include "meshwright/parallel/constraints.hpp"
#include "meshwright/parallel/job.hpp"
#include "meshwright/parallel/json.hpp"
#include "meshwright/parallel/launcher.hpp"
#include "meshwright/parallel/levers.hpp"
#include "meshwright/parallel/pipeline.hpp"
#include "meshwright/parallel/prediction.hpp"
#include "meshwright/parallel/report.hpp"
#include "prediction_text.hpp"
#include "table.hpp"
#include "trace_text.hpp"

namespace meshwright::cli {
namespace {

struct Options {
  std::string job, trace;
  LayoutOutputs outputs;
  std::vector<std::string> measured;
  bool json = false, explain = false;
};

void print_term(const Term& term, int depth, std::string& out) {
  std::string line =
      fmt::format("{}{}  {}", std::string(2 * depth + 2, ' '), term.name, format_in(term.value, term.unit));
  if (!term.formula.empty()) line += "  = " + term.formula;
  if (!term.source.empty()) line += "  [" + term.source + "]";
  out += line + "\n";
  for (const Term& part : term.parts) print_term(part, depth + 1, out);
}

void print_people(const Job& job, const Prediction& p, bool explained) {
  std::string out = job_text(job) + "\n" + summary_text(job, p) + "\n" + waterfall_text(p) + "\n" + memory_text(job, p);
  if (explained) {
    out += "\n" + bold("Terms") + "\n";
    print_term(explain(job, p), 0, out);
    print_term(explain_memory(job, p), 0, out);
  }
  const std::string notes = notes_text(p.warnings, p.assumptions);
  std::cout << out << (notes.empty() ? "" : "\n") << notes;
}

constexpr std::size_t shown_neighbours = 3, shown_levers = 5;

nlohmann::ordered_json levers_json(const std::vector<Lever>& levers) {
  nlohmann::ordered_json out = nlohmann::ordered_json::array();
  for (const Lever& lever : levers) {
    const Prediction& p = lever.prediction;
    out.push_back({{"change", lever.change},
                   {"layout", nlohmann::ordered_json::parse(to_json(p.layout))},
                   {"step_time_s", p.step_time.value()},
                   {"peak_memory_bytes", p.memory.reserved.value()},
                   {"fits_probability", p.fits_probability}});
  }
  return out;
}

std::string levers_text(const std::vector<Lever>& levers) {
  if (levers.empty()) return "  No layout near to it fits.\n";
  Table table({{"what would make it fit, fastest first", Align::left}, {"step"}, {"memory"}, {"fits"}});
  for (const Lever& lever : levers) {
    const Prediction& p = lever.prediction;
    table.add({lever.change, format(p.step_time), format(p.memory.reserved), format_percent(p.fits_probability)});
  }
  return table.fold(0).render();
}

/// Where memory refuses, the layouts that would fit in the order of their steps; else the nearest that run.
nlohmann::ordered_json violation_json(const Job& job, const Layout& layout, Rule refused, const Violation& words) {
  if (!of_memory(refused))
    return nlohmann::ordered_json::parse(to_json(words, nearest_layouts(job, layout, shown_neighbours)));
  const std::vector<Lever> levers = memory_levers(job, layout, shown_levers);
  std::vector<Layout> layouts;
  for (const Lever& lever : levers) layouts.push_back(lever.prediction.layout);
  nlohmann::ordered_json out = nlohmann::ordered_json::parse(to_json(words, layouts));
  out["levers"] = levers_json(levers);
  return out;
}

std::string violation_text(const Job& job, const Layout& layout, Rule refused, const Violation& words) {
  std::string out = bold("Cannot run") + "\n" + wrap(words.text(), 2);
  if (of_memory(refused)) return out + levers_text(memory_levers(job, layout, shown_levers));
  const std::vector<Layout> nearest = nearest_layouts(job, layout, shown_neighbours);
  out += nearest.empty() ? "  No layout near to it runs.\n" : "  The nearest layouts that run:\n";
  for (const Layout& near : nearest) out += wrap(describe_layout(near), 4);
  return out;
}

void add_measured(const Options& options, const Job& job, const Prediction& prediction,
                  nlohmann::ordered_json& document) {
  if (options.measured.empty()) return;
  document["measured"] = trace_json(compare_trace_files(options.measured, job, prediction));
}

/// A layout that the stack refuses has no time; one that lacks memory has, and what it would need.
void answer(const Options& options, const Job& job, const Layout& layout, Rule refused) {
  nlohmann::ordered_json document;
  std::string text;
  if (refused == nullptr || of_memory(refused)) {
    const Prediction prediction = predict(job, layout);
    if (!options.trace.empty()) write_file(options.trace, pipeline_trace(job, prediction));
    if (!options.outputs.launch.empty() && refused == nullptr)
      write_file(options.outputs.launch, launch_file(job, prediction, options.outputs.flags));
    if (!options.outputs.html.empty()) {
      const std::string words = refused == nullptr ? "" : violation_of(job, layout, refused).text();
      write_file(options.outputs.html, to_html(job, prediction, words));
    }
    if (options.json) {
      document = nlohmann::ordered_json::parse(to_json(prediction));
      document["explanation"] = nlohmann::ordered_json::parse(to_json(explain(job, prediction)));
      document["memory_explanation"] = nlohmann::ordered_json::parse(to_json(explain_memory(job, prediction)));
      add_measured(options, job, prediction, document);
      if (!options.outputs.flags.empty()) {
        document["flags"] = launcher_flags(job, prediction.layout, options.outputs.flags);
        document["flags_release"] = launcher_release(job, options.outputs.flags);
      }
    } else {
      print_people(job, prediction, options.explain);
      if (!options.outputs.flags.empty()) text += "\n" + flags_text(job, prediction.layout, options.outputs.flags);
      if (!options.measured.empty()) {
        text += "\n" + trace_text(compare_trace_files(options.measured, job, prediction));
      }
    }
  } else {
    document["layout"] = nlohmann::ordered_json::parse(to_json(complete(job, layout)));
    document["assumptions"] = job.assumptions;
    text = job_text(job);
  }
  if (refused != nullptr) {
    const Violation violation = violation_of(job, layout, refused);
    if (options.json) document["violation"] = violation_json(job, layout, refused, violation);
    text += "\n" + violation_text(job, layout, refused, violation);
  }
  options.json ? print_json(document) : void(std::cout << text);
}

void run(const Options& options, const Globals& globals) {
  const Job job = read_job(Reader::file(options.job), load_catalog(globals.hardware));
  if (!job.layout)
    throw Error(options.job + ":/layout",
                fmt::format("'layout' is missing or null, and predict looks at one layout; the best is searched by: "
                            "meshwright plan {}",
                            options.job));
  const Layout layout = *job.layout;
  if (!options.outputs.flags.empty() || !options.outputs.launch.empty()) {
    launcher_flags(job, layout, options.outputs.flags);  // a bad dialect prints nothing else
    check_launch_ending(job, options.outputs.launch, options.outputs.flags);
  }
  const Rule refused = refusal(job, layout);
  answer(options, job, layout, refused);
  if (refused != nullptr) throw Negative{"cannot run: " + violation_of(job, layout, refused).text()};
}

}  // namespace

void add_predict(CLI::App& command, const Globals& globals) {
  auto options = std::make_shared<Options>();
  command.add_option("job", options->job, "Job file: model, cluster, batch, sequence and one layout")
      ->required()
      ->type_name("JOB.json")
      ->check(some_text());
  command.add_option("--trace", options->trace, "Write the pipeline's timeline for Perfetto")
      ->type_name("FILE")
      ->check(output_file());
  command.add_option("--measured", options->measured, "Profiler traces of this job's ranks, laid beside it")
      ->type_name("TRACE.json.gz")
      ->check(some_text());
  add_layout_outputs(command, options->outputs);
  command.add_flag("--explain", options->explain, "Every term with its formula, parameter and source");
  command.add_flag("--json", options->json, "One JSON document on stdout");
  command.callback([options, &globals] { run(*options, globals); });
}

}  // namespace meshwright::cli
