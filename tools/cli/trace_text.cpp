#include "trace_text.hpp"

#include <fmt/format.h>

#include "meshwright/core/units.hpp"
#include "table.hpp"

namespace meshwright::cli {
namespace {

constexpr std::size_t ranks_shown = 4;

std::string seconds(double value) { return format(Seconds::base(value)); }

std::string ratio(double measured, double predicted) {
  return predicted > 0 && measured > 0 ? fmt::format("{:.2f}", measured / predicted) : "";
}

std::string rank_table(const RankComparison& r) {
  Table table({{fmt::format("rank {}, stage {}", r.traced.rank, r.stage), Align::left},
               {"measured"},
               {"predicted"},
               {"ratio"},
               {"share %"}});
  for (const TraceTerm& term : r.terms) {
    if (std::max(term.measured, term.predicted) < 1e-6 * r.traced.step) continue;
    table.add({term.name, seconds(term.measured), seconds(term.predicted), ratio(term.measured, term.predicted),
               fmt::format("{:.1f}", 100 * term.measured / r.traced.step)});
  }
  table.add({"step", seconds(r.traced.step), seconds(r.predicted_step), ratio(r.traced.step, r.predicted_step),
             fmt::format("{:.0f}", 100.0)});
  return table.render();
}

}  // namespace

TraceComparison compare_trace_files(const std::vector<std::string>& files, const Job& job,
                                    const Prediction& prediction) {
  std::vector<RankTrace> traces;
  for (const std::string& file : files) {
    std::vector<RankTrace> read = read_trace(file);
    std::move(read.begin(), read.end(), std::back_inserter(traces));
  }
  return compare_traces(job, prediction, traces);
}

std::string trace_text(const TraceComparison& c) {
  std::string out = bold("Measured beside predicted") + "\n";
  for (std::size_t i = 0; i < c.ranks.size() && i < ranks_shown; ++i) {
    out += rank_table(c.ranks[i]);
    for (const std::string& note : c.ranks[i].traced.notes) out += wrap("note: " + note, 2);
    out += "\n";
  }
  if (c.ranks.size() > ranks_shown) out += fmt::format("{} more ranks: see --json\n\n", c.ranks.size() - ranks_shown);
  if (c.findings.empty()) return out + "Nothing costs more than 2 % of the step beyond the prediction.\n";
  out += bold("Slow against the model") + "\n";
  for (const TraceFinding& f : c.findings) {
    out += wrap(fmt::format("{:+.0f} %  {}", 100 * f.share, f.words), 2);
    out += dim(wrap("check: " + f.check, 8));
  }
  return out;
}

nlohmann::ordered_json trace_json(const TraceComparison& c) {
  using Json = nlohmann::ordered_json;
  Json ranks = Json::array(), findings = Json::array();
  for (const RankComparison& r : c.ranks) {
    Json terms = Json::object();
    for (const TraceTerm& t : r.terms) terms[t.name] = {{"measured_s", t.measured}, {"predicted_s", t.predicted}};
    ranks.push_back({{"rank", r.traced.rank},
                     {"stage", r.stage},
                     {"steps", r.traced.steps},
                     {"step_time_s", r.traced.step},
                     {"predicted_step_time_s", r.predicted_step},
                     {"launches", r.traced.launches},
                     {"terms", std::move(terms)},
                     {"notes", r.traced.notes}});
  }
  for (const TraceFinding& f : c.findings) {
    Json finding = {
        {"cause", name(f.cause)}, {"seconds", f.seconds}, {"share", f.share}, {"words", f.words}, {"check", f.check}};
    if (!f.of.empty()) finding["of"] = f.of;
    if (f.rank >= 0) finding["rank"] = f.rank;
    if (f.stage >= 0) finding["stage"] = f.stage;
    findings.push_back(std::move(finding));
  }
  return {{"ranks", std::move(ranks)}, {"findings", std::move(findings)}};
}

}  // namespace meshwright::cli
