// What own runs' peaks tell of the memory that no operator accounts for.
#include <algorithm>
#include <cmath>
#include <map>

#include "meshwright/calibrate/own_fit.hpp"
#include "meshwright/parallel/memory.hpp"
#include "meshwright/parallel/run_figures.hpp"

namespace meshwright::calibrate {
namespace {

constexpr int iterations = 4;
constexpr double move = 0.01, longest = 1;  ///< of the log of the factor

double log_peak(const OwnRun& run, double log_factor) {
  const Job job = with_figures(run.job, [log_factor](Figures& f) { f.framework.work_memory *= std::exp(log_factor); });
  return std::log(logged_peak(job, run.layout).value());
}

/// Gauss-Newton about a log-normal prior: how sure the factor is is the inverse of what prior and peaks tell together.
OwnMemory fit_of(const std::string& owner, const std::vector<const OwnRun*>& runs, const Spread& spread) {
  const double class_spread = spread.sum(runs.front()->traits, &TraitSpread::memory);
  const double variance = class_spread * class_spread;
  const double prior = spread.memory_common * variance, noise = (1 - spread.memory_common) * variance;
  OwnMemory m{.owner = owner, .runs = static_cast<int>(runs.size()), .spread_before = class_spread};
  double x = 0, told = 0, slopes = 0;
  for (int i = 0; i < iterations; ++i) {
    double pull = 0;
    told = slopes = 0;
    for (const OwnRun* run : runs) {
      const double now = log_peak(*run, x), slope = (log_peak(*run, x + move) - now) / move;
      told += slope * slope / noise, slopes += slope / m.runs;
      pull += slope / noise * (std::log(run->peak->value()) - now + slope * x);
    }
    x = std::clamp(pull / (told + 1 / prior), -longest, longest);
  }
  m.after = runs.front()->job.framework.work_memory * std::exp(x);
  double left = 0;
  for (const OwnRun* run : runs) {
    const double measured = std::log(run->peak->value()), off = log_peak(*run, x) - measured;
    left += off * off / m.runs;
    m.error_before += std::abs(std::exp(log_peak(*run, 0) - measured) - 1) / m.runs;
    m.error_after += std::abs(std::exp(off) - 1) / m.runs;
  }
  // No peak is surer than what the runs' own are still off by.
  m.spread_after = std::sqrt(std::max(noise, left) + slopes * slopes / (told + 1 / prior));
  return m;
}

}  // namespace

std::vector<OwnMemory> fit_own_memory(std::span<const OwnRun> runs, const Spread& spread) {
  std::map<std::string, std::vector<const OwnRun*>> works;
  for (const OwnRun& run : runs) {
    if (run.peak && run.peak->value() > 0) works[run_field("work.time").owner(run.job)].push_back(&run);
  }
  std::vector<OwnMemory> memory;
  for (const auto& [owner, of_work] : works) {
    if (spread.sum(of_work.front()->traits, &TraitSpread::memory) > 0) memory.push_back(fit_of(owner, of_work, spread));
  }
  return memory;
}

}  // namespace meshwright::calibrate
