#pragma once
// A scenario's answer to mail: one JSON document, a table for spreadsheets, a page that needs nothing else.
#include <string>
#include <vector>

#include "meshwright/capacity/explain.hpp"
#include "meshwright/capacity/questions.hpp"
#include "meshwright/core/html.hpp"

namespace meshwright::capacity {

/// Days, goodput, money and power of a run in words, by the keys of its JSON.
std::vector<html::Fact> run_facts(const RunEstimate& estimate);
/// The same as a section of a page, where its time and its money go, and what it assumes. `prefix` stands before the
/// keys ("best/run/").
std::string run_html(const RunEstimate& estimate, const RunAssumptions& assumptions, const std::string& prefix);

/// What was asked and answered.
struct Report {
  const Scenario& scenario;
  const WhatIf& answer;
  const std::vector<Answer>& answers;
  /// Terms of the best of each workload, in the order of `answer.best`; without a run where nothing fits.
  std::vector<ExplainedRun> explained;
};
/// With the best of each workload explained.
Report make_report(const Scenario& scenario, const WhatIf& answer, const std::vector<Answer>& answers,
                   const hardware::Catalog& catalog);

/// {"scenario", "results" [...], "best" {workload: result or null}, "unlimited" {workload: result or null}, "pareto",
/// "flips", "sensitivity", "chances", "answers", "assumptions", "interrupted"}.
std::string to_json(const Report& report);
/// One line a result, RFC 4180; a text that a spreadsheet would take for a formula gets an apostrophe in front.
std::string to_csv(const WhatIf& answer, const Scenario& scenario);
/// A page without scripts or anything from elsewhere: tables, charts as SVG, every term with its formula and source.
/// Names are escaped.
std::string to_html(const Report& report);

}  // namespace meshwright::capacity
