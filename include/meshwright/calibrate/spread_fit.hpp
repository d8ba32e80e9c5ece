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

/// A site (a source's runs of one device and stack) as somebody who has one, then three runs of his own there would
/// see it: figures from a fit without it.
struct SiteCheck {
  std::string site;
  int runs = 0, configurations = 0;       ///< records; configurations that are judged: own runs are not
  std::vector<double> error{}, inside{};  ///< before, after one, after three: means over the judged
  std::vector<double> regret{};           ///< the same; empty where no job has layouts to choose among
  std::vector<double> hedged{};           ///< the same by least expected regret, in place of least predicted time
};

struct OwnRunsCheck {
  Spread spread;
  std::vector<Coverage> coverage;
  std::vector<SiteCheck> sites;  ///< of five records or more, the largest first
};

/// `runs` read with benchmark_catalog(). Fits the spreads: of figures between sites and of what no figure explains by
/// the likelihood of the sites' residuals, of errors by what holds of a job by that of all left-out ones, each error
/// beyond 2.5 standard deviations counting linearly; then where 10 % and 90 % of the errors lie.
Spread fit_spread(std::span<const RunRecord> runs);
/// The same by fifths of the sources, and each site with own runs: the one of median error; then those of the
/// quartiles too. Sites after own runs by prediction anew with fitted figures.
OwnRunsCheck check_own_runs(std::span<const RunRecord> runs);

/// Two rows over the sites: each the same, and by configurations.
std::vector<SiteCheck> own_runs_means(const OwnRunsCheck& check);
/// The sentence about regret.
std::string own_runs_regret(const OwnRunsCheck& check);
/// The part of docs/accuracy.md about bands and own runs.
std::string own_runs_markdown(const OwnRunsCheck& check);

}  // namespace meshwright::calibrate
