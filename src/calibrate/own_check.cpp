// What own runs change, by leaving out each site in turn.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "calibrate/sites.hpp"

namespace meshwright::calibrate {
namespace {

constexpr std::size_t folds = 5;
constexpr int least_records = 5;

std::size_t fold_of(const RunPoint& p) {
  return std::accumulate(p.set.begin(), p.set.end(), std::size_t{0},
                         [](std::size_t h, char c) { return 31 * h + static_cast<unsigned char>(c); }) %
         folds;
}

bool inside(double error, const Band& band) { return std::exp(error) >= band.low && std::exp(error) <= band.high; }

/// Which of a site's runs are own ones: that of median error; with three, those of the quartiles too.
std::vector<std::size_t> own_of(const std::vector<std::size_t>& order, int count) {
  const std::size_t n = order.size();
  if (count == 0) return {};
  if (count == 1) return {order[n / 2]};
  return {order[n / 4], order[n / 2], order[3 * n / 4]};
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

  void add(const Job& job, Uncertainty predicted, double measured) {
    Layouts& layouts = jobs[fmt::format("{}|{}|{}|{}|{}", job.model.name, job.seq_len, job.global_batch,
                                        job.accelerators, job.precision.name)];
    layouts.predicted.push_back(std::move(predicted));
    layouts.measured.push_back(measured);
  }
  /// By least predicted time, and by least expected regret.
  void losses(const Knowledge& known, std::vector<double>& fastest, std::vector<double>& hedged) const {
    for (const auto& [name, layouts] : jobs) {
      if (layouts.measured.size() < 2) continue;
      const auto least = [](const auto& values, auto&& by) {
        return static_cast<std::size_t>(std::ranges::min_element(values, {}, by) - values.begin());
      };
      fastest.push_back(layouts.loss(least(layouts.predicted, &Uncertainty::log_time)));
      hedged.push_back(layouts.loss(least(expected_regrets(layouts.predicted, known), std::identity{})));
    }
  }
};

double mean(const std::vector<double>& values) {
  return values.empty() ? 0 : std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

/// The site's runs as predicted after `count` own ones.
void check_after(const Site& site, const Spread& spread, int count, const std::vector<bool>& judged, SiteCheck& check) {
  Spread own_spread = spread;
  own_spread.errors = site.errors;
  std::vector<OwnRun> own;
  for (const std::size_t i : own_of(by_error(site), count)) own.push_back(site.runs[i]);
  const OwnFit fit = fit_own(own, own_spread);
  std::vector<double> errors, within;
  Regret regret;
  std::vector<double> fastest, hedged;
  for (std::size_t i = 0; i < site.runs.size(); ++i) {
    const OwnRun& run = site.runs[i];
    const Job job = with_own(run.job, fit);
    const Uncertainty u = uncertainty(job, run.layout, own_spread, run.traits);
    const double predicted = u.log_time, measured = site.points[i]->log_measured;
    regret.add(job, u, measured);
    if (!judged[i]) continue;
    errors.push_back(std::abs(std::exp(predicted - measured) - 1));
    const Band band = count == 0 ? band_of(spread.sum(run.traits, &TraitSpread::total), spread.without_own_runs)
                                 : band_of(log_spread(u, fit.known), spread.with_own_runs);
    within.push_back(inside(measured - predicted, band) ? 1 : 0);
  }
  check.error.push_back(mean(errors));
  check.inside.push_back(mean(within));
  regret.losses(fit.known, fastest, hedged);
  if (!fastest.empty()) check.regret.push_back(mean(fastest)), check.hedged.push_back(mean(hedged));
}

SiteCheck check_site(const Site& site, const Spread& spread, int records) {
  SiteCheck check{.site = site.name, .runs = records, .configurations = 0};
  const std::size_t n = site.runs.size();
  std::vector<bool> judged(n, true);
  const std::vector<std::size_t> order = by_error(site);
  // Of small sites three own runs leave nothing to judge: those are judged after one.
  const int most = n > 3 ? 3 : 1;
  for (const std::size_t i : own_of(order, most)) judged[i] = false;
  check.configurations = static_cast<int>(std::ranges::count(judged, true));
  for (const int count : {0, 1, 3}) {
    if (count <= most) check_after(site, spread, count, judged, check);
  }
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

double configurations(const SiteCheck& s) { return s.configurations; }

/// Mean of a member over sites, the same for each or by their configurations.
double over(std::span<const SiteCheck> sites, std::vector<double> SiteCheck::*member, std::size_t at, bool weighted) {
  double sum = 0, weights = 0;
  for (const SiteCheck& s : sites) {
    if ((s.*member).size() <= at) continue;
    const double weight = weighted ? configurations(s) : 1;
    sum += weight * (s.*member)[at], weights += weight;
  }
  return weights > 0 ? sum / weights : 0;
}

}  // namespace

OwnRunsCheck check_own_runs(std::span<const RunRecord> runs) {
  const LeftOutSites left_out = left_out_sites(runs);
  OwnRunsCheck check;
  check.spread = fit_spread(left_out, [](const RunPoint&) { return true; });
  std::vector<Spread> by_fold;
  for (std::size_t fold = 0; fold < folds; ++fold)
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
    for (const auto member : {&SiteCheck::error, &SiteCheck::inside, &SiteCheck::regret, &SiteCheck::hedged}) {
      for (std::size_t at = 0; at < 3; ++at) (row.*member).push_back(over(check.sites, member, at, weighted));
    }
    rows.push_back(row);
  }
  return rows;
}

std::string own_runs_regret(const OwnRunsCheck& check) {
  const SiteCheck mean = own_runs_means(check).front();
  const auto three = [](const std::vector<double>& r) {
    return fmt::format("{:.1f} % before, {:.1f} % after one own run, {:.1f} % after three", 100 * r[0], 100 * r[1],
                       100 * r[2]);
  };
  return fmt::format(
      "Regret, the measured time of the layout that looks best over that of the best measured one, mean over sites "
      "with jobs of two layouts or more: {}. By least expected regret (`--objective regret`) in place of least "
      "predicted time: {}.",
      three(mean.regret), three(mean.hedged));
}

std::string own_runs_markdown(const OwnRunsCheck& check) {
  const auto percent = [](const std::vector<double>& values, std::size_t at) {
    return at < values.size() ? fmt::format("{:.1f}", 100 * values[at]) : std::string("-");
  };
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
      "Mean error over the site's other configurations, and their share within P10 to P90, in %.\n\n"
      "| source, device, stack | runs | judged | before | one | three | inside | one | three |\n"
      "|---|---|---|---|---|---|---|---|---|\n";
  for (const SiteCheck& s : check.sites) {
    std::string name = s.site;
    for (std::size_t bar; (bar = name.find(" | ")) != std::string::npos;) name.replace(bar, 3, ", ");
    out += fmt::format("| {} | {} | {} | {} | {} | {} | {} | {} | {} |\n", name, s.runs, s.configurations,
                       percent(s.error, 0), percent(s.error, 1), percent(s.error, 2), percent(s.inside, 0),
                       percent(s.inside, 1), percent(s.inside, 2));
  }
  for (const SiteCheck& s : own_runs_means(check)) {
    out += fmt::format("| **{}** | {} | {} | {} | {} | {} | {} | {} | {} |\n", s.site, s.runs, s.configurations,
                       percent(s.error, 0), percent(s.error, 1), percent(s.error, 2), percent(s.inside, 0),
                       percent(s.inside, 1), percent(s.inside, 2));
  }
  return out + "\n" + own_runs_regret(check) + "\n";
}

}  // namespace meshwright::calibrate
