#include "meshwright/search/report.hpp"

#include <fmt/format.h>

#include "meshwright/core/html.hpp"
#include "meshwright/core/units.hpp"
#include "meshwright/parallel/report.hpp"

namespace meshwright::search {
using namespace html;
namespace {

std::string layouts_table(const SearchResult& result) {
  std::string out =
      "<h2>Layouts, best first</h2>\n<table><tr><th class=\"t\">layout</th><th>step</th><th>MFU</th>"
      "<th>memory</th><th class=\"t\">against the best</th></tr>\n";
  for (std::size_t i = 0; i < result.best.size(); ++i) {
    const Prediction& p = result.best[i].prediction;
    const auto cell = [&](std::string_view key, double value, const std::string& text) {
      return fmt::format("<td data-key=\"layouts/{}/{}\" data-value=\"{:.17g}\">{}</td>", i, key, value, escaped(text));
    };
    out += fmt::format(
        "<tr><td class=\"t\">{}</td>{}{}{}<td class=\"t\">{}</td></tr>\n", escaped(describe_layout(p.layout)),
        cell("step_time_s", p.step_time.value(), format(p.step_time)), cell("mfu", p.mfu, format_percent(p.mfu)),
        cell("peak_memory_bytes", p.memory.reserved.value(), format(p.memory.reserved)), escaped(result.best[i].why));
  }
  return out + "</table>\n";
}

std::string front_chart(const SearchResult& result) {
  if (result.pareto.size() < 2) return "";
  std::vector<ChartPoint> points;
  for (const Ranked& ranked : result.pareto)
    points.push_back({ranked.values[0], ranked.values[1], describe_layout(ranked.prediction.layout), false});
  return "<h2>What nothing beats in all</h2>\n" +
         scatter_chart(points, result.pareto_objectives[0], result.pareto_objectives[1]);
}

std::string helps_table(const std::vector<Help>& helps) {
  if (helps.empty()) return "";
  std::vector<std::vector<std::string>> rows = {{"what", "change", "step", "tokens/s"}};
  for (const Help& help : helps)
    rows.push_back({help.what, help.change, format(help.step_time), fmt::format("{:+.1f} %", 100 * help.gain)});
  return "<h2>What would help most</h2>\n" + html_table(rows, 2);
}

std::string paragraphs(std::string_view title, const std::vector<std::string>& sentences) {
  if (sentences.empty()) return "";
  std::string out = fmt::format("<h2>{}</h2>\n", title);
  for (const std::string& sentence : sentences) out += "<p>" + escaped(sentence) + "</p>\n";
  return out;
}

std::string flags_section(const std::vector<std::string>& flags) {
  if (flags.empty()) return "";
  std::string out = "<h2>Launch configuration</h2>\n<pre>";
  for (const std::string& flag : flags) out += escaped(flag) + "\n";
  return out + "</pre>\n";
}

std::string refusals(const SearchResult& result) {
  std::vector<std::vector<std::string>> rows = {{"refused by", "layouts"}};
  for (const auto& [rule, count] : result.refused) rows.push_back({rule, fmt::format("{}", count)});
  return "<h2>What refuses layouts</h2>\n" + html_table(rows);
}

}  // namespace

std::string to_html(const Job& whole, const Plan& plan, const PlanPage& page) {
  const SearchResult& result = plan.result;
  std::string others;
  for (const auto& [title, sentences] : titled_alternatives(plan)) others += paragraphs(title, sentences);
  const std::vector<std::string> why_not =
      plan.why_not ? std::vector<std::string>{plan.why_not->words} : std::vector<std::string>{};
  const Job job =
      result.best.empty() ? whole : with_accelerators(whole, result.best.front().prediction.layout.accelerators());
  std::string body = job_html(job);
  if (result.interrupted) body += "<p class=\"no\">Interrupted: this is the best so far.</p>\n";
  if (result.best.empty()) {
    body += "<p class=\"no\">No layout runs.</p>\n" + refusals(result) + others;
    body += paragraphs("Why not", why_not) + assumptions_html({}, result.assumptions);
    return html_page(whole.model.name, body);
  }
  const Prediction& best = result.best.front().prediction;
  body += "<h2>Recommended layout</h2>\n" + prediction_html(job, best, "best/") + page.run + layouts_table(result) +
          front_chart(result);
  if (!plan.standings.words.empty()) body += paragraphs("Too close to call", {plan.standings.words});
  for (const auto& [title, sentence] : page.notes) body += paragraphs(title, {sentence});
  body += others + paragraphs("Why not", why_not) + helps_table(plan.helps);
  body += flags_section(page.flags) + assumptions_html(best.warnings, result.assumptions);
  return html_page(fmt::format("{} on {}", job.model.name, job.cluster.name), body);
}

}  // namespace meshwright::search
