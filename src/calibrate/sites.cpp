#include "calibrate/sites.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <set>

#include "meshwright/parallel/memory.hpp"
#include "meshwright/parallel/run_figures.hpp"

namespace meshwright::calibrate {
namespace {

constexpr std::size_t most_of_a_site = 40;  ///< runs that tell spreads: more of one site say the same again
constexpr std::size_t site_way = 4;
constexpr std::array ways = {LeftOutWay{"source", &RunPoint::set}, LeftOutWay{"device", &RunPoint::device},
                             LeftOutWay{"model", &RunPoint::model}, LeftOutWay{"release", &RunPoint::release},
                             LeftOutWay{"site", &RunPoint::site}};

/// Names that stand outside a group.
class Elsewhere {
 public:
  Elsewhere(const std::vector<RunPoint>& points, RunGroup group, RunGroup of) : group_(group), of_(of) {
    for (const RunPoint& p : points) groups_[p.*of].insert(p.*group);
  }
  bool has(const RunPoint& p) const {
    const std::set<std::string>& in = groups_.at(p.*of_);
    return in.size() > 1 || !in.contains(p.*group_);
  }

 private:
  RunGroup group_, of_;
  std::map<std::string, std::set<std::string>> groups_;
};

Traits traits_without(const RunPoint& p, const Elsewhere& devices, const Elsewhere& stacks) {
  Traits traits = traits_of(*p.run, published_spread());
  traits[static_cast<std::size_t>(Trait::new_device)] = !devices.has(p);
  traits[static_cast<std::size_t>(Trait::new_stack)] =
      traits[static_cast<std::size_t>(Trait::unknown_stack)] || !stacks.has(p);
  return traits;
}

/// The job on the figures of a fit.
Job on_figures(const Job& job, const std::vector<RunParameter>& parameters, const std::vector<double>& logs) {
  return with_figures(job, [&parameters, &logs, job](Figures& f) {
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const RunField& row = run_field(parameters[i].field);
      if (!parameters[i].release.empty() && parameters[i].release != job.framework.version) continue;
      if (row.owner(job) == parameters[i].owner && row.get(job) > 0)
        row.set(f, parameters[i].prior * std::exp(logs[i]));
    }
  });
}

Site site_of(const std::string& name, const LeftOutRuns& left_out) {
  Site site{.name = name, .points = {}, .runs = {}, .errors = {}, .problem = {}};
  const LeftOutGroup& fit = left_out.groups[site_way].at(name);
  for (std::size_t i = 0; i < left_out.parameters.size(); ++i) {
    const RunParameter& p = left_out.parameters[i];
    double& error = site.errors[p.owner + " " + p.field];  // of the release that is known least
    error = std::max(error, std::sqrt(fit.variances[i]));
  }
  const Elsewhere devices(left_out.points, &RunPoint::site, &RunPoint::device);
  const Elsewhere stacks(left_out.points, &RunPoint::site, &RunPoint::stack);
  for (const RunPoint& p : left_out.points) {
    if (p.site != name) continue;
    site.points.push_back(&p);
    site.runs.push_back({on_figures(p.run->job, left_out.parameters, fit.logs), p.run->layout,
                         Seconds::base(std::exp(p.log_measured)), traits_without(p, devices, stacks), p.run->id,
                         p.run->measured.peak_memory});
  }
  Spread spread;
  spread.errors = site.errors;
  site.problem = own_problem(site.runs, spread);
  return site;
}

}  // namespace

std::span<const LeftOutWay> left_out_ways() { return ways; }

LeftOutSites left_out_sites(std::span<const RunRecord> runs) {
  std::vector<RunGroup> groups;
  for (const LeftOutWay& way : ways) groups.push_back(way.group);
  LeftOutSites out{left_out_runs(runs, groups), {}, {}, {}};
  const std::vector<RunPoint>& points = out.runs.points;
  for (std::size_t w = 0; w < ways.size(); ++w) {
    const Elsewhere devices(points, ways[w].group, &RunPoint::device), stacks(points, ways[w].group, &RunPoint::stack);
    for (std::size_t i = 0; i < points.size(); ++i) {
      const Traits traits = traits_without(points[i], devices, stacks);
      out.errors.push_back({&points[i], w, out.runs.errors[w][i], traits});
      const RunRecord& run = *points[i].run;
      if (!run.measured.peak_memory) continue;
      const double predicted = logged_peak(run.job, run.layout).value();
      out.memory.push_back({&points[i], w, std::log(run.measured.peak_memory->value() / predicted), traits});
    }
  }
  for (const auto& [name, fit] : out.runs.groups[site_way]) out.sites.push_back(site_of(name, out.runs));
  return out;
}

std::size_t fold_of(const RunPoint& p) {
  return std::accumulate(p.set.begin(), p.set.end(), std::size_t{0},
                         [](std::size_t h, char c) { return 31 * h + static_cast<unsigned char>(c); }) %
         source_folds;
}

/// Of the runs that the column's figure enters.
static double widest(const Site& site, Eigen::Index column, const Spread& spread, double TraitSpread::*member) {
  double most = 0;
  for (std::size_t r = 0; r < site.runs.size(); ++r) {
    if (site.problem.linear.slopes(static_cast<Eigen::Index>(r), column) != 0)
      most = std::max(most, spread.sum(site.runs[r].traits, member));
  }
  return most;
}

Distances distances(const Site& site) {
  const std::vector<Place>& places = site.problem.places;
  const auto n = static_cast<Eigen::Index>(places.size());
  Distances apart;
  apart.fill(Eigen::MatrixXd(n, n));
  for (Eigen::Index i = 0; i < n; ++i) {
    for (Eigen::Index j = 0; j < n; ++j) {
      const Apart pair = between(places[static_cast<std::size_t>(i)], places[static_cast<std::size_t>(j)]);
      for (std::size_t f = 0; f < place_features; ++f) apart[f](i, j) = pair[f];
    }
  }
  return apart;
}

Eigen::MatrixXd likeness(const Distances& apart, const Apart& weights) {
  Eigen::MatrixXd sum = Eigen::MatrixXd::Zero(apart.front().rows(), apart.front().cols());
  for (std::size_t f = 0; f < place_features; ++f) sum += weights[f] * apart[f];
  return (-0.5 * sum).array().exp();
}

LinearRuns linear_runs(const Site& site, const Spread& spread) {
  return linear_runs(site, spread, likeness(distances(site), spread.likeness.apart));
}

LinearRuns linear_runs(const Site& site, const Spread& spread, const Eigen::MatrixXd& likeness) {
  LinearRuns out = site.problem.linear;
  double stretch = 1;
  for (Eigen::Index r = 0; r < out.residuals.size(); ++r) {
    const Traits& traits = site.runs[static_cast<std::size_t>(r)].traits;
    stretch = std::max(stretch, 1 + std::pow(spread.sum(traits, &TraitSpread::stretch), 2));
    out.own[r] = std::pow(spread.sum(traits, &TraitSpread::own), 2);
  }
  const Eigen::VectorXd together = ((1 - spread.likeness.alone) * out.own).cwiseSqrt();
  out.shared = together.asDiagonal() * likeness * together.asDiagonal();
  out.shared.array() += spread.likeness.common * spread.likeness.common;
  out.own *= spread.likeness.alone;
  for (Eigen::Index c = 0; c < out.variances.size(); ++c) {
    const Doubt& d = site.problem.figures[static_cast<std::size_t>(c)];
    const auto by_traits = run_field(d.field).by_traits;
    out.variances[c] = by_traits != nullptr ? std::pow(widest(site, c, spread, by_traits), 2)
                                            : d.error * d.error + stretch * std::pow(spread.of(d.field), 2);
  }
  return out;
}

Site thinned(const Site& site) {
  const std::size_t every = (site.runs.size() + most_of_a_site - 1) / most_of_a_site;
  if (every <= 1) return site;
  Site out{
      .name = site.name, .points = {}, .runs = {}, .errors = site.errors, .problem = {site.problem.figures, {}, {}}};
  std::vector<Eigen::Index> rows;
  for (std::size_t i = 0; i < site.runs.size(); i += every) {
    rows.push_back(static_cast<Eigen::Index>(i));
    out.points.push_back(site.points[i]);
    out.runs.push_back(site.runs[i]);
    out.problem.places.push_back(site.problem.places[i]);
  }
  const LinearRuns& all = site.problem.linear;
  out.problem.linear = {all.residuals(rows), all.slopes(rows, Eigen::all), all.variances, all.own(rows),
                        all.shared(rows, rows)};
  return out;
}

std::vector<std::size_t> by_error(const Site& site) {
  std::vector<std::size_t> order(site.runs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {},
                           [&](std::size_t i) { return site.problem.linear.residuals[static_cast<Eigen::Index>(i)]; });
  return order;
}

std::vector<std::size_t> own_of(const std::vector<std::size_t>& order, int count) {
  const std::size_t n = order.size();
  if (count == 0) return {};
  if (count == 1) return {order[n / 2]};
  return {order[n / 4], order[n / 2], order[3 * n / 4]};
}

}  // namespace meshwright::calibrate
