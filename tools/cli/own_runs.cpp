#include "own_runs.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "meshwright/parallel/json.hpp"
#include "meshwright/search/search.hpp"
#include "table.hpp"

namespace meshwright::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr double tells = 0.05;  ///< of a figure's variance, taken away: below, a table leaves it out

std::string percent(double share) { return fmt::format("{:.1f}", 100 * share); }

}  // namespace

std::vector<NextRun> runs_to_make(const Job& job, const OwnFit& fit) {
  constexpr int plausible = 12;
  SearchOptions options;
  options.top = plausible;
  std::vector<Layout> candidates;
  for (const Ranked& ranked : search::search(with_own(job, fit), options).best)
    candidates.push_back(ranked.prediction.layout);
  return next_runs(job, candidates, fit);
}

std::string own_fit_text(const OwnFit& fit, std::span<const NextRun> next) {
  std::vector<OwnFigure> figures = fit.figures;
  std::ranges::stable_sort(figures, std::greater{}, &OwnFigure::told);
  Table table(
      {{"of", Align::left}, {"figure", Align::left}, {"before"}, {"after"}, {"+-% before"}, {"+-% after"}, {"told %"}});
  std::size_t shown = 0;
  for (const OwnFigure& f : figures) {
    if (f.told() < tells && shown > 0) continue;
    ++shown;
    table.add({f.owner, f.field, fmt::format("{:.4g}", f.before), fmt::format("{:.4g}", f.after),
               fmt::format("{:.0f}", 100 * f.spread_before), fmt::format("{:.0f}", 100 * f.spread_after),
               fmt::format("{:.0f}", 100 * f.told())});
  }
  std::string out = table.render() + "\n";
  out += wrap(fmt::format(
      "{} run{}: mean error {} % before, {} % after. Told: share of a figure's variance that the runs took away; {} "
      "figures of which they tell less than {:.0f} % are left out, and stay about where they were.",
      fit.runs, fit.runs == 1 ? "" : "s", percent(fit.error_before), percent(fit.error_after), figures.size() - shown,
      100 * tells));
  if (fit.within_noise) {
    out += wrap(
        "The runs are off by no more than single runs of published sites are when all else is known: no figure moved, "
        "bands are narrower.");
  }
  for (const OwnMemory& m : fit.memory) {
    out +=
        wrap(fmt::format("Memory of {}: {} peak{}, mean error {} % before, {} % after: activations, logits and buffers "
                         "take {:.3g} times "
                         "what operators keep. A peak is sure to {:.0f} % (before: {:.0f} %).",
                         m.owner, m.runs, m.runs == 1 ? "" : "s", percent(m.error_before), percent(m.error_after),
                         m.after, 100 * m.spread_after, 100 * m.spread_before));
  }
  if (next.empty()) return out;
  out += "\n";
  Table runs({{"measured next, these would tell most", Align::left}, {"bands narrower by %"}});
  for (const NextRun& n : next) runs.add({"  " + describe_layout(n.layout), percent(n.reduction)});
  return out + runs.render();
}

Json next_runs_json(std::span<const NextRun> next) {
  Json out = Json::array();
  for (const NextRun& n : next) out.push_back({{"layout", Json::parse(to_json(n.layout))}, {"reduction", n.reduction}});
  return out;
}

namespace {

/// A row a site that has cells, then the means.
template <class Cells>
std::string sites_text(const OwnRunsCheck& check, const std::vector<std::string>& names, const Cells& cells) {
  std::vector<Column> columns = {{"source | device | stack", Align::left}};
  for (const std::string& name : names) columns.push_back({name});
  Table sites(columns);
  const auto add = [&](const SiteCheck& s) {
    std::vector<std::string> row = cells(s);
    if (row.empty()) return;
    row.insert(row.begin(), s.site);
    sites.add(row);
  };
  std::ranges::for_each(check.sites, add);
  std::ranges::for_each(own_runs_means(check), add);
  return sites.render(140);
}

}  // namespace

std::string own_check_text(const OwnRunsCheck& check) {
  Table coverage({{"left out in turn", Align::left},
                  {"runs"},
                  {"within P10 to P90, %"},
                  {"memory peaks"},
                  {"within P10 to P90, %"}});
  for (const Coverage& c : check.coverage) {
    coverage.add({"each " + c.left_out, fmt::format("{}", c.runs), percent(c.inside), fmt::format("{}", c.peaks),
                  percent(c.holding)});
  }
  return coverage.render() + "\n" + sites_text(check, own_runs_columns(), own_runs_cells) + "\n" +
         dim(wrap("Mean error in % of each site's other configurations, by a fit without the site, then with one and "
                  "three runs of its own; of each where all others of the site are own runs; and the share of them "
                  "within P10 to P90.")) +
         "\n" + wrap(own_runs_harm(check)) + "\n" + wrap(own_runs_regret(check)) + "\n" +
         sites_text(check, own_peaks_columns(), own_peaks_cells) + "\n" +
         dim(wrap("Peaks of device memory: the same, of sites with two or more."));
}

Json own_check_json(const OwnRunsCheck& check) {
  Json out = {{"coverage", Json::array()}, {"sites", Json::array()}, {"means", Json::array()}};
  for (const Coverage& c : check.coverage)
    out["coverage"].push_back({{"left_out", c.left_out},
                               {"runs", c.runs},
                               {"inside", c.inside},
                               {"peaks", c.peaks},
                               {"peaks_inside", c.holding}});
  const auto gain = [](const OwnRunsGain& g) {
    Json said = {{"own", g.own},
                 {"judged", g.judged},
                 {"error", {{"before", g.before}, {"after", g.after}}},
                 {"inside", {{"before", g.inside_before}, {"after", g.inside_after}}}};
    if (g.chooses) {
      said["regret"] = {{"before", g.regret_before}, {"after", g.regret_after}};
      said["hedged"] = {{"before", g.hedged_before}, {"after", g.hedged_after}};
    }
    return said;
  };
  const auto site = [&](const SiteCheck& s) {
    Json said = {{"site", s.site}, {"runs", s.runs}, {"configurations", s.configurations}, {"all_others", s.others}};
    for (const OwnRunsGain& g : s.gains) said["own_runs"].push_back(gain(g));
    for (const OwnRunsGain& g : s.peaks) said["own_peaks"].push_back(gain(g));
    return said;
  };
  for (const SiteCheck& s : check.sites) out["sites"].push_back(site(s));
  for (const SiteCheck& s : own_runs_means(check)) out["means"].push_back(site(s));
  return out;
}

}  // namespace meshwright::cli
