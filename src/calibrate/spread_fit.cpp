#include "meshwright/calibrate/spread_fit.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "calibrate/sites.hpp"
#include "meshwright/core/quantile.hpp"
#include "meshwright/parallel/run_figures.hpp"

namespace meshwright::calibrate {
namespace {

constexpr double robust = 2.5;                  ///< standard deviations from which an error counts linearly
constexpr double usual = 0.1, usual_off = 1.5;  ///< what a spread is without data: 0.1, within a factor of e^1.5
constexpr double least = 0.005, most = 1.5;

double cost_of(double z) {
  const double size = std::abs(z);
  return size < robust ? 0.5 * z * z : robust * size - 0.5 * robust * robust;
}

/// A spread or a share that is sought, by its log: where it starts and is drawn to, how far off it may well be, and
/// what it stays within.
struct Sought {
  double usual, off, least, most;
};
constexpr Sought spread_sought{usual, usual_off, least, most};
constexpr Sought alone_sought{0.3, 1, 0.02, 1};         ///< Likeness::alone
constexpr Sought apart_sought{0.3, 2, 0.001, 20};       ///< Likeness::apart
constexpr Sought common_sought{0.05, 1.5, 0.002, 0.5};  ///< Likeness::common

std::vector<double> starts(std::span<const Sought> sought) {
  std::vector<double> logs;
  for (const Sought& s : sought) logs.push_back(std::log(s.usual));
  return logs;
}

double prior_cost(std::span<const double> logs, std::span<const Sought> sought) {
  double sum = 0;
  for (std::size_t i = 0; i < logs.size(); ++i)
    sum += 0.5 * std::pow((logs[i] - std::log(sought[i].usual)) / sought[i].off, 2);
  return sum;
}

/// Logs that make `cost` and what draws them back least: one at a time, by steps that shrink.
template <class Cost>
std::vector<double> minimised(std::span<const Sought> sought, const Cost& cost) {
  std::vector<double> logs = starts(sought);
  const auto all = [&] { return cost(logs) + prior_cost(logs, sought); };
  double now = all();
  for (double step = 0.8; step > 0.05; step *= 0.7) {
    for (std::size_t i = 0; i < logs.size(); ++i) {
      for (const double way : {step, -step}) {
        const double kept = logs[i];
        const Sought& s = sought[i];
        logs[i] = std::clamp(kept + way * s.off / usual_off, std::log(s.least), std::log(s.most));
        const double next = all();
        if (next < now) {
          now = next;
          break;
        }
        logs[i] = kept;
      }
    }
  }
  return logs;
}

/// Spreads of errors that no own run mends, by what holds of the job.
void fit_totals(std::span<const LeftOutError> errors, double TraitSpread::*member, Spread& spread) {
  const auto set = [&](const std::vector<double>& values) {
    for (std::size_t t = 0; t < trait_count; ++t) spread.traits[t].*member = std::exp(values[t]);
  };
  const std::vector<Sought> sought(trait_count, spread_sought);
  set(minimised(sought, [&](const std::vector<double>& values) {
    set(values);
    double sum = 0;
    for (const LeftOutError& e : errors) {
      const double sd = spread.sum(e.traits, member);
      sum += e.weight * (std::log(sd) + cost_of(e.error / sd));
    }
    return sum;
  }));
}

/// An error in standard deviations, and how much it counts.
using Sized = std::pair<double, double>;

/// Where 10 % and 90 % of the weight lie.
Tails tails_of(std::vector<Sized> sizes) {
  if (sizes.empty()) return {};
  std::ranges::sort(sizes);
  double all = 0, sum = 0;
  for (const auto& [size, weight] : sizes) all += weight;
  Tails tails{sizes.back().first, sizes.back().first};
  for (const auto& [size, weight] : sizes) {
    if (sum <= 0.1 * all) tails.low = size;
    if (sum <= 0.9 * all) tails.high = size;
    sum += weight;
  }
  return tails;
}

/// Where 10 % and 90 % of the errors lie, in standard deviations that they tell themselves.
Tails tails_of_known(const std::vector<LeftOutError>& errors, double TraitSpread::*member, const Spread& fitted) {
  std::vector<Sized> sizes;
  for (const LeftOutError& e : errors) sizes.emplace_back(e.error / fitted.sum(e.traits, member), 1);
  return tails_of(sizes);
}

/// The same where the direction is a source's own, of which a new one says nothing: on either side at least as far as
/// 80 % of the errors' sizes reach.
Tails tails_either_way(const std::vector<LeftOutError>& errors, double TraitSpread::*member, const Spread& fitted) {
  std::vector<double> sizes;
  for (const LeftOutError& e : errors) sizes.push_back(std::abs(e.error) / fitted.sum(e.traits, member));
  const double edge = nearest_quantile(sizes, 0.8);
  const Tails known = tails_of_known(errors, member, fitted);
  return {std::min(known.low, -edge), std::max(known.high, edge)};
}

/// The same as the first, each in those that other sources tell (a new source is none of those that were fitted): the
/// wider of both.
Tails tails_of_new(const std::vector<LeftOutError>& errors, double TraitSpread::*member, const Spread& fitted) {
  std::vector<Sized> sizes;
  for (std::size_t fold = 0; fold < source_folds; ++fold) {
    std::vector<LeftOutError> others = errors, own = errors;
    std::erase_if(others, [&](const LeftOutError& e) { return fold_of(*e.point) == fold; });
    std::erase_if(own, [&](const LeftOutError& e) { return fold_of(*e.point) != fold; });
    if (own.empty()) continue;
    Spread spread;
    fit_totals(others, member, spread);
    for (const LeftOutError& e : own) sizes.emplace_back(e.error / spread.sum(e.traits, member), 1);
  }
  const Tails own = tails_of_known(errors, member, fitted), others = tails_of(sizes);
  return {std::min(own.low, others.low), std::max(own.high, others.high)};
}

/// What peaks of one work (model, sequence, format, kind of training) at one source share of the variance of their
/// errors. Works count alike, however many runs they have.
double common_share(const std::vector<LeftOutError>& errors, const Spread& fitted) {
  std::map<std::tuple<std::size_t, std::string, std::string>, std::vector<double>> works;
  for (const LeftOutError& e : errors) {
    const RunRecord& run = *e.point->run;
    works[{e.way, run.set, run_field("work.time").owner(run.job)}].push_back(
        e.error / fitted.sum(e.traits, &TraitSpread::memory));
  }
  double within = 0, all = 0;
  for (const auto& [work, sizes] : works) {
    const auto n = static_cast<double>(sizes.size());
    if (n < 2) continue;
    const Eigen::Map<const Eigen::ArrayXd> z(sizes.data(), static_cast<Eigen::Index>(sizes.size()));
    within += (z - z.mean()).square().sum() / (n - 1);
    all += z.square().mean();
  }
  return all > 0 ? std::clamp(1 - within / all, 0.0, 0.9) : 0;
}

/// What is sought of figures: their spreads, then own, shared and stretch of each trait.
std::vector<Sought> sought_of_figures(const Spread& spread) {
  return std::vector<Sought>(spread.figures.size() + 3 * trait_count, spread_sought);
}

/// In the order of sought_of_figures().
void set_figures(const std::vector<double>& logs, Spread& spread) {
  std::size_t at = 0;
  for (FigureSpread& figure : spread.figures) figure.spread = std::exp(logs[at++]);
  for (const auto member : {&TraitSpread::own, &TraitSpread::shared, &TraitSpread::stretch}) {
    for (TraitSpread& trait : spread.traits) trait.*member = std::exp(logs[at++]);
  }
  spread.traits[static_cast<std::size_t>(Trait::any)].stretch = 0;
}

/// What is sought of likeness: alone, common and the weight of each feature.
std::vector<Sought> sought_of_likeness() {
  std::vector<Sought> sought{alone_sought, common_sought};
  sought.insert(sought.end(), place_features, apart_sought);
  return sought;
}

/// In the order of sought_of_likeness().
void set_likeness(const std::vector<double>& logs, Spread& spread) {
  spread.likeness.alone = std::exp(logs[0]);
  spread.likeness.common = std::exp(logs[1]);
  for (std::size_t f = 0; f < place_features; ++f) spread.likeness.apart[f] = std::exp(logs[f + 2]);
}

double site_cost(const Site& site, const Spread& spread, const Eigen::MatrixXd& alike) {
  const LinearRuns runs = linear_runs(site, spread, alike);
  const Eigen::LLT<Eigen::MatrixXd> root(residual_covariance(runs));
  const Eigen::VectorXd z = root.matrixL().solve(runs.residuals);
  double sum = 0;
  for (const double value : z) sum += cost_of(value);
  // Runs of one site repeat each other more than the model says: their weight grows as the root of their number.
  const double weight = 3 / std::sqrt(static_cast<double>(z.size()));
  return weight * (sum + Eigen::MatrixXd(root.matrixL()).diagonal().array().log().sum());
}

/// How alike the runs of sites are, worked out anew only where its weights move.
class AlikeRuns {
 public:
  explicit AlikeRuns(std::span<const Site> sites) {
    for (const Site& site : sites) distances_.push_back(distances(site));
  }
  const std::vector<Eigen::MatrixXd>& by(const Apart& weights) {
    if (!alike_.empty() && weights == weights_) return alike_;
    weights_ = weights;
    alike_.clear();
    for (const Distances& site : distances_) alike_.push_back(likeness(site, weights));
    return alike_;
  }

 private:
  std::vector<Distances> distances_;
  std::vector<Eigen::MatrixXd> alike_;
  Apart weights_{};
};

/// What all sites cost together under a spread.
double sites_cost(std::span<const Site> sites, AlikeRuns& runs, const Spread& spread) {
  const std::vector<Eigen::MatrixXd>& likenesses = runs.by(spread.likeness.apart);
  double sum = 0;
  for (std::size_t i = 0; i < sites.size(); ++i) sum += site_cost(sites[i], spread, likenesses[i]);
  return sum;
}

void fit_figures(std::span<const Site> sites, Spread& spread) {
  AlikeRuns runs(sites);
  set_figures(minimised(sought_of_figures(spread),
                        [&](const std::vector<double>& values) {
                          set_figures(values, spread);
                          return sites_cost(sites, runs, spread);
                        }),
              spread);
}

/// How much of what figures leave is shared by layouts alike. After them: fitted together, likeness takes what figures
/// tell (a link's spread fell from 0.68 to 0.09), and one run of a site with slow GEMMs mends half as much of it.
void fit_likeness(std::span<const Site> sites, Spread& spread) {
  AlikeRuns runs(sites);
  set_likeness(minimised(sought_of_likeness(),
                         [&](const std::vector<double>& values) {
                           set_likeness(values, spread);
                           return sites_cost(sites, runs, spread);
                         }),
               spread);
}

/// Errors of the other runs of the site after so many of its own, in standard deviations of what is then expected.
void add_sizes_after(const Site& site, const Spread& spread, int count, std::vector<Sized>& sizes) {
  const std::vector<std::size_t> own = own_of(by_error(site), count);
  if (own.size() >= site.runs.size()) return;
  const double weight = 1 / std::sqrt(static_cast<double>(site.runs.size() - own.size()));  // as in site_cost()
  const std::vector<Eigen::Index> at(own.begin(), own.end());
  const LinearRuns all = linear_runs(site, spread);
  const LinearRuns known{all.residuals(at), all.slopes(at, Eigen::all), all.variances, all.own(at), all.shared(at, at)};
  const Eigen::MatrixXd together = residual_covariance(all);
  const Eigen::MatrixXd gains = together(Eigen::all, at) * Eigen::MatrixXd(together(at, at)).inverse();
  Eigen::VectorXd left = all.residuals;
  if (tells(known)) left -= gains * known.residuals;
  const Eigen::VectorXd variances =
      together.diagonal() - gains.cwiseProduct(Eigen::MatrixXd(together(Eigen::all, at))).rowwise().sum();
  for (Eigen::Index i = 0; i < left.size(); ++i) {
    if (std::ranges::find(at, i) == at.end()) sizes.emplace_back(left[i] / std::sqrt(variances[i]), weight);
  }
}

/// Sites with spreads that other sources tell.
Tails tails_with_own_runs(const std::vector<Site>& sites, const Spread& spread) {
  std::vector<Sized> sizes;
  for (std::size_t fold = 0; fold < source_folds; ++fold) {
    std::vector<Site> others = sites;
    std::erase_if(others, [&](const Site& site) { return fold_of(*site.points.front()) == fold; });
    if (others.size() == sites.size()) continue;
    Spread of_others = spread;
    of_others.likeness = {};
    fit_figures(others, of_others);
    of_others.likeness = spread.likeness;
    for (const Site& site : sites) {
      if (fold_of(*site.points.front()) != fold) continue;
      for (const int own : {1, 3}) add_sizes_after(site, of_others, own, sizes);
    }
  }
  return tails_of(sizes);
}

}  // namespace

Spread fit_spread(const LeftOutSites& left_out, const std::function<bool(const RunPoint&)>& counts) {
  Spread spread;
  for (const RunField& row : run_fields()) {
    const bool listed = row.by_traits != nullptr ||
                        std::ranges::find(spread.figures, row.field, &FigureSpread::field) != spread.figures.end();
    if (!listed) spread.figures.push_back({std::string(row.field), usual});
  }
  std::set<std::string> devices, stacks;
  for (const RunPoint& p : left_out.runs.points) {
    devices.insert(p.device);
    if (!p.run->unknown_stack) stacks.insert(p.run->job.framework.name);
  }
  spread.devices.assign(devices.begin(), devices.end());
  spread.stacks.assign(stacks.begin(), stacks.end());
  const auto of_those = [&](std::vector<LeftOutError> errors) {
    std::erase_if(errors, [&](const LeftOutError& e) { return !counts(*e.point); });
    return errors;
  };
  const std::vector<LeftOutError> times = of_those(left_out.errors), memories = of_those(left_out.memory);
  fit_totals(times, &TraitSpread::total, spread);
  spread.without_own_runs = tails_of_new(times, &TraitSpread::total, spread);
  // Few sources say their memory: what the others tell of one left out is wider than any use (917 GB, from 52 GB). Each
  // source's peaks lie on one side of the prediction (its allocator, and what its log counts): of 277, sources left out
  // in turn, 71 % lie within tails of the sides' own and 83 % within these.
  fit_totals(memories, &TraitSpread::memory, spread);
  spread.of_memory = tails_either_way(memories, &TraitSpread::memory, spread);
  spread.memory_common = common_share(memories, spread);
  std::vector<Site> sites;
  for (const Site& site : left_out.sites) {
    if (counts(*site.points.front())) sites.push_back(thinned(site));
  }
  fit_figures(sites, spread);
  fit_likeness(sites, spread);
  spread.with_own_runs = tails_with_own_runs(sites, spread);
  return spread;
}

Spread fit_spread(std::span<const RunRecord> runs) {
  return fit_spread(left_out_sites(runs), [](const RunPoint&) { return true; });
}

}  // namespace meshwright::calibrate
