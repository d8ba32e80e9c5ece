#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "capacity/run_fields.hpp"
#include "core/json_text.hpp"
#include "meshwright/capacity/json.hpp"
#include "meshwright/capacity/report.hpp"

namespace meshwright::capacity {
namespace {

using json = nlohmann::ordered_json;

json row_or_null(const Report& report, const std::optional<std::size_t>& at) {
  return at ? json::parse(to_json(report.answer.results[*at], report.scenario)) : json();
}

/// The run with every tree of terms.
json run_of(const ExplainedRun& e) {
  json run = json::parse(to_json(e.run));
  for (const auto& [key, tree] :
       {std::pair{"step", &e.step}, {"power", &e.power}, {"energy", &e.energy}, {"carbon", &e.carbon}})
    run[key] = json::parse(meshwright::to_json(*tree));
  return run;
}

json pareto_rows(const Report& report, const Best& best) {
  json rows = json::array();
  for (const std::size_t i : best.pareto) {
    const Result& r = report.answer.results[i];
    rows.push_back({{"workload", r.workload}, {"candidate", r.candidate}, {"days", r.days}, {"cost_usd", r.cost}});
  }
  return rows;
}

void append(json& to, const json& rows) { to.insert(to.end(), rows.begin(), rows.end()); }

json sensitivity_rows(const Best& best, const std::string& candidate) {
  json rows = json::array();
  for (const Sensitivity& s : best.sensitivity) {
    rows.push_back({{"workload", best.workload},
                    {"candidate", candidate},
                    {"input", s.input},
                    {"low", s.low},
                    {"high", s.high},
                    {"low_text", s.low_text},
                    {"high_text", s.high_text},
                    {"days_at_low", s.at_low.days},
                    {"days_at_high", s.at_high.days},
                    {"cost_usd_at_low", s.at_low.cost},
                    {"cost_usd_at_high", s.at_high.cost},
                    {"effect", s.effect}});
  }
  return rows;
}

/// A text that starts like a formula is none.
std::string cell(const std::string& text) {
  const bool formula = !text.empty() && std::string_view("=+-@\t\r").find(text.front()) != std::string_view::npos;
  std::string out = formula ? "'" + text : text;
  if (out.find_first_of(",\"\n\r") == std::string::npos) return out;
  std::string quoted = "\"";
  for (const char c : out) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

}  // namespace

Report make_report(const Scenario& scenario, const WhatIf& answer, const std::vector<Answer>& answers,
                   const hardware::Catalog& catalog) {
  Report report{scenario, answer, answers, {}};
  Planner planner(scenario, catalog, answer.plans);
  for (const Best& best : answer.best) {
    const auto at = best.result ? best.result : best.unlimited;
    report.explained.push_back(at ? explain_run(planner.plan(answer.results[*at].index)) : ExplainedRun{});
  }
  return report;
}

std::string to_json(const Report& report) {
  json results = json::array(), best = json::object(), unlimited = json::object(), chances = json::object();
  json pareto = json::array(), flips = json::array(), sensitivity = json::array(), answers = json::array();
  for (const Result& r : report.answer.results) results.push_back(json::parse(to_json(r, report.scenario)));
  for (std::size_t i = 0; i < report.answer.best.size(); ++i) {
    const Best& b = report.answer.best[i];
    best[b.workload] = row_or_null(report, b.result);
    unlimited[b.workload] = row_or_null(report, b.unlimited);
    const auto at = b.result ? b.result : b.unlimited;
    if (at) (b.result ? best : unlimited)[b.workload]["run"] = run_of(report.explained[i]);
    append(pareto, pareto_rows(report, b));
    for (const Flip& f : b.flips)
      flips.push_back({{"workload", f.workload},
                       {"what", f.what},
                       {"at", f.at},
                       {"at_text", f.at_text},
                       {"from", f.from},
                       {"to", f.to}});
    if (at) append(sensitivity, sensitivity_rows(b, report.answer.results[*at].candidate));
    for (const auto& [candidate, share] : b.chances) chances[b.workload][candidate] = share;
  }
  for (const Answer& a : report.answers)
    answers.push_back({{"name", a.name}, {"ask", a.ask}, {"lines", a.lines}, {"answer", json::parse(a.object)}});
  const json out = {{"scenario", report.scenario.name},
                    {"results", results},
                    {"best", best},
                    {"unlimited", unlimited},
                    {"pareto", pareto},
                    {"flips", flips},
                    {"sensitivity", sensitivity},
                    {"chances", chances},
                    {"answers", answers},
                    {"assumptions", report.answer.assumptions},
                    {"interrupted", report.answer.interrupted}};
  return json_text(out);
}

std::string to_csv(const WhatIf& answer, const Scenario& scenario) {
  std::string out = "candidate,workload,gpus,layout";
  for (const RunField& field : run_fields()) {
    if (field.in != nullptr) out += fmt::format(",{}", field.key);
  }
  out += ",violation";
  for (const Constraint& c : scenario.constraints)
    out += fmt::format(",meets_{}", limit_names[static_cast<std::size_t>(c.limit)]);
  out += "\r\n";
  for (const Result& r : answer.results) {
    out += fmt::format("{},{},{},{}", cell(r.candidate), cell(r.workload), r.accelerators, cell(r.layout_text));
    for (const RunField& field : run_fields()) {
      if (field.in == nullptr) continue;
      const bool there = r.runs() && !(field.known == Known::bought && r.rented);
      out += there ? fmt::format(",{:.10g}", field.in(const_cast<Result&>(r))) : ",";
    }
    out += "," + cell(r.refusal);
    for (const bool meets : r.meets) out += meets ? ",yes" : ",no";
    out += "\r\n";
  }
  return out;
}

}  // namespace meshwright::capacity
