// meshwright predict: one layout, explained.
#include <fmt/format.h>

#include <memory>

#include "command.hpp"
#include "meshwright/core/units.hpp"
#include "meshwright/parallel/job.hpp"
#include "meshwright/parallel/json.hpp"
#include "meshwright/parallel/pipeline.hpp"
#include "meshwright/parallel/prediction.hpp"
#include "prediction_text.hpp"
#include "table.hpp"
#include "trace_text.hpp"

namespace meshwright::cli {
namespace {

struct Options {
  std::string job, trace;
  std::vector<std::string> measured;
  bool json = false, explain = false;
};

void print_term(const Term& term, int depth, std::string& out) {
  const Seconds value = Seconds::base(term.value);
  std::string line = fmt::format("{}{}  {}", std::string(2 * depth + 2, ' '), term.name, format(value));
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
  }
  const std::string notes = notes_text(p.warnings, p.assumptions);
  fmt::print("{}{}{}", out, notes.empty() ? "" : "\n", notes);
}

void run(const Options& options, const Globals& globals) {
  const Reader file = Reader::file(options.job);
  const Job job = read_job(file, load_catalog(globals.hardware));
  if (!job.layout) file.at("layout");  // refuses
  const Layout layout = *job.layout;
  const auto refused = violation(job, layout);
  if (refused && refused->rule != "device memory") file.at("layout").fail("cannot run: " + refused->text());
  const Prediction prediction = predict(job, layout);
  if (!options.trace.empty()) write_file(options.trace, pipeline_trace(job, prediction));
  if (options.json) {
    auto document = nlohmann::ordered_json::parse(to_json(prediction));
    document["explanation"] = nlohmann::ordered_json::parse(to_json(explain(job, prediction)));
    if (!options.measured.empty())
      document["measured"] = trace_json(compare_trace_files(options.measured, job, prediction));
    print_json(document);
  } else {
    print_people(job, prediction, options.explain);
    if (!options.measured.empty())
      fmt::print("\n{}", trace_text(compare_trace_files(options.measured, job, prediction)));
  }
}

}  // namespace

void add_predict(CLI::App& command, const Globals& globals) {
  auto options = std::make_shared<Options>();
  command.add_option("job", options->job, "Job file: model, cluster, batch, sequence and one layout")
      ->required()
      ->type_name("JOB.json");
  command.add_option("--trace", options->trace, "Write the pipeline's timeline for Perfetto")->type_name("FILE");
  command.add_option("--measured", options->measured, "Profiler traces of this job's ranks, laid beside it")
      ->type_name("TRACE.json.gz");
  command.add_flag("--explain", options->explain, "Every term with its formula, parameter and source");
  command.add_flag("--json", options->json, "One JSON document on stdout");
  command.callback([options, &globals] { run(*options, globals); });
}

}  // namespace meshwright::cli
