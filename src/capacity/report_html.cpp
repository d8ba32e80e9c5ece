#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "meshwright/capacity/json.hpp"
#include "meshwright/capacity/report.hpp"
#include "meshwright/core/grouped.hpp"
#include "meshwright/core/html.hpp"
#include "meshwright/core/units.hpp"

namespace meshwright::capacity {
using namespace html;
namespace {

constexpr std::size_t most_rows = 500, most_bars = 15, most_cards = 10, most_flips = 3;

std::string dollars(double value) { return format(Dollars::base(value)); }

std::string days_with_band(const Result& r) {
  return fmt::format("{:.1f} ({:.1f} to {:.1f})", r.days, r.days_band.p10, r.days_band.p90);
}

std::string cost_with_band(const Result& r) {
  return fmt::format("{} ({} to {})", dollars(r.cost), dollars(r.cost_band.p10), dollars(r.cost_band.p90));
}

std::vector<std::string> result_cells(const Scenario& scenario, const Result& r) {
  if (!r.runs()) return {r.candidate, r.workload, r.refusal};
  return {r.candidate,
          r.workload,
          r.layout_text,
          fmt::format("{}", r.accelerators),
          days_with_band(r),
          fmt::format("{:.1f} %", r.goodput * 100),
          r.rented ? "rented" : dollars(r.capex),
          cost_with_band(r),
          dollars(r.usd_per_trillion_tokens),
          fmt::format("{:.2f}", r.power_mw),
          fmt::format("{:.0f}", r.energy_mwh),
          kept_limits(scenario, r)};
}

std::string results_section(const Report& report) {
  std::vector<std::vector<std::string>> rows = {{"candidate", "workload", "layout", "GPUs", "days (p10 to p90)",
                                                 "goodput", "purchase", "cost (p10 to p90)", "per T tokens", "MW",
                                                 "MWh", "limits"}};
  const std::vector<Result>& results = report.answer.results;
  for (std::size_t i = 0; i < results.size() && i < most_rows; ++i)
    rows.push_back(result_cells(report.scenario, results[i]));
  std::string out = "<h2>Results</h2>\n" + html_table(rows, 3);
  if (results.size() > most_rows)
    out += fmt::format("<p class=\"small\">The first {} of {} points; the CSV file has all.</p>\n", most_rows,
                       results.size());
  return out;
}

std::string summary_section(const Report& report) {
  std::string out = "<h2>Answer</h2>\n";
  for (const Best& best : report.answer.best) {
    out += "<div class=\"card\"><b>" + escaped(best.workload) + "</b>: ";
    const auto at = best.result ? best.result : best.unlimited;
    if (!at) {
      out += "no candidate can run it</div>\n";
      continue;
    }
    const Result& r = report.answer.results[*at];
    out += fmt::format("{}<b>{}</b>: {} days, {}, goodput {:.1f} %",
                       best.result ? "" : "<span class=\"no\">nothing keeps every limit; best without them:</span> ",
                       escaped(r.candidate), days_with_band(r), escaped(cost_with_band(r)), r.goodput * 100);
    for (const auto& [candidate, share] : best.chances) {
      if (candidate == r.candidate) out += fmt::format("; best in {:.0f} % of draws", share * 100);
    }
    out += fmt::format("<br>layout {} on {} GPUs", escaped(r.layout_text), r.accelerators);
    if (!best.sensitivity.empty()) {
      const Sensitivity& s = best.sensitivity.front();
      out += fmt::format("<br>moved most by {} from {} to {}", escaped(s.input), escaped(s.low_text),
                         escaped(s.high_text));
    }
    for (std::size_t i = 0; i < best.flips.size() && i < most_flips; ++i) {
      const Flip& f = best.flips[i];
      out += fmt::format("<br>{} wins beyond {} = {}", escaped(f.to), escaped(f.what), escaped(f.at_text));
    }
    out += "</div>\n";
  }
  // One page: the head of each answer; all of it stands further down.
  std::size_t left = most_cards;
  for (const Answer& a : report.answers) {
    if (left-- == 0) break;
    out += "<div class=\"card\"><b>" + escaped(a.name) + "</b>: " + escaped(a.lines.empty() ? "" : a.lines.front()) +
           (a.lines.size() > 1 ? " ..." : "") + "</div>\n";
  }
  if (report.answers.size() > most_cards)
    out += fmt::format("<p class=\"small\">and {} more answers below</p>\n", report.answers.size() - most_cards);
  return out;
}

std::string answers_section(const Report& report) {
  if (report.answers.empty()) return "";
  std::string out = "<h2>Questions</h2>\n";
  for (const Answer& a : report.answers) {
    out += "<div class=\"card\"><b>" + escaped(a.name) + "</b> (" + escaped(a.ask) + ")<br>";
    for (const std::string& line : a.lines) out += escaped(line) + "<br>";
    out += "</div>\n";
  }
  return out;
}

std::string pareto_section(const Report& report, const Best& best) {
  std::vector<ChartPoint> points;
  const std::vector<Result>& results = report.answer.results;
  for (std::size_t i = 0; i < results.size() && points.size() < 2000; ++i) {
    const Result& r = results[i];
    if (r.workload != best.workload || !r.runs()) continue;
    const bool on_front = std::ranges::find(best.pareto, i) != best.pareto.end();
    points.push_back({r.days, r.cost / 1e6, r.candidate, on_front});
  }
  return "<h2>Time against money: " + escaped(best.workload) + "</h2>\n" + scatter_chart(points, "days", "cost, M$");
}

std::string sensitivity_section(const Report& report, const Best& best) {
  const auto at = best.result ? best.result : best.unlimited;
  if (!at || best.sensitivity.empty()) return "";
  const Result& r = report.answer.results[*at];
  const bool by_cost = report.scenario.by_cost();
  std::vector<ChartBar> bars;
  for (const Sensitivity& s : best.sensitivity) {
    if (bars.size() == most_bars) break;
    const double low = by_cost ? s.at_low.cost / r.cost - 1 : s.at_low.days / r.days - 1;
    const double high = by_cost ? s.at_high.cost / r.cost - 1 : s.at_high.days / r.days - 1;
    bars.push_back({fmt::format("{} {} to {}", s.input, s.low_text, s.high_text), s.low_text, s.high_text, low, high});
  }
  std::string out = fmt::format("<h2>What moves the {} of {}: {}</h2>\n", by_cost ? "cost" : "time",
                                escaped(r.candidate), escaped(best.workload));
  out += tornado_chart(bars);
  if (best.flips.empty()) return out;
  std::vector<std::vector<std::string>> rows = {{"what", "at", "below or before", "beyond"}};
  for (const Flip& f : best.flips) rows.push_back({f.what, f.at_text, f.from, f.to});
  return out + "<p>Where the order changes:</p>\n" + html_table(rows, 4);
}

std::string with_unit(const Term& term) {
  if (term.unit == "J") return fmt::format("{:.4g} MWh", term.value / 3.6e9);
  if (term.unit == "kg") return fmt::format("{:.4g} t", term.value / 1000);
  return format_in(term.value, term.unit);
}

/// Parts of a whole, those that can be seen.
std::string parts_table(const std::string& title, const Term& whole) {
  std::vector<std::vector<std::string>> rows = {{title, "", "share"}};
  for (const Term& part : whole.parts) {
    const double share = whole.value > 0 ? part.value / whole.value : 0;
    if (std::abs(share) >= 5e-5) rows.push_back({part.name, with_unit(part), format_percent(share)});
  }
  return html_table(rows);
}

void add_terms(const Term& term, int depth, std::vector<std::vector<std::string>>& rows) {
  rows.push_back(
      {std::string(static_cast<std::size_t>(depth) * 2, ' ') + term.name, with_unit(term), term.formula, term.source});
  for (const Term& part : term.parts) add_terms(part, depth + 1, rows);
}

std::string terms_section(const Report& report) {
  std::string out = "<h2>Where every number comes from</h2>\n";
  for (std::size_t i = 0; i < report.explained.size(); ++i) {
    const Best& best = report.answer.best[i];
    const auto at = best.result ? best.result : best.unlimited;
    if (!at) continue;
    const ExplainedRun& e = report.explained[i];
    out += fmt::format("<details><summary>{} on {}</summary>\n", escaped(best.workload),
                       escaped(report.answer.results[*at].candidate));
    for (const Term* tree : {&e.step, &e.run.time, &e.run.cost, &e.run.capex, &e.power, &e.energy, &e.carbon}) {
      if (tree->name.empty()) continue;
      std::vector<std::vector<std::string>> rows = {{"term", "value", "formula", "source"}};
      add_terms(*tree, 0, rows);
      out += html_table(rows, 4);
    }
    out += "</details>\n";
  }
  out += "<details open><summary>Assumptions</summary>\n<ul class=\"small\">";
  for (const std::string& line : report.answer.assumptions) out += "<li>" + escaped(line) + "</li>\n";
  return out + "</ul></details>\n";
}

}  // namespace

std::vector<Fact> run_facts(const RunEstimate& e) {
  const bool priced = e.rented || e.unpriced.empty();
  std::vector<Fact> facts = {
      {"tokens", "tokens", e.tokens, fmt::format("{} in {} steps", format_count(e.tokens), with_commas(e.steps))},
      {"time", "days", e.wall.value() / 86400,
       fmt::format("{:.1f} days, {} GPU-hours", e.wall.value() / 86400, format_count(e.gpu_hours))},
      {"goodput", "goodput", e.goodput,
       fmt::format("{}, {:.0f} interruptions{}", format_percent(e.goodput), e.interruptions,
                   e.mtbf.value() > 0 ? fmt::format(", one in {}", format(e.mtbf)) : "")},
      {"checkpoint", "checkpoint_interval_s", e.checkpoint_interval.value(),
       fmt::format("{} every {}{}", format(e.checkpoint), format(e.checkpoint_interval),
                   e.peer_interval.value() > 0 ? fmt::format(", to a peer every {}", format(e.peer_interval)) : "")},
      {"step", "step_p50_s", e.step_p50.value(),
       fmt::format("median {}, p99 {} with stragglers; {} spare hosts", format(e.step_p50), format(e.step_p99),
                   e.spares)}};
  if (priced)
    facts.push_back(
        {"cost", "cost_usd", e.cost.value,
         fmt::format("{} {}, {} a trillion tokens", dollars(e.cost.value), e.rented ? "of rent" : "of an owned cluster",
                     format(Dollars::base(e.usd_per_trillion_tokens)))});
  else
    facts.push_back(
        {"cost", "", 0, fmt::format("not known: no price of {} (--assume, --gpu-hour)", e.unpriced.front())});
  if (!e.rented && priced) facts.push_back({"purchase", "capex_usd", e.capex.value, dollars(e.capex.value)});
  facts.push_back({"power", "power_mw", e.power.value() / 1e6,
                   fmt::format("{} at the meter, {} provisioned, {:.0f} MWh, {:.0f} t CO2e", format(e.power),
                               format(e.provisioned), e.energy.value() / 3.6e9, e.carbon_kg / 1000)});
  if (!e.power_known) facts.push_back({"", "", 0, "without the accelerators, whose power is not published"});
  return facts;
}

std::string run_html(const RunEstimate& e, const RunAssumptions& assumptions, const std::string& prefix) {
  std::vector<Fact> facts = run_facts(e);
  for (Fact& fact : facts) {
    if (!fact.key.empty()) fact.key = prefix + fact.key;
  }
  std::string out = "<h2>The run</h2>\n" + facts_table(facts) + parts_table("wall time", e.time);
  if (e.rented || e.unpriced.empty()) out += parts_table(e.rented ? "rent" : "cost", e.cost);
  out += "<details open><summary>What the run assumes</summary>\n<ul class=\"small\">";
  for (const std::string& line : assumption_lines(assumptions)) out += "<li>" + escaped(line) + "</li>\n";
  return out + "</ul></details>\n";
}

std::string to_html(const Report& report) {
  std::string body =
      "<h1>" + escaped(report.scenario.name) + "</h1>\n<p>" + escaped(report.scenario.description) + "</p>\n";
  // On paper the first page is the summary.
  body += summary_section(report) + "<div class=\"more\">\n" + results_section(report) + answers_section(report);
  for (const Best& best : report.answer.best) body += pareto_section(report, best) + sensitivity_section(report, best);
  body += terms_section(report) + "</div>\n";
  body +=
      "<p class=\"small\">Predictions of Meshwright. Prices are dated and of low confidence where they were not "
      "stated.</p>\n";
  return html_page(report.scenario.name, body);
}

}  // namespace meshwright::capacity
