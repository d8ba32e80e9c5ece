#pragma once
// How far published runs lie from predictions that have not seen them, and what own runs would change.
#include <map>
#include <span>
#include <string>
#include <vector>

#include "meshwright/calibrate/run_records.hpp"
#include "meshwright/parallel/spread.hpp"

namespace meshwright::calibrate {

/// How many runs lie within P10 to P90, groups of one kind left out in turn.
struct Coverage {
  std::string left_out;  ///< "source", "device", "model", "release", "site"
  int runs = 0;
  double inside = 0;   ///< share, by bands from the other four fifths of the sources
  int peaks = 0;       ///< runs with a peak of device memory
  double holding = 0;  ///< share of those within the band of memory
};

/// What so many own runs change for the other configurations of a site, judged before and after them.
struct OwnRunsGain {
  int own = 0;                                 ///< runs: that of median error; then those of the quartiles too
  int judged = 0;                              ///< configurations
  double before = 0, after = 0;                ///< mean errors
  double inside_before = 0, inside_after = 0;  ///< shares within P10 to P90
  bool chooses = false;                        ///< there are jobs with several layouts; else no regret
  double regret_before = 0, regret_after = 0;  ///< of the layouts that look best
  double hedged_before = 0, hedged_after = 0;  ///< of those of least expected regret
};

/// A site (a source's runs of one device and stack) as somebody who has own runs there would see it: figures from a fit
/// without it.
struct SiteCheck {
  std::string site;
  int runs = 0, configurations = 0;
  std::vector<OwnRunsGain> gains{};  ///< by one own run; by three, of sites with more than three
  std::vector<OwnRunsGain> peaks{};  ///< the same of peaks of device memory, of sites with two or more
  double others = 0;                 ///< mean error of each configuration where all others are own runs
};

struct OwnRunsCheck {
  Spread spread;
  std::vector<Coverage> coverage;
  std::vector<SiteCheck> sites;  ///< of five records or more, the largest first
};

/// `runs` read with benchmark_catalog(). Fits the spreads: of figures between sites and of what no figure explains by
/// the likelihood of the sites' residuals, of errors by what holds of a job by that of all left-out ones, each error
/// beyond 2.5 standard deviations counting linearly; then where 10 % and 90 % of the errors lie, in standard deviations
/// that the other four fifths of the sources tell.
Spread fit_spread(std::span<const RunRecord> runs);
/// The same by fifths of the sources, and each site with own runs: the one of median error; then those of the
/// quartiles too. Sites after own runs by prediction anew with fitted figures.
OwnRunsCheck check_own_runs(std::span<const RunRecord> runs);

/// Two rows over the sites: each the same, and by configurations that are judged.
std::vector<SiteCheck> own_runs_means(const OwnRunsCheck& check);
/// The sentences about sites that own runs make worse, and about regret.
std::string own_runs_harm(const OwnRunsCheck& check);
std::string own_runs_regret(const OwnRunsCheck& check);
/// What stands above the columns of a table of sites, and a site's cells: errors, then shares inside, in %.
std::vector<std::string> own_runs_columns();
std::vector<std::string> own_runs_cells(const SiteCheck& site);
/// The same of peaks of device memory; no cells where a site has none.
std::vector<std::string> own_peaks_columns();
std::vector<std::string> own_peaks_cells(const SiteCheck& site);
/// The part of docs/accuracy.md about bands and own runs.
std::string own_runs_markdown(const OwnRunsCheck& check);

}  // namespace meshwright::calibrate
