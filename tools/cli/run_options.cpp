#include "run_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "meshwright/capacity/json.hpp"
#include "meshwright/capacity/report.hpp"
#include "meshwright/core/units.hpp"
#include "prediction_text.hpp"
#include "table.hpp"

namespace meshwright::cli {
namespace {

std::string terms_text(const std::string& title, const Term& whole, bool money) {
  Table table({{title, Align::left}, {""}, {"share"}, {"", Align::left}});
  for (const Term& part : whole.parts) {
    const double share = whole.value > 0 ? part.value / whole.value : 0;
    if (std::abs(share) < 5e-5) continue;
    const std::string value = money ? format(Dollars::base(part.value)) : format(Seconds::base(part.value));
    table.add({"  " + part.name, value, format_percent(share), bar(std::max(share, 0.0), 40)});
  }
  return table.render();
}

StatedRun stated_run(const RunOptions& o, const capacity::Phase& whole) {
  if (o.assume.empty()) return {{}, {.phases = {whole}}};
  return read_stated_run(Reader::file(o.assume), whole);
}

}  // namespace

void add_run_options(CLI::App& command, RunOptions& o) {
  command.add_option("--tokens", o.tokens, "Tokens to train, 15T: also days, goodput, money, energy")
      ->type_name("COUNT")
      ->check(some_text());
  command.add_option("--gpu-hour", o.gpu_hour, "Rent of an accelerator: '2 USD/h'; bought by default")
      ->type_name("PRICE")
      ->check(some_text());
  command.add_option("--assume", o.assume, "Prices, failures, checkpoints, phases, ramp as in a scenario file")
      ->type_name("FILE")
      ->check(some_text());
}

RunAssumptions run_assumptions(const RunOptions& o) {
  RunAssumptions assumptions = stated_run(o, {}).assumptions;
  if (!o.gpu_hour.empty()) {
    const auto rate = parse_quantity<DollarsPerSecond::dimension>(o.gpu_hour, "--gpu-hour");
    assumptions.inputs.take_one(Reader::text(fmt::format("\"{:.17g} $/h\"", rate.value() * 3600), "--gpu-hour"),
                                "prices.gpu_hour");
  }
  return assumptions;
}

RunEstimate run_of(const Catalog& catalog, const Job& job, const Prediction& prediction, const RunOptions& options,
                   const RunAssumptions& assumptions) {
  const double tokens = parse_tokens(options.tokens, "--tokens");
  const RunSchedule schedule = stated_run(options, {"run", tokens, job.seq_len, job.global_batch}).schedule;
  const RunCase run = make_run(catalog, job, prediction, schedule, assumptions.checkpoint, "--tokens");
  RunAssumptions with_band = assumptions;
  with_band.inputs.set_range("step.time", run.step.p10, run.step.p90);
  RunEstimate estimate = estimate_run(run, with_band);
  if (!estimate.gets_done) throw Error("--tokens", why_never_done(estimate));
  return estimate;
}

std::string run_text(const RunEstimate& e) {
  Table table({{"", Align::left}, {"", Align::left}});
  for (const html::Fact& fact : run_facts(e)) table.add({fact.label, fact.text});
  std::string out = bold("Run") + "\n" + table.render() + "\n" + terms_text("wall time", e.time, false) + "\n";
  if (e.rented || e.unpriced.empty()) out += terms_text(e.rented ? "rent" : "cost", e.cost, true) + "\n";
  return out;
}

}  // namespace meshwright::cli
