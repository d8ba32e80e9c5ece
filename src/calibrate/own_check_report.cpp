// What own runs change, in words and tables.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "meshwright/calibrate/spread_fit.hpp"

namespace meshwright::calibrate {
namespace {

constexpr double visible = 0.01;  ///< of the step: a mean error that grows by more is worth a sentence

std::string percent(double share) { return fmt::format("{:.1f}", 100 * share); }

/// How many are judged, before and after one own run and three, and the share inside before any, after one and three.
std::vector<std::string> cells_of(const std::vector<OwnRunsGain>& gains, const std::string& between) {
  std::vector<std::string> cells, inside = {gains.empty() ? "-" : percent(gains.front().inside_before)};
  for (std::size_t at = 0; at < 2; ++at) {
    if (at >= gains.size()) {
      cells.insert(cells.end(), 3, "-"), inside.emplace_back("-");
      continue;
    }
    cells.insert(cells.end(),
                 {fmt::format("{}", gains[at].judged), percent(gains[at].before), percent(gains[at].after)});
    inside.push_back(percent(gains[at].inside_after));
  }
  if (!between.empty()) cells.push_back(between);
  cells.insert(cells.end(), inside.begin(), inside.end());
  return cells;
}

std::string row_of(const std::string& name, const std::vector<std::string>& cells) {
  return fmt::format("| {} | {} |\n", name, fmt::join(cells, " | "));
}

/// A row a site, then the means.
template <class Cells>
std::string table_of(const OwnRunsCheck& check, const std::vector<std::string>& columns, const Cells& cells) {
  std::string out = row_of("source, device, stack", columns);
  for (std::size_t i = 0; i <= columns.size(); ++i) out += "|---";
  out += "|\n";
  for (const SiteCheck& s : check.sites) {
    const std::vector<std::string> row = cells(s);
    std::string name = s.site;
    for (std::size_t bar; (bar = name.find(" | ")) != std::string::npos;) name.replace(bar, 3, ", ");
    if (!row.empty()) out += row_of(name, row);
  }
  for (const SiteCheck& s : own_runs_means(check)) out += row_of("**" + s.site + "**", cells(s));
  return out;
}

}  // namespace

std::string own_runs_harm(const OwnRunsCheck& check) {
  int worse = 0, visibly = 0;
  double most = 0;
  for (const SiteCheck& s : check.sites) {
    const double grown = s.gains.front().after - s.gains.front().before;
    worse += grown > 1e-9 ? 1 : 0, visibly += grown > visible ? 1 : 0;
    most = std::max(most, grown);
  }
  return fmt::format(
      "One own run makes the mean error of {} of {} sites larger, of {} by more than {:.0f} % of the step (at most "
      "{:.1f} "
      "%).",
      worse, check.sites.size(), visibly, 100 * visible, 100 * most);
}

std::string own_runs_regret(const OwnRunsCheck& check) {
  const std::vector<OwnRunsGain> gains = own_runs_means(check).front().gains;
  const auto jobs_of = [&](double OwnRunsGain::*before, double OwnRunsGain::*after) {
    return fmt::format("{:.1f} % before, {:.1f} % after one own run, {:.1f} % after three", 100 * gains[0].*before,
                       100 * gains[0].*after, 100 * gains[1].*after);
  };
  const auto sites = std::ranges::count_if(check.sites, [](const SiteCheck& s) { return s.gains.front().chooses; });
  return fmt::format(
      "Regret, the measured time of the layout that looks best over that of the best measured one, mean over the {} "
      "sites with jobs of two layouts or more under one release: {}. By least expected regret (`--objective regret`) "
      "in "
      "place of least predicted time: {}.",
      sites, jobs_of(&OwnRunsGain::regret_before, &OwnRunsGain::regret_after),
      jobs_of(&OwnRunsGain::hedged_before, &OwnRunsGain::hedged_after));
}

std::vector<std::string> own_runs_columns() {
  return {"runs",  "others of one", "before", "after", "of three", "before",
          "after", "all others",    "inside", "one",   "three"};
}

std::vector<std::string> own_runs_cells(const SiteCheck& site) {
  std::vector<std::string> cells = cells_of(site.gains, percent(site.others));
  cells.insert(cells.begin(), fmt::format("{}", site.runs));
  return cells;
}

std::vector<std::string> own_peaks_columns() {
  return {"others of one", "before", "after", "of three", "before", "after", "inside", "one", "three"};
}

std::vector<std::string> own_peaks_cells(const SiteCheck& site) {
  return site.peaks.empty() ? std::vector<std::string>{} : cells_of(site.peaks, "");
}

std::string own_runs_markdown(const OwnRunsCheck& check) {
  std::string out =
      "## Bands\n\nRuns within P10 to P90, groups of one kind left out in turn; the widths of the bands come from the "
      "other four fifths of the sources: of step times, and of peaks of device memory.\n\n"
      "| left out | runs | inside, % | peaks | inside, % |\n|---|---|---|---|---|\n";
  for (const Coverage& c : check.coverage) {
    out += fmt::format("| each {} | {} | {:.1f} | {} | {:.1f} |\n", c.left_out, c.runs, 100 * c.inside, c.peaks,
                       100 * c.holding);
  }
  out +=
      "\n## Own runs\n\nEach site (a source's runs of one device and stack, five records or more) predicted by a fit "
      "without it; then with one run of its own, that of median error, and with three, those of the quartiles too. "
      "Mean error in % over the site's other configurations, the same ones before and after. *All others*: the error "
      "of each configuration where all others of the site are own runs (linearised): what no number of own runs "
      "mends. Then the share within P10 to P90, in %.\n\n";
  out += table_of(check, own_runs_columns(), own_runs_cells);
  out += "\n" + own_runs_harm(check) + "\n\n" + own_runs_regret(check) + "\n";
  out +=
      "\n### Peaks of device memory\n\nOf the same sites, those with two peaks or more: with the peak of median error "
      "as "
      "an own run, then with those of the quartiles too. Mean error in % over the other peaks of the site, and the "
      "share of them within P10 to P90. A peak moves the memory of its own model, sequence, format and kind of "
      "training "
      "alone.\n\n";
  return out + table_of(check, own_peaks_columns(), own_peaks_cells);
}

}  // namespace meshwright::calibrate
