// What own runs change, by leaving out each site in turn.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "calibrate/run_groups.hpp"
#include "calibrate/sites.hpp"
#include "meshwright/parallel/memory.hpp"

namespace meshwright::calibrate {
namespace {

constexpr int least_records = 5;

bool inside(double error, const Band& band) { return std::exp(error) >= band.low && std::exp(error) <= band.high; }

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
    Uncertainty u = uncertainty(with_own(run.job, fit), run.layout, own_spread, run.traits);
    u.log_time += expected(fit.known.discrepancy, u.place);
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

/// Logs of the site's peaks over what is predicted, of those runs that have one.
std::map<std::size_t, double> peak_errors(const Site& site, const OwnFit& fit) {
  std::map<std::size_t, double> errors;
  for (std::size_t i = 0; i < site.runs.size(); ++i) {
    const OwnRun& run = site.runs[i];
    if (run.peak) errors[i] = std::log(*run.peak / logged_peak(with_own(run.job, fit), run.layout));
  }
  return errors;
}

Band peak_band(const OwnRun& run, const OwnFit& fit, const Spread& spread) {
  const double own = with_own(run.job, fit).framework.work_memory_spread;
  return band_of(own > 0 ? own : spread.sum(run.traits, &TraitSpread::memory), spread.of_memory);
}

/// As gain_of(), of peaks: own runs are those of median error and of the quartiles among the runs with a peak.
OwnRunsGain peaks_gain(const Site& site, const Spread& spread, int count) {
  const std::map<std::size_t, double> errors = peak_errors(site, {});
  std::vector<std::size_t> order;
  for (const auto& [i, error] : errors) order.push_back(i);
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return errors.at(i); });
  const std::vector<std::size_t> chosen = own_of(order, count);
  std::vector<OwnRun> own;
  for (const std::size_t i : chosen) own.push_back(site.runs[i]);
  OwnFit fit;
  fit.memory = fit_own_memory(own, spread);
  const std::map<std::size_t, double> now = peak_errors(site, fit);
  std::vector<double> before, after, inside_before, inside_after;
  for (const auto& [i, error] : errors) {
    if (std::ranges::find(chosen, i) != chosen.end()) continue;
    before.push_back(std::abs(std::expm1(-error))), after.push_back(std::abs(std::expm1(-now.at(i))));
    inside_before.push_back(inside(error, peak_band(site.runs[i], {}, spread)) ? 1 : 0);
    inside_after.push_back(inside(now.at(i), peak_band(site.runs[i], fit, spread)) ? 1 : 0);
  }
  return {.own = count,
          .judged = static_cast<int>(before.size()),
          .before = mean(before),
          .after = mean(after),
          .inside_before = mean(inside_before),
          .inside_after = mean(inside_after)};
}

SiteCheck check_site(const Site& site, const Spread& spread, int records) {
  SiteCheck check{.site = site.name, .runs = records, .configurations = static_cast<int>(site.runs.size())};
  check.gains.push_back(gain_of(site, spread, 1));
  if (site.runs.size() > 3) check.gains.push_back(gain_of(site, spread, 3));
  const auto peaks = std::ranges::count_if(site.runs, [](const OwnRun& run) { return run.peak.has_value(); });
  if (peaks > 1) check.peaks.push_back(peaks_gain(site, spread, 1));
  if (peaks > 3) check.peaks.push_back(peaks_gain(site, spread, 3));
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

using Gains = std::vector<OwnRunsGain> SiteCheck::*;

/// The mean of what `at`-th gains say.
OwnRunsGain mean_gain(const std::vector<SiteCheck>& sites, Gains gains, std::size_t at, bool by_configurations) {
  const auto judged = [&](const SiteCheck& s) { return (s.*gains).size() > at ? (s.*gains)[at].judged : 0; };
  const auto weight = [&](const SiteCheck& s) { return by_configurations ? judged(s) : std::min(judged(s), 1); };
  const auto choosing = [&](const SiteCheck& s) { return judged(s) > 0 && (s.*gains)[at].chooses ? weight(s) : 0; };
  OwnRunsGain mean;
  for (const SiteCheck& s : sites) {
    mean.judged += judged(s);
    if (judged(s) > 0) mean.own = (s.*gains)[at].own, mean.chooses |= (s.*gains)[at].chooses;
  }
  using Member = double OwnRunsGain::*;
  for (const Member m :
       {&OwnRunsGain::before, &OwnRunsGain::after, &OwnRunsGain::inside_before, &OwnRunsGain::inside_after})
    mean.*m = over(
        sites, [&](const SiteCheck& s) { return (s.*gains)[at].*m; }, weight);
  for (const Member m : {&OwnRunsGain::regret_before, &OwnRunsGain::regret_after, &OwnRunsGain::hedged_before,
                         &OwnRunsGain::hedged_after})
    mean.*m = over(
        sites, [&](const SiteCheck& s) { return (s.*gains)[at].*m; }, choosing);
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
    for (std::size_t at = 0; at < 2; ++at) {
      row.gains.push_back(mean_gain(check.sites, &SiteCheck::gains, at, weighted));
      row.peaks.push_back(mean_gain(check.sites, &SiteCheck::peaks, at, weighted));
    }
    row.others = over(
        check.sites, [](const SiteCheck& s) { return s.others; },
        [&](const SiteCheck& s) { return weighted ? s.configurations : 1; });
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace meshwright::calibrate
