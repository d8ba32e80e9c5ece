// What own runs change, by leaving out each site in turn.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "calibrate/run_groups.hpp"
#include "calibrate/sites.hpp"

namespace meshwright::calibrate {
namespace {

constexpr int least_records = 5;
constexpr double visible = 0.01;  ///< of the step: a mean error that grows by more is worth a sentence

bool inside(double error, const Band& band) { return std::exp(error) >= band.low && std::exp(error) <= band.high; }

/// Which of a site's runs are own ones: that of median error; with three, those of the quartiles too.
std::vector<std::size_t> own_of(const std::vector<std::size_t>& order, int count) {
  const std::size_t n = order.size();
  if (count == 0) return {};
  if (count == 1) return {order[n / 2]};
  return {order[n / 4], order[n / 2], order[3 * n / 4]};
}

double mean(const std::vector<double>& values) {
  return values.empty() ? 0 : std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

/// What would be lost by the layouts that look best: measured time over the best measured one, less 1, of each job with
/// two layouts or more.
struct Regret {
  struct Layouts {
    std::vector<Uncertainty> predicted;
    std::vector<double> measured;  ///< logs
    double loss(std::size_t chosen) const { return std::expm1(measured[chosen] - *std::ranges::min_element(measured)); }
  };
  std::map<std::string, Layouts> jobs;

  void add(const RunRecord& run, Uncertainty predicted, double measured) {
    Layouts& layouts = jobs[job_of(run)];
    layouts.predicted.push_back(std::move(predicted));
    layouts.measured.push_back(measured);
  }
  bool chooses() const {
    return std::ranges::any_of(jobs, [](const auto& job) { return job.second.measured.size() > 1; });
  }
  /// The mean over jobs of what is lost by the layout for which `values` are least.
  template <class Values>
  double lost(Values&& values) const {
    std::vector<double> losses;
    for (const auto& [name, layouts] : jobs) {
      if (layouts.measured.size() < 2) continue;
      const std::vector<double> by = values(layouts.predicted);
      losses.push_back(layouts.loss(static_cast<std::size_t>(std::ranges::min_element(by) - by.begin())));
    }
    return mean(losses);
  }
  double fastest() const {
    return lost([](const std::vector<Uncertainty>& predicted) {
      std::vector<double> times;
      for (const Uncertainty& u : predicted) times.push_back(u.log_time);
      return times;
    });
  }
  double hedged(const Knowledge& known) const {
    return lost([&](const std::vector<Uncertainty>& predicted) { return expected_regrets(predicted, known); });
  }
};

/// Errors, shares inside and regret of a site with own runs, over the configurations that are judged.
struct Seen {
  double error = 0, inside = 0, regret = 0, hedged = 0;
  bool chooses = false;
};

Seen seen_with(const Site& site, const Spread& spread, std::span<const OwnRun> own, const std::vector<bool>& judged) {
  Spread own_spread = spread;
  own_spread.errors = site.errors;
  const OwnFit fit = fit_own(own, own_spread);
  std::vector<double> errors, within;
  Regret regret;
  for (std::size_t i = 0; i < site.runs.size(); ++i) {
    const OwnRun& run = site.runs[i];
    const Uncertainty u = uncertainty(with_own(run.job, fit), run.layout, own_spread, run.traits);
    const double predicted = u.log_time, measured = site.points[i]->log_measured;
    regret.add(*site.points[i]->run, u, measured);
    if (!judged[i]) continue;
    errors.push_back(std::abs(std::exp(predicted - measured) - 1));
    const Band band = own.empty() ? band_of(spread.sum(run.traits, &TraitSpread::total), spread.without_own_runs)
                                  : band_of(log_spread(u, fit.known), spread.with_own_runs);
    within.push_back(inside(measured - predicted, band) ? 1 : 0);
  }
  return {mean(errors), mean(within), regret.fastest(), regret.hedged(fit.known), regret.chooses()};
}

OwnRunsGain gain_of(const Site& site, const Spread& spread, int count) {
  std::vector<bool> judged(site.runs.size(), true);
  std::vector<OwnRun> own;
  for (const std::size_t i : own_of(by_error(site), count)) own.push_back(site.runs[i]), judged[i] = false;
  const Seen before = seen_with(site, spread, {}, judged), after = seen_with(site, spread, own, judged);
  return {.own = count,
          .judged = static_cast<int>(std::ranges::count(judged, true)),
          .before = before.error,
          .after = after.error,
          .inside_before = before.inside,
          .inside_after = after.inside,
          .chooses = after.chooses,
          .regret_before = before.regret,
          .regret_after = after.regret,
          .hedged_before = before.hedged,
          .hedged_after = after.hedged};
}

SiteCheck check_site(const Site& site, const Spread& spread, int records) {
  SiteCheck check{.site = site.name, .runs = records, .configurations = static_cast<int>(site.runs.size())};
  check.gains.push_back(gain_of(site, spread, 1));
  if (site.runs.size() > 3) check.gains.push_back(gain_of(site, spread, 3));
  std::vector<double> errors;
  for (const double left : left_by_others(linear_runs(site, spread))) errors.push_back(std::abs(std::exp(-left) - 1));
  check.others = mean(errors);
  return check;
}

std::vector<Coverage> coverage_of(const LeftOutSites& left_out, const std::vector<Spread>& by_fold) {
  std::vector<Coverage> rows;
  for (std::size_t w = 0; w < left_out_ways().size(); ++w) {
    const auto count = [&](const std::vector<LeftOutError>& errors, double TraitSpread::*member,
                           const Tails Spread::*tails, int& all) {
      double within = 0;
      for (const LeftOutError& e : errors) {
        if (e.way != w) continue;
        const Spread& spread = by_fold[fold_of(*e.point)];
        ++all;
        within += inside(e.error, band_of(spread.sum(e.traits, member), spread.*tails)) ? 1 : 0;
      }
      return all > 0 ? within / all : 0;
    };
    Coverage row{.left_out = left_out_ways()[w].name};
    row.inside = count(left_out.errors, &TraitSpread::total, &Spread::without_own_runs, row.runs);
    row.holding = count(left_out.memory, &TraitSpread::memory, &Spread::of_memory, row.peaks);
    rows.push_back(row);
  }
  return rows;
}

/// Mean of `value` over sites with a weight above 0.
template <class Value, class Weight>
double over(const std::vector<SiteCheck>& sites, Value&& value, Weight&& weight) {
  double sum = 0, weights = 0;
  for (const SiteCheck& s : sites) {
    if (weight(s) <= 0) continue;
    sum += weight(s) * value(s), weights += weight(s);
  }
  return weights > 0 ? sum / weights : 0;
}

/// The mean of what `at`-th gains say.
OwnRunsGain mean_gain(const std::vector<SiteCheck>& sites, std::size_t at, bool by_configurations) {
  const auto judged = [at](const SiteCheck& s) { return s.gains.size() > at ? s.gains[at].judged : 0; };
  const auto weight = [&](const SiteCheck& s) { return by_configurations ? judged(s) : std::min(judged(s), 1); };
  const auto choosing = [&](const SiteCheck& s) { return judged(s) > 0 && s.gains[at].chooses ? weight(s) : 0; };
  OwnRunsGain mean;
  for (const SiteCheck& s : sites) {
    mean.judged += judged(s);
    if (judged(s) > 0) mean.own = s.gains[at].own, mean.chooses |= s.gains[at].chooses;
  }
  using Member = double OwnRunsGain::*;
  for (const Member m :
       {&OwnRunsGain::before, &OwnRunsGain::after, &OwnRunsGain::inside_before, &OwnRunsGain::inside_after})
    mean.*m = over(
        sites, [&](const SiteCheck& s) { return s.gains[at].*m; }, weight);
  for (const Member m : {&OwnRunsGain::regret_before, &OwnRunsGain::regret_after, &OwnRunsGain::hedged_before,
                         &OwnRunsGain::hedged_after})
    mean.*m = over(
        sites, [&](const SiteCheck& s) { return s.gains[at].*m; }, choosing);
  return mean;
}

}  // namespace

OwnRunsCheck check_own_runs(std::span<const RunRecord> runs) {
  const LeftOutSites left_out = left_out_sites(runs);
  OwnRunsCheck check;
  check.spread = fit_spread(left_out, [](const RunPoint&) { return true; });
  std::vector<Spread> by_fold;
  for (std::size_t fold = 0; fold < source_folds; ++fold)
    by_fold.push_back(fit_spread(left_out, [&](const RunPoint& p) { return fold_of(p) != fold; }));
  check.coverage = coverage_of(left_out, by_fold);
  std::map<std::string, int> records;
  for (const RunRecord& run : runs) {
    if (!run.skipped && run.state.empty()) ++records[run.set + " | " + run.accelerator + " | " + run.framework];
  }
  for (const Site& site : left_out.sites) {
    if (records[site.name] < least_records || site.runs.size() < 2) continue;
    check.sites.push_back(check_site(site, by_fold[fold_of(*site.points.front())], records[site.name]));
  }
  std::ranges::stable_sort(check.sites, std::greater{}, &SiteCheck::runs);
  return check;
}

std::vector<SiteCheck> own_runs_means(const OwnRunsCheck& check) {
  std::vector<SiteCheck> rows;
  for (const bool weighted : {false, true}) {
    SiteCheck row{.site = weighted ? "mean over configurations" : "mean over sites"};
    for (const SiteCheck& s : check.sites) row.runs += s.runs, row.configurations += s.configurations;
    for (std::size_t at = 0; at < 2; ++at) row.gains.push_back(mean_gain(check.sites, at, weighted));
    row.others = over(
        check.sites, [](const SiteCheck& s) { return s.others; },
        [&](const SiteCheck& s) { return weighted ? s.configurations : 1; });
    rows.push_back(std::move(row));
  }
  return rows;
}

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
  const auto percent = [](double share) { return fmt::format("{:.1f}", 100 * share); };
  std::vector<std::string> cells = {fmt::format("{}", site.runs)}, inside = {percent(site.gains.front().inside_before)};
  for (std::size_t at = 0; at < 2; ++at) {
    if (at >= site.gains.size()) {
      cells.insert(cells.end(), 3, "-"), inside.emplace_back("-");
      continue;
    }
    const OwnRunsGain& g = site.gains[at];
    cells.insert(cells.end(), {fmt::format("{}", g.judged), percent(g.before), percent(g.after)});
    inside.push_back(percent(g.inside_after));
  }
  cells.push_back(percent(site.others));
  cells.insert(cells.end(), inside.begin(), inside.end());
  return cells;
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
  const auto line = [](const std::string& name, const std::vector<std::string>& cells) {
    return fmt::format("| {} | {} |\n", name, fmt::join(cells, " | "));
  };
  out += line("source, device, stack", own_runs_columns());
  for (std::size_t i = 0; i <= own_runs_columns().size(); ++i) out += "|---";
  out += "|\n";
  for (const SiteCheck& s : check.sites) {
    std::string name = s.site;
    for (std::size_t bar; (bar = name.find(" | ")) != std::string::npos;) name.replace(bar, 3, ", ");
    out += line(name, own_runs_cells(s));
  }
  for (const SiteCheck& s : own_runs_means(check)) out += line("**" + s.site + "**", own_runs_cells(s));
  return out + "\n" + own_runs_harm(check) + "\n\n" + own_runs_regret(check) + "\n";
}

}  // namespace meshwright::calibrate
